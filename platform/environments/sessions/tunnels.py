"""The websocket of a tunnel (contracts: 2.11): one for each TCP connection of the client, raw control-channel bytes in binary frames.

The upgrade is always taken. While the sandbox starts, the tunnel is held, then closed cleanly, and the client tries again. What the
client cannot mend (a wrong key, a session that ended) is told as an error to its first call, since it would take any other end for "not
ready yet". Neither way reads faster than the other side takes (`config.server`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from accounts.callers import Caller
from accounts.queries import caller_for_key
from environments.models import RuntimeSession
from environments.sessions import actions
from environments.sessions.relay import PIECE, first_line
from web.errors import AppError, unauthorized
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)
HOLD_S, LOOK_EVERY_S, CONNECT_S, FIRST_CALL_S, CHECK_EVERY_S = 8.0, 0.15, 10.0, 10.0, 15.0
TUNNELS_A_SESSION = 64
CODE = -32000
_open: Counter[str] = Counter()

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def tunnel(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """An ASGI application. Cancelled by the server when its client has gone and a write still waits."""
    await receive()
    await send({"type": "websocket.accept"})
    session_id = scope["url_route"]["kwargs"]["session_id"]
    _open[session_id] += 1
    try:
        await _carry(Visit(scope, session_id), receive, send)
    except AppError as error:
        await _refuse(error.message, receive, send)
    except (OSError, TimeoutError, _Gone) as error:
        logger.info("tunnel ended session_id=%s error=%s", session_id[:40], type(error).__name__)
    finally:
        _open[session_id] -= 1
        if not _open[session_id]:
            del _open[session_id]
    await send({"type": "websocket.close", "code": 1000})


class _Gone(Exception):
    """The client has hung up."""


class Visit:
    """Who is at the door, and for which session. Asked again now and then: keys are revoked, sessions end."""

    def __init__(self, scope: dict[str, Any], session_id: str) -> None:
        self._header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        self.session_id = session_id
        self.bytes_carried = 0

    def look(self) -> RuntimeSession:
        """Raises AppError 401, 403, 404, 410."""
        session = actions.get_session(self._caller(), self.session_id)
        if session.ended_at or session.close_requested_at:
            raise AppError("session_ended", 410, f"This session has ended. {session.error or ''}".strip())
        return session

    def _caller(self) -> Caller:
        scheme, _, key = self._header.partition(" ")
        if scheme.lower() != "bearer":
            raise unauthorized("A tunnel needs 'Authorization: Bearer <key>'")
        caller = caller_for_key(key.strip())
        caller.require("run")
        return caller


async def _carry(visit: Visit, receive: Receive, send: Send) -> None:
    """Bytes both ways until either side ends. Raises AppError, OSError, TimeoutError, _Gone."""
    session = await in_reader(visit.look)
    if _open[visit.session_id] > TUNNELS_A_SESSION:
        raise AppError("too_many", 429, f"A session has at most {TUNNELS_A_SESSION} tunnels at once")
    await in_writer(actions.touch, session.id)
    session = await _until_open(visit, session)
    if session.relay is None:
        return
    host, _, port = session.relay.rpartition(":")
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(host, int(port), limit=PIECE)
    try:
        writer.write(first_line(session.id))
        await _first_ended(_inward(visit, receive, writer), _outward(visit, reader, send), _check(visit, session))
    finally:
        writer.close()


async def _until_open(visit: Visit, session: RuntimeSession) -> RuntimeSession:
    """The session with its relay, or without one after 8 s, before the server loses patience with a client that has gone."""
    give_up = asyncio.get_running_loop().time() + HOLD_S
    while session.relay is None and asyncio.get_running_loop().time() < give_up:
        await asyncio.sleep(LOOK_EVERY_S)
        session = await in_reader(visit.look)
    return session


async def _first_ended(*ways: Any) -> None:
    """Runs them together until one is done; its error is raised, the others end."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _inward(visit: Visit, receive: Receive, writer: asyncio.StreamWriter) -> None:
    """The client's end is passed on, so that what it sent last still arrives."""
    while (piece := await _next(receive)) is not None:
        visit.bytes_carried += len(piece)
        writer.write(piece)
        await writer.drain()
    writer.write_eof()


async def _next(receive: Receive) -> bytes | None:
    """None: the client has closed."""
    message = await receive()
    if message["type"] == "websocket.disconnect":
        return None
    return message.get("bytes") or (message.get("text") or "").encode()


async def _outward(visit: Visit, reader: asyncio.StreamReader, send: Send) -> None:
    while piece := await reader.read(PIECE):
        visit.bytes_carried += len(piece)
        await send({"type": "websocket.send", "bytes": piece})


async def _check(visit: Visit, session: RuntimeSession) -> None:
    """Tells the session that it is used; ends when it ended or the key may no longer. Raises AppError."""
    told = 0
    while True:
        await asyncio.sleep(CHECK_EVERY_S)
        await in_reader(visit.look)
        if visit.bytes_carried != told:
            told = visit.bytes_carried
            await in_writer(actions.touch, session.id)


async def _refuse(message: str, receive: Receive, send: Send) -> None:
    """The answer to the client's first call, if there is one yet."""
    try:
        async with asyncio.timeout(FIRST_CALL_S):
            call = await _next(receive)
    except TimeoutError:
        return
    if call is not None:
        answer = {"jsonrpc": "2.0", "id": _id_of(call), "error": {"code": CODE, "message": message}}
        await send({"type": "websocket.send", "bytes": json.dumps(answer).encode() + b"\n"})


def _id_of(call: bytes) -> Any:
    try:
        frame = json.loads(call.split(b"\n", 1)[0])
    except ValueError:
        return None
    return frame.get("id") if isinstance(frame, dict) else None
