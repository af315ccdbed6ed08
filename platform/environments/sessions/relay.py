"""The worker's own port for tunnels: a signed first line names the session, then bytes go both ways to its sandbox; or, marked `inside`,
one request of `inside` follows.

The signature is made and read with the instance's secret key, for one session and half a minute. A side that ends its writing ends the
other's reading; the rest still flows for a while. Knows neither database nor engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import uuid
from collections.abc import Callable
from typing import Literal

from environments.sessions import inside
from proctor.rollout.inside import Enterable
from proctor.rollout.plan import Sandbox
from web.crypto import sign, unsign

logger = logging.getLogger(__name__)
SIGNED, GOOD_FOR_S = "relay", 30
FIRST_LINE_S, CONNECT_S, REST_S = 10.0, 10.0, 30.0
PIECE = 64 * 1024

Way = Literal["tunnel", "inside"]
Find = Callable[[uuid.UUID], Sandbox | None]


def first_line(session_id: uuid.UUID, way: Way = "tunnel") -> bytes:
    return f"{sign(SIGNED, f'{way} {session_id}')}\n".encode()


def session_of(line: bytes) -> tuple[Way, uuid.UUID] | None:
    """None: nobody of ours wrote this, or too long ago."""
    value = unsign(SIGNED, line.decode("ascii", "replace").strip(), max_age_s=GOOD_FOR_S)
    if not isinstance(value, str):
        return None
    way, _, session_id = value.partition(" ")
    return ("inside" if way == "inside" else "tunnel"), uuid.UUID(session_id)


class Relay:
    """Use as an async context manager; `address` is where the web process finds it."""

    def __init__(self, host: str, find: Find) -> None:
        self._host, self._find = host, find
        self._server: asyncio.Server | None = None
        self._tunnels: set[asyncio.Task[None]] = set()
        self.address = ""

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._accept, self._host, 0, limit=inside.LINE_BYTES)
        name = socket.gethostname() if self._host in ("0.0.0.0", "::") else self._host
        self.address = f"{name}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tunnels:
            task.cancel()
        await asyncio.gather(*self._tunnels, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._tunnel(reader, writer))
        self._tunnels.add(task)
        task.add_done_callback(self._tunnels.discard)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Whatever goes wrong, both ends are closed."""
        try:
            async with asyncio.timeout(FIRST_LINE_S):
                asked = session_of(await reader.readuntil(b"\n"))
            sandbox = self._find(asked[1]) if asked else None
            if asked and asked[0] == "inside" and isinstance(sandbox, Enterable):
                await inside.serve(sandbox.inside(), reader, writer)
            elif sandbox is not None:
                async with asyncio.timeout(CONNECT_S):
                    theirs = await asyncio.open_connection(sandbox.host, sandbox.port, limit=PIECE)
                await splice((reader, writer), theirs)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            logger.info("tunnel not made or broken error=%s", type(error).__name__)
        finally:
            writer.close()


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def splice(ours: Ends, theirs: Ends) -> None:
    """Until both sides have ended, or 30 s after the first did."""
    ways = {asyncio.create_task(pump(ours[0], theirs[1])), asyncio.create_task(pump(theirs[0], ours[1]))}
    try:
        _, rest = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        if rest:
            await asyncio.wait(rest, timeout=REST_S)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        theirs[1].close()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One way, as fast as the slower side; then the other side is told that no more comes."""
    with contextlib.suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
