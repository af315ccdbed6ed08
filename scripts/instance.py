"""A Proctor of one's own for a script: `manage.py up` on a data folder and a free port, and a small client of its HTTP API.

Standard library only. The server ends with the `with` block, and with a killed script on Linux; the data folder stays, so that a later
script can go on with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
START_S, STOP_S = 60.0, 15.0


class Refused(Exception):
    """An answer that is no success; the text is the server's own."""


@dataclass(frozen=True)
class Instance:
    """Where it is and who we are there."""

    url: str
    key: str

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: object) -> Any:
        return self.call("POST", path, body)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Raises Refused."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data, {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise Refused(f"{method} {path} answered {error.code}: {error.read().decode(errors='replace')[:2000]}") from None


@contextlib.contextmanager
def started(data: Path, variables: Mapping[str, str]) -> Iterator[Instance]:
    """Serves until the block ends; its log goes to `server.log` of the data folder. Raises SystemExit when it does not start."""
    data.mkdir(parents=True, exist_ok=True)
    wait_for_predecessor(data)
    port = int(os.environ.get("PROCTOR_PORT") or free_port())
    environment = {**os.environ, "PROCTOR_HOST": "127.0.0.1", "PROCTOR_PORT": str(port), "PROCTOR_DATA": str(data), **variables}
    log_path = data / "server.log"
    with open(os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:  # the first boot's secrets are in it
        command = [sys.executable, str(ROOT / "manage.py"), "up"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True, preexec_fn=die_with_parent)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(process, url, log_path)
        yield Instance(url, first_key(data))
    finally:
        stop(process)


def wait_for_predecessor(data: Path) -> None:
    """The server of a killed script needs a few seconds to put its runs back."""
    until = time.monotonic() + STOP_S
    with open(data / "lock", "a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SystemExit(f"Another Proctor is running on {data}; stop it, or set PROCTOR_DATA") from None
                time.sleep(0.2)


def die_with_parent() -> None:
    """TERM to the supervisor when the script is killed; elsewhere than on Linux nothing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"The server ended with {process.returncode}:\n{log.read_text(errors='replace')[-2000:]}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=5):
            return
        time.sleep(0.1)
    raise SystemExit(f"The server was not healthy within {START_S:g} s; see {log}")


def first_key(data: Path) -> str:
    """`PROCTOR_API_KEY`, or the one that the first boot wrote down."""
    if os.environ.get("PROCTOR_API_KEY"):
        return os.environ["PROCTOR_API_KEY"]
    for line in (data / "first-boot.txt").read_text().splitlines():
        name, _, value = line.partition(": ")
        if name == "key":
            return value
    raise SystemExit(f"Set PROCTOR_API_KEY to a key of the instance in {data}")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
