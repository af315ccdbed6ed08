"""Put an environment on a TCP port: control sessions and capability tunnels, told apart by a connection's first frame.

There is no authentication: who reaches the port may use it. Prints `HUD_SERVE_PORT=<port>` once bound, and serves until
cancelled, or until SIGTERM or SIGINT.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from urllib.parse import urlsplit

from .channel import Channel, Message, RpcError, Session, params_of
from .declare import Environment
from .frames import FRAME_LIMIT_BYTES, FrameError, Stream, encode, error_frame, read_frame, result_frame, splice

log = logging.getLogger(__name__)

PORT_ANNOUNCEMENT = "HUD_SERVE_PORT="


async def serve(env: Environment, host: str = "127.0.0.1", port: int = 0) -> None:
    """Run the initialisers, serve until cancelled, run the shutdown hooks."""
    await env.start()
    try:
        async with Server(env, host, port) as server:
            print(f"{PORT_ANNOUNCEMENT}{server.port}", flush=True)  # noqa: T201 - who started this process reads it
            await asyncio.Event().wait()
    finally:
        await env.stop()


def serve_until_terminated(env: Environment, host: str, port: int) -> None:
    """`serve`, ended in an orderly way by SIGTERM or SIGINT."""

    async def main() -> None:
        serving = asyncio.ensure_future(serve(env, host, port))
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):  # Windows
                asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await serving

    asyncio.run(main())


class Server:
    """`async with Server(env) as server:` accepts connections on `server.port`; at the end connections and tasks are closed."""

    def __init__(self, env: Environment, host: str = "127.0.0.1", port: int = 0) -> None:
        self._env, self._host, self.port = env, host, port
        self.channel = Channel(env)
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._accept, self._host, self.port, limit=FRAME_LIMIT_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self.channel.cancel_all()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._converse(reader, writer)
        except asyncio.CancelledError:
            log.debug("connection closed: the server stops")
        except ConnectionError as error:
            log.info("connection lost: %s", error)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await read_frame(reader)
            if first is None:
                return
            if first.get("method") == "tunnel.open":
                await self._tunnel(first, (reader, writer))
            else:
                await Session(self.channel, writer).run(first, reader)
        except FrameError as error:
            log.warning("closing a connection: %s", error)
            writer.write(encode(error_frame(None, -32000, str(error))))
            await writer.drain()

    async def _tunnel(self, message: Message, client: Stream) -> None:
        message_id = message.get("id")
        try:
            name, backend = await self._dial(message)
        except (RpcError, OSError) as error:
            log.warning("refusing a tunnel: %s", error)
            code = error.code if isinstance(error, RpcError) else -32000
            client[1].write(encode(error_frame(message_id, code, str(error))))
            await client[1].drain()
            return
        client[1].write(encode(result_frame(message_id, {"capability": name})))
        await splice(client, backend)

    async def _dial(self, message: Message) -> tuple[str, Stream]:
        name = params_of(message).get("capability")
        if not isinstance(name, str):
            raise RpcError(-32602, "tunnel.open: 'capability' must be a string")
        capability = next((c for c in self._env.capabilities if c.name == name), None)
        if capability is None:
            raise RpcError(-32000, f"unknown capability: {name!r}")
        parts = urlsplit(capability.url)
        if parts.hostname is None or parts.port is None:
            raise RpcError(-32602, f"capability {name!r} has no host:port to tunnel to")
        return name, await asyncio.open_connection(parts.hostname, parts.port)
