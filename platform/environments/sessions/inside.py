"""Commands and archives in a session's sandbox, over the worker's relay: one request a connection.

Behind the signed first line come a JSON line (`op` and what it needs) and a body; the answer is a JSON line (`ok`, or `error` and `gone`) and
its bodies. A body is pieces, each behind its length in four bytes; length 0 ends it. `serve` is the worker's side, the rest the web
process's. Nothing is held whole but a command's output.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from environments.models import RuntimeSession
from proctor.rollout.inside import Executed, Inside, InsideError
from web.errors import AppError

PIECE, LINE_BYTES = 64 * 1024, 1024 * 1024
CONNECT_S = 10.0
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


# — the worker's side


async def serve(inside: Inside, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One request. Raises OSError, IncompleteReadError when the other side has gone."""
    asked = json.loads(await reader.readuntil(b"\n"))
    try:
        await _OPS[asked["op"]](inside, asked, reader, writer)
    except InsideError as error:
        _line(writer, {"error": str(error), "gone": error.gone})
    await writer.drain()


async def _execute(inside: Inside, asked: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    stdin = b"".join([piece async for piece in _pieces(reader)])
    done = await inside.execute(asked["command"], timeout_s=asked["timeout_s"], workdir=asked["workdir"], stdin=stdin, keep_bytes=asked["keep_bytes"])
    facts = {name: getattr(done, name) for name in ("exit_code", "timed_out", "spawn_error", "dropped_bytes", "seconds")}
    _line(writer, {"ok": True, **facts})
    for stream in (done.stdout, done.stderr):
        for start in range(0, len(stream), PIECE):
            await _send(writer, stream[start : start + PIECE])
        await _send(writer, b"")


async def _get(inside: Inside, asked: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The answer waits for the first piece, so that a path that is not there is told as an error."""
    told = False
    async for piece in inside.get_archive(asked["path"]):
        if not told:
            _line(writer, {"ok": True})
        told = True
        await _send(writer, piece)
    await _send(writer, b"")


async def _put(inside: Inside, asked: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await inside.put_archive(asked["path"], _pieces(reader))
    _line(writer, {"ok": True})


_OPS = {"execute": _execute, "get": _get, "put": _put}


# — the web process's side


async def execute(
    session: RuntimeSession, first_line: bytes, command: Sequence[str], *, timeout_s: float, workdir: str | None = None, stdin: bytes = b"", keep_bytes: int
) -> Executed:
    """Raises AppError 409 when the sandbox is not open, 410 when it is gone, 502."""
    asked = {"op": "execute", "command": list(command), "timeout_s": timeout_s, "workdir": workdir, "keep_bytes": keep_bytes}
    async with _asked(session, first_line, asked) as (reader, writer):
        await _send_all(writer, stdin)
        told = await _answer(reader)
        stdout, stderr = [b"".join([piece async for piece in _pieces(reader)]) for _ in range(2)]
    return Executed(stdout, stderr, **{name: told[name] for name in ("exit_code", "timed_out", "spawn_error", "dropped_bytes", "seconds")})


async def get_archive(session: RuntimeSession, first_line: bytes, path: str) -> AsyncIterator[bytes]:
    """Its pieces as they come. Raises AppError before the first piece; OSError or IncompleteReadError behind it."""
    async with _asked(session, first_line, {"op": "get", "path": path}) as (reader, _writer):
        await _answer(reader)
        async for piece in _pieces(reader):
            yield piece


async def put_archive(session: RuntimeSession, first_line: bytes, path: str, tar: bytes) -> None:
    async with _asked(session, first_line, {"op": "put", "path": path}) as (reader, writer):
        await _send_all(writer, tar)
        await _answer(reader)


@contextlib.asynccontextmanager
async def _asked(session: RuntimeSession, first_line: bytes, asked: dict[str, Any]) -> AsyncIterator[Ends]:
    if not session.relay:
        raise AppError("conflict", 409, f"The environment is {session.state}", state=session.state)
    host, _, port = session.relay.rpartition(":")
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host, int(port), limit=LINE_BYTES)
    except (OSError, TimeoutError) as error:
        raise AppError("environment_lost", 410, "The worker that held this environment is gone") from error
    try:
        writer.write(first_line)
        _line(writer, asked)
        yield reader, writer
    except (OSError, asyncio.IncompleteReadError) as error:
        raise AppError("environment_lost", 410, "The environment was lost during the call") from error
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(await reader.readuntil(b"\n"))
    if told.get("gone"):
        raise AppError("environment_lost", 410, told["error"])
    if "error" in told:
        raise AppError("engine_refused", 422, told["error"])
    return told


# — both


def _line(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    writer.write(json.dumps(value).encode() + b"\n")


async def _send(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(len(piece).to_bytes(4, "big") + piece)
    await writer.drain()


async def _send_all(writer: asyncio.StreamWriter, data: bytes) -> None:
    for start in range(0, len(data), PIECE):
        await _send(writer, data[start : start + PIECE])
    await _send(writer, b"")


async def _pieces(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int.from_bytes(await reader.readexactly(4), "big"):
        yield await reader.readexactly(size)
