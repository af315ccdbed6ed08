"""What is done inside a running container: commands with a hard deadline and their exact exit, archives as streams.

Facts of the engine (API 1.41): the exit code is not in the stream but in the exec's record; closing a stream leaves its process
running, so every command runs under the image's own `timeout` (coreutils or busybox), which kills what the command started; a
program that cannot be started gives 126 or 127, the reason as output.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import aiodocker
import aiohttp
from aiodocker.exceptions import DockerError

KEEP_BYTES = 8 * 1024**2
ARCHIVE_BYTES = 4 * 1024**3
GRACE_S, KILL_AFTER_S = 10.0, 2
_TIMED_OUT, _NOT_RUN = (124, 137, 143), (126, 127)
MARK = "PROCTOR_EXEC"
_KILL_MARKED = 'for p in /proc/[0-9]*; do grep -q "$0" "$p/environ" 2>/dev/null && kill -9 "${p#/proc/}"; done'


class InsideError(Exception):
    """The engine would not do it; `gone` when the container is not there or not running."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


@dataclass(frozen=True)
class Executed:
    """How a command ended. `exit_code` None: not known. `spawn_error`: it was never started, and why. `dropped_bytes`: left out of
    the middle of the streams."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    timed_out: bool
    spawn_error: str | None
    dropped_bytes: int
    seconds: float


Word = Literal["created", "starting", "running", "unhealthy", "paused", "exited", "gone", "unknown"]


@dataclass(frozen=True)
class Status:
    """How a container is. `code` and `oom` (killed for using too much memory) are those of an exited one."""

    word: Word
    code: int | None = None
    oom: bool = False


def read_status(state: Mapping[str, Any]) -> Status:
    """From the engine's `State`. A running one with a health check of its image's is `starting` or `unhealthy` until that says otherwise."""
    word = state.get("Status")
    if word == "running":
        health = (state.get("Health") or {}).get("Status")
        return Status(health if health in ("starting", "unhealthy") else "running")
    if word in ("created", "paused"):
        return Status(word)
    if word in ("exited", "dead"):
        return Status("exited", state.get("ExitCode"), bool(state.get("OOMKilled")))
    return Status("starting" if word == "restarting" else "gone" if word == "removing" else "unknown")


class Kept:
    """The head and the tail of a stream, `limit` bytes together."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._head, self._tail = bytearray(), bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        over = len(self._tail) - self._half
        if over > self._half:  # cut in lumps
            self._cut(over)

    def bytes(self) -> bytes:
        self._cut(len(self._tail) - self._half)
        return bytes(self._head + self._tail)

    def _cut(self, over: int) -> None:
        if over > 0:
            del self._tail[:over]
            self.dropped += over


class Inside:
    """One container, by id. `streams` is a client that may hold connections for long."""

    def __init__(self, streams: aiodocker.Docker, container_id: str) -> None:
        self._docker, self.container_id = streams, container_id

    async def execute(
        self, command: Sequence[str], *, timeout_s: float, workdir: str | None = None, env: Mapping[str, str] | None = None,
        stdin: bytes = b"", keep_bytes: int = KEEP_BYTES,
    ) -> Executed:  # fmt: skip
        """Runs to its end, or is killed at `timeout_s`. `stdin` stays open behind what is sent: the command must know where it ends. Raises
        `InsideError`."""
        limited = ["timeout", "-k", str(KILL_AFTER_S), f"{timeout_s:g}", *command]
        began, mark = time.monotonic(), f"{MARK}={secrets.token_hex(16)}"
        out, err = Kept(keep_bytes), Kept(keep_bytes)
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                code, pid = await self._run(limited, workdir, [f"{name}={value}" for name, value in (env or {}).items()] + [mark], stdin, out, err)
        except TimeoutError:
            raise InsideError(f"The command was still running {GRACE_S:g} s after its {timeout_s:g} s") from None
        except (DockerError, aiohttp.ClientError, OSError) as error:
            raise _refused(error, "running a command") from error
        seconds = time.monotonic() - began
        timed_out = code in _TIMED_OUT and seconds >= timeout_s
        if timed_out:
            await self._kill_marked(mark)
        stdout, stderr = out.bytes(), err.bytes()
        spawn_error = _spawn_error(code, pid, stdout, stderr)
        if spawn_error and not pid:
            stdout = b""  # the runtime's own words
        return Executed(stdout, stderr, code, timed_out, spawn_error, out.dropped + err.dropped, seconds)

    async def _kill_marked(self, mark: str) -> None:
        """As far as the image has a shell and grep. The one that looks carries no mark."""
        with contextlib.suppress(TimeoutError, DockerError, aiohttp.ClientError, OSError):
            async with asyncio.timeout(GRACE_S):
                await self._run(["sh", "-c", _KILL_MARKED, mark], None, [], b"", Kept(1024), Kept(1024))

    async def _run(
        self, command: list[str], workdir: str | None, env: list[str], stdin: bytes, out: Kept, err: Kept
    ) -> tuple[int | None, int]:
        container = self._docker.containers.container(self.container_id)
        execution = await container.exec(command, stdin=bool(stdin), tty=False, workdir=workdir, environment=env)
        async with execution.start(detach=False) as stream:
            feeding = asyncio.ensure_future(stream.write_in(stdin)) if stdin else None
            try:
                while (message := await stream.read_out()) is not None:
                    (out if message.stream == 1 else err).add(message.data)
            finally:
                if feeding is not None:
                    feeding.cancel()
                    await asyncio.gather(feeding, return_exceptions=True)
        while (record := await execution.inspect())["Running"]:  # noqa: ASYNC110 - the engine tells nobody when it is done
            await asyncio.sleep(0.02)
        return record["ExitCode"], int(record.get("Pid") or 0)

    async def get_archive(self, path: str, *, limit: int = ARCHIVE_BYTES) -> AsyncIterator[bytes]:
        """A tar of what lies at `path`, in pieces as they come. Raises `InsideError`, also behind `limit` bytes."""
        request = f"containers/{self.container_id}/archive"
        taken = 0
        try:
            async with self._docker._query(request, params={"path": path}, timeout=_endless()) as response, response:
                async for piece in response.content.iter_chunked(64 * 1024):
                    taken += len(piece)
                    if taken > limit:
                        raise InsideError(f"The archive of {path} is larger than {limit:,} bytes")
                    yield piece
        except (DockerError, aiohttp.ClientError, OSError) as error:
            raise _refused(error, f"reading {path}") from error

    async def put_archive(self, path: str, tar: AsyncIterator[bytes]) -> None:
        """Unpacks a tar (plain, gzip, bzip2 or xz) in the folder `path`, which must be there. The engine refuses members that lead out of
        it. Raises `InsideError`."""
        request, kind = f"containers/{self.container_id}/archive", {"Content-Type": "application/x-tar"}
        try:
            async with self._docker._query(request, method="PUT", params={"path": path}, data=tar, headers=kind, timeout=_endless()) as response:
                await response.read()
        except (DockerError, aiohttp.ClientError, OSError) as error:
            raise _refused(error, f"writing to {path}") from error

    async def status(self) -> Status:
        """As it is now; `unknown` when the engine does not say."""
        try:
            shown = await self._docker.containers.container(self.container_id).show()
        except DockerError as error:
            return Status("gone" if error.status == 404 else "unknown")
        except (aiohttp.ClientError, TimeoutError, OSError):
            return Status("unknown")
        return read_status(shown.get("State") or {})


@runtime_checkable
class Enterable(Protocol):
    """A sandbox that commands can be run in."""

    def inside(self) -> Inside: ...


def _endless() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=10, sock_connect=10, sock_read=120)


def _spawn_error(code: int | None, pid: int, stdout: bytes, stderr: bytes) -> str | None:
    """The runtime's words (no process at all) or `timeout`'s."""
    if code not in _NOT_RUN:
        return None
    if not pid and stdout.startswith(b"OCI runtime"):
        return stdout.decode(errors="replace").strip()[:2000]
    return stderr.decode(errors="replace").strip()[:2000] if stderr.startswith(b"timeout:") else None


def _refused(error: Exception, doing: str) -> InsideError:
    gone = isinstance(error, DockerError) and error.status in (404, 409) and "container" in str(error.message).lower()
    return InsideError(f"The engine failed while {doing}: {getattr(error, 'message', error)}", gone=gone)
