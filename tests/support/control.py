"""A tiny control-channel client for tests: sends frames as they are given, so that wrong ones can be sent too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from proctor.environment import Environment
from proctor.environment.server import Server


class Wire:
    """One connection. `call` gives the result, or the error object as (code, message)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._id = 0

    def send(self, method: str, **params: Any) -> int:
        self._id += 1
        self.send_bytes(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode() + b"\n")
        return self._id

    def send_bytes(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self.reader.readline(), 30)
        if not line:
            raise EOFError
        return json.loads(line)

    async def call(self, method: str, **params: Any) -> Any:
        message_id = self.send(method, **params)
        reply = await self.receive()
        assert reply["id"] == message_id
        return outcome(reply)

    async def hello(self) -> str:
        return (await self.call("hello"))["session_id"]

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


def outcome(reply: dict[str, Any]) -> Any:
    return reply["result"] if "result" in reply else (reply["error"]["code"], reply["error"]["message"])


async def connect(port: int) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port, limit=64 * 1024 * 1024))


@asynccontextmanager
async def served(env: Environment) -> AsyncIterator[Server]:
    """An environment served in this process."""
    async with Server(env) as server:
        yield server


async def until_live(server: Server, sessions: int) -> None:
    """Wait until the server has noticed that all but so many connections ended."""
    async with asyncio.timeout(30):
        while len(server.channel.live) != sessions:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def wired(env: Environment) -> AsyncIterator[Wire]:
    """One connection to an environment served in this process."""
    async with served(env) as server:
        wire = await connect(server.port)
        try:
            yield wire
        finally:
            await wire.close()
