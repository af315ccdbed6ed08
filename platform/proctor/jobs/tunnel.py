"""The runtime tunnel (HUD's contract 2.11): the server lends an environment, whose control channel comes over websockets.

A session by the environment's name, one local port for it, one websocket for each connection to that port. While the environment boots
the server closes websockets cleanly, and the rollout's own retries try again. Needs `websockets`, loaded here alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from proctor.client import Access, AsyncClient, Call
from proctor.errors import RateLimited, RequestFailed
from proctor.jobs.engines import SERVED, ServedSandbox
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import SandboxSpec

log = logging.getLogger(__name__)

PIECE_BYTES = 64 * 1024
NOT_READY_PAUSE_S = 0.25
OPEN_S = 30.0
RUN_LABEL = "proctor.run"


class TunnelEngine:
    """One session of the server for each sandbox."""

    kinds = SERVED

    def __init__(self, access: Access) -> None:
        self._access = access
        self._client = AsyncClient(access)

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> _Tunnel:
        """A session, and the local port that leads to it. At the team's cap of sessions it waits; the rollout's start-up limit ends that."""
        try:
            session = await self._open(_open_session(spec.environment, labels.get(RUN_LABEL)))
        except RequestFailed as error:
            raise RolloutFailed("environment_start", f"The server lends no environment {spec.environment!r}: {error}") from error
        tunnel = _Tunnel(self._client, session, _websocket_url(self._access.origin, session), self._access.api_key)
        await tunnel.listen()
        return tunnel

    async def _open(self, call: Call[str]) -> str:
        while True:
            try:
                return await self._client.send(call)
            except RateLimited as error:
                log.info("waiting for a session: %s", error)
            await asyncio.sleep(NOT_READY_PAUSE_S)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


def _open_session(environment: str, run_id: str | None) -> Call[str]:
    body = {"environment": environment, **({"trace_id": run_id} if run_id else {})}
    return Call("POST", "/runtime/sessions", lambda reply: str(reply.json()["id"]), body=msgspec.json.encode(body), timeout_s=OPEN_S)


def _close_session(session: str) -> Call[None]:
    return Call("DELETE", f"/runtime/sessions/{session}", lambda _reply: None, timeout_s=15.0)


def _websocket_url(origin: str, session: str) -> str:
    parts = urlsplit(origin)
    scheme = "wss" if parts.scheme == "https" else "ws"
    return urlunsplit((scheme, parts.netloc, f"{parts.path.rstrip('/')}/runtime/tunnels/{session}", "", ""))


class _Tunnel(ServedSandbox):
    """A local port, spliced connection by connection."""

    def __init__(self, client: AsyncClient, session: str, url: str, api_key: str) -> None:
        super().__init__("127.0.0.1", 0)
        self._client, self._session, self._url = client, session, url
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """On a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._accept, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def remove(self) -> bool:
        """Close everything, and give the session back."""
        server, self._server = self._server, None
        if server is None:
            return True
        server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        try:
            await self._client.send(_close_session(self._session))
        except RequestFailed as error:
            log.warning("the tunnel's session was not given back: %s", error)
            return False
        return True

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._forward(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        try:
            async with connect(self._url, additional_headers=self._headers, max_size=None, open_timeout=OPEN_S, proxy=None) as websocket:
                await _splice(reader, writer, websocket)
        except (WebSocketException, OSError, TimeoutError) as error:
            log.debug("tunnel not open (yet): %r", error)
            await asyncio.sleep(NOT_READY_PAUSE_S)
        finally:
            writer.close()


async def _splice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, websocket: Any) -> None:
    """Both ways, until either side ends."""

    async def up() -> None:
        while piece := await reader.read(PIECE_BYTES):
            await websocket.send(piece)

    async def down() -> None:
        async for message in websocket:
            writer.write(message.encode() if isinstance(message, str) else message)
            await writer.drain()

    ways = [asyncio.create_task(up()), asyncio.create_task(down())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*ways, return_exceptions=True)
