"""Runs a command and ends it, with everything it started, when the parent lets go of our standard input.

Started as `python -S -I guard.py COMMAND…` by `processes`: whatever ends the worker, `kill -9` included, closes the pipe,
and the command's process group is killed, its folder (ours) removed. Exits as the command did (128 + signal when it was killed). Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _until_let_go(group: int) -> None:
    while os.read(0, 4096):
        continue
    _kill(group)


def main() -> int:
    """The command's exit code."""
    try:
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"cannot start {sys.argv[1]}: {error.strerror}", flush=True)  # noqa: T201 - this is the sandbox's output
        return 127
    threading.Thread(target=_until_let_go, args=(child.pid,), daemon=True).start()
    code = child.wait()
    _kill(child.pid)
    shutil.rmtree(os.getcwd(), ignore_errors=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
