"""An image as HUD 0.2.x wants it: python3, coreutils' `timeout` (busybox's here) and a `hud_controller` package that counts to a target."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

CONTROLLER = '''
"""Counts clicks. State lies in a file, since every call is a process of its own."""
import os, pathlib, sys
STATE = pathlib.Path("/tmp/clicks")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
def clicks(): return int(STATE.read_text()) if STATE.exists() else 0
def setup(start=0): print(f"starting at {start}"); STATE.write_text(str(start))
def broken(): raise RuntimeError("the database of letters is gone")
def step(actions):
    for action in actions:
        if action["type"] == "click": STATE.write_text(str(clicks() + 1))
    seen = {"observation": {"text": f"{clicks()} clicks", "screenshot": PIXEL}, "info": {"pid": os.getpid()}}
    return {**seen, "reward": clicks() / 4, "done": clicks() >= 4}
def evaluate(target): return {"reward": 1.0 if clicks() == target else 0.0}
def nothing(): return None
def response_includes(expected, answer): return float(expected.lower() in answer.lower())
def get_urls(): return {"url": "http://127.0.0.1:6080/", "live_url": "javascript:alert(1)"}
'''


def context(base_image: str, dockerfile: str = "", **files: str) -> bytes:
    """A tar to build it from."""
    given = {"Dockerfile": dockerfile or _dockerfile(base_image), "hud_controller/__init__.py": CONTROLLER, **files}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in given.items():
            _add(tar, name, text.encode(), 0o644)
        _add(tar, "busybox", _busybox().read_bytes(), 0o755)
    return buffer.getvalue()


def _dockerfile(base_image: str) -> str:
    return "\n".join(
        [
            f"FROM {base_image}",
            "USER 0",
            "COPY busybox /bin/busybox",
            'RUN ["/bin/busybox", "--install", "-s", "/bin"]',
            "COPY hud_controller /opt/controller/hud_controller",
            "ENV PYTHONPATH=/opt/controller PATH=/usr/local/bin:/bin",
            'CMD ["sh"]',
        ]
    )


def _busybox() -> Path:
    found = shutil.which("busybox")
    assert found, "install busybox-static"
    return Path(found)


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))
