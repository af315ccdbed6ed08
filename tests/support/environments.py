"""Environments for tests that start something real: the shipped sample, and one-line programs that misbehave."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from environments.models import EnvironmentVersion, LogChunk
from environments.queries import log_pieces
from proctor import environment

SAMPLE = Path(environment.__file__).parent.parent / "samples" / "gsm8k" / "env.py"
SERVER = Path(environment.__file__).parent
SAMPLE_ARGS = json.dumps({"question": "What is 1 + 2?", "answer": "3"})

LINGERS = "import time; print('here', flush=True); time.sleep(600)"
EXITS = "import sys; print('no licence found'); sys.exit(3)"
GARBAGE = """
import socket
s = socket.create_server(('', {port}))
print('HUD_SERVE_PORT=%d' % s.getsockname()[1], flush=True)
while True:
    c = s.accept()[0]
    c.recv(100)
    c.sendall(b'HTTP/1.1 400 Bad Request\\r\\n')
"""


def serve_sample() -> list[str]:
    """The command that serves the sample in a subprocess sandbox."""
    return [sys.executable, "-S", "-I", str(SERVER), str(SAMPLE)]


def python(program: str) -> list[str]:
    """The command that runs a program text."""
    return [sys.executable, "-S", "-I", "-c", program]


def log_of(version: EnvironmentVersion) -> str:
    return "".join(log_pieces(version.id))


def add_log(version: EnvironmentVersion, *texts: str) -> None:
    """Further chunks, as a worker appends them."""
    for text in texts:
        version.log_seq += 1
        LogChunk.objects.create(version=version, seq=version.log_seq, text=text)
    version.save(update_fields=["log_seq"])
