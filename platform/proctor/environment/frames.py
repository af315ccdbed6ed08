"""Bytes of the control channel: JSON-RPC 2.0 objects, one a line, at most 16 MiB without the newline; and raw byte pipes.

A reader must be made with `limit=FRAME_LIMIT_BYTES`. NaN and infinities are refused on the way out: JSON has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

FRAME_LIMIT_BYTES = 16 * 1024 * 1024
MessageId = Any
"""A number or text, whatever the peer chose; None for a notification."""
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class FrameError(ValueError):
    """A frame that cannot be sent, or that was received and cannot be read."""


def result_frame(message_id: MessageId, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error_frame(message_id: MessageId, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": message}}


def encode(message: dict[str, Any]) -> bytes:
    try:
        data = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise FrameError(f"response is not JSON: {error}") from error
    if len(data) > FRAME_LIMIT_BYTES:
        raise FrameError(
            f"Control-channel response is {len(data)} bytes; limit is {FRAME_LIMIT_BYTES} bytes (excluding the newline). "
            "Reduce inline JSON; pass large task data by file ID and load it inside the environment."
        )
    return data + b"\n"


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None when the peer has hung up. After a FrameError the connection is of no more use."""
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        line = error.partial
    except asyncio.LimitOverrunError as error:
        raise FrameError(
            f"Control-channel frame exceeds the limit of {FRAME_LIMIT_BYTES} bytes (received at least {error.consumed} bytes)."
        ) from error
    return _parse(line) if line else None


def _parse(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FrameError("frame is not a JSON object")
    return message


async def splice(left: Stream, right: Stream) -> None:
    """Pipe two byte streams into each other until both have ended, then close both."""
    try:
        await asyncio.gather(_pump(left[0], right[1]), _pump(right[0], left[1]))
    finally:
        for writer in (left[1], right[1]):
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A reset carries no end of stream: the far side is closed instead, or it would wait for ever."""
    try:
        while True:
            data = await reader.read(65536)
            if not data:
                break
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()
