"""Subprocess sandboxes: UNSANDBOXED, for environments shipped with Proctor only. The command serves on a port it announces.

It runs in a folder of its own that is removed with it, with an environment built from scratch (none of the parent's
variables but PATH and the language), and dies with us: see `guard`. May import the standard library, `plan`, `errors`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.patience import finish
from proctor.rollout.plan import SandboxSpec

LOG_TAIL_BYTES = 256 * 1024
END_WITHIN_S = 5.0
_GUARD = str(Path(__file__).with_name("guard.py"))
_PORT_LINE = re.compile(rb"^HUD_SERVE_PORT=(\d{1,5})\s*$", re.MULTILINE)
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")


class SubprocessEngine:
    """Starts subprocess sandboxes."""

    kinds = frozenset({"subprocess"})

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> SubprocessSandbox:
        """Start the command; its readiness is not awaited."""
        del labels
        if not spec.command:
            raise RolloutFailed("environment_start", "A subprocess environment needs a command.")
        return await finish(_start(spec))

    async def close(self) -> None:
        """Nothing to release."""


async def _start(spec: SandboxSpec) -> SubprocessSandbox:
    folder = tempfile.mkdtemp(prefix="proctor-run-")
    variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    variables |= {"HOME": folder, "TMPDIR": folder, "PYTHONUNBUFFERED": "1", **spec.env}
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-I", _GUARD, *spec.command,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            env=variables, cwd=folder, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RolloutFailed("platform", f"No process could be started: {error.strerror}") from error
    return SubprocessSandbox(process, folder)


class SubprocessSandbox:
    """One guarded process. `plan.StartedSandbox` says what its methods promise."""

    container_id: str | None = None
    image_id: str | None = None

    def __init__(self, process: asyncio.subprocess.Process, folder: str) -> None:
        self.host, self.port = "127.0.0.1", 0
        self._process, self._folder = process, folder
        self._output = bytearray()
        self._follower = asyncio.create_task(self._follow())

    async def locate(self) -> None:
        """The announced port was taken from the output as it came."""

    async def tail(self) -> bytes:
        """Standard output and error, joined, the last 256 KiB."""
        return bytes(self._output[-LOG_TAIL_BYTES:])

    async def exit_state(self) -> tuple[int | None, bool] | None:
        """The exit code, once it has ended and its output is read."""
        if self._process.returncode is None:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await asyncio.shield(self._follower)
        return self._process.returncode, False

    async def remove(self) -> bool:
        """Let go of the guard, which kills the whole group; then the folder."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_WITHIN_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return False
        finally:
            self._follower.cancel()
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        return True

    async def _follow(self) -> None:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(65536):
            self._output += chunk
            if not self.port:
                found = _PORT_LINE.search(self._output)
                self.port = int(found[1]) if found else 0
            if len(self._output) > 2 * LOG_TAIL_BYTES:
                del self._output[:-LOG_TAIL_BYTES]
