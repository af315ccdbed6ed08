"""The child that runs HUD's agents: started and tested once, shared by all rollouts of a worker, replaced when it dies or has grown.

`HudHosts.line` gives one rollout its connection. The child starts in a folder of its own with an environment from scratch (no key of
ours, no `HUD_API_KEY`) behind `guard`, so that it ends with us, however we end. May import the standard library and `rollout.guard` by path.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

START_S, END_S = 120.0, 5.0
ROLLOUTS_A_CHILD = 500
"""Then a fresh one takes the next, and this one ends with its last rollout."""
MEMORY_MB = 4096
LINE_LIMIT = 32 * 1024 * 1024
LAST_WORDS = 4096
_CHILD, _GUARD = Path(__file__).with_name("child.py"), Path(__file__).parent.with_name("guard.py")
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


class HostRefused(Exception):
    """There can be no hud host here; the text says why and what to do."""


class HostLost(Exception):
    """The child ended, or hung up, while a rollout was with it."""


class Line:
    """One rollout's connection, in JSON lines. Lines are handed on as sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, message: dict[str, Any]) -> None:
        """Raises HostLost."""
        try:
            self._writer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
            await self._writer.drain()
        except OSError as error:
            raise HostLost(str(error)) from error

    async def receive(self) -> bytes:
        """Raises HostLost, also for a line over 32 MiB."""
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as error:
            raise HostLost(str(error)) from error
        if not line.endswith(b"\n"):
            raise HostLost("it hung up")
        return line

    def close(self) -> None:
        """To the child this is a cancel, unless the rollout has ended."""
        self._writer.close()


class HudHosts:
    """The hud host of a worker. `fork`: each rollout in a process of its own, forked from the child."""

    def __init__(self, python: str, *, fork: bool = False, rollouts_a_child: int = ROLLOUTS_A_CHILD) -> None:
        self._python, self._fork, self._rollouts_a_child = python, fork, rollouts_a_child
        self._current: _Child | None = None
        self._children: set[_Child] = set()
        self._starting = asyncio.Lock()

    async def version(self) -> str:
        """Of the `hud` package, once the child is up and has tested itself. Raises HostRefused."""
        return (await self._child()).version

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        """A connection to the child, which is started when there is none. Raises HostRefused, HostLost."""
        child = await self._child()
        child.rollouts += 1
        child.open += 1
        try:
            line = await child.connect()
            try:
                yield line
            finally:
                line.close()
        except HostLost:
            child.is_broken = True
            raise
        finally:
            child.open -= 1
            if child is not self._current and not child.open:
                await self._end(child)

    async def close(self) -> None:
        """End every child."""
        self._current = None
        for child in list(self._children):
            await self._end(child)

    async def _child(self) -> _Child:
        async with self._starting:
            current = self._current
            if current is None or current.is_spent or current.rollouts >= self._rollouts_a_child:
                self._current = await self._replace(current)
                self._children.add(self._current)
            assert self._current is not None
            return self._current

    async def _replace(self, former: _Child | None) -> _Child:
        self._current = None
        if former is not None and (former.has_ended or not former.open):
            await self._end(former)
        return await _Child.start(self._python, self._fork)

    async def _end(self, child: _Child) -> None:
        self._children.discard(child)
        await child.close()


class _Child:
    """One child process behind its guard."""

    def __init__(self, process: asyncio.subprocess.Process, folder: str) -> None:
        self._process, self._folder = process, folder
        self._words = bytearray()
        self._listening: asyncio.Task[None] | None = None
        self.version, self.rollouts, self.open, self.is_broken = "", 0, 0, False

    @classmethod
    async def start(cls, python: str, fork: bool) -> _Child:
        """Up, and tested by itself. Raises HostRefused; then nothing is left."""
        folder = tempfile.mkdtemp(prefix="proctor-hud-")
        command = [python, "-I", str(_CHILD), f"{folder}/socket", *(["--fork"] if fork else [])]
        variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        variables |= {"HOME": folder, "TMPDIR": folder, "HUD_CLI_ANALYTICS_ENABLED": "0", "HUD_HOST_MEMORY_MB": str(MEMORY_MB)}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-S", "-I", str(_GUARD), *command, stdin=pipe, stdout=pipe, stderr=pipe, env=variables, cwd=folder, start_new_session=True,
        )  # fmt: skip
        child = cls(process, folder)
        try:
            await child._become_ready()
        except BaseException:
            await child.close()
            raise
        return child

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None or (self._listening is not None and self._listening.done())

    @property
    def is_spent(self) -> bool:
        """It ended, or did to one rollout what it should to none."""
        return self.is_broken or self.has_ended

    async def connect(self) -> Line:
        try:
            return Line(*await asyncio.open_unix_connection(f"{self._folder}/socket", limit=LINE_LIMIT))
        except OSError as error:
            raise HostLost(f"it does not answer: {error.strerror or error}") from error

    async def close(self) -> None:
        """Let go of the guard, which kills the child's whole group; then the folder."""
        if self._listening is not None:
            self._listening.cancel()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(END_S):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _become_ready(self) -> None:
        assert self._process.stdout is not None
        self._listening = asyncio.create_task(self._listen())
        try:
            async with asyncio.timeout(START_S):
                line = await self._process.stdout.readline()
            said = dict(json.loads(line))
        except TimeoutError as error:
            raise HostRefused(f"The hud host did not start within {START_S:g} s.") from error
        except (ValueError, TypeError) as error:
            await asyncio.wait({self._listening}, timeout=1.0)
            words = bytes(self._words).decode(errors="replace").strip()[-1000:] or line.decode(errors="replace")[:200]
            raise HostRefused(f"PROCTOR_HUD_PYTHON could not run the hud host: {words}. Run `make hud-agents`.") from error
        if "ready" not in said:
            raise HostRefused(f"HUD's agents cannot run here: {said.get('refused')}. Run `make hud-agents`.")
        self.version = str(said["ready"])
        log.info("hud host is up version=%s", self.version)

    async def _listen(self) -> None:
        """Until the child ends. What it prints is kept for a failed start alone: later it may hold what models and tasks said."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(65536):
            self._words += chunk
            del self._words[:-LAST_WORDS]
