"""The least client of the control channel, for the floor: newline-delimited JSON-RPC over one connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any


class Control:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer, self.calls = reader, writer, 0

    async def call(self, method: str, **params: Any) -> Any:
        self.calls += 1
        request = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.writer.write(json.dumps(request).encode() + b"\n")
        reply = json.loads(await self.reader.readuntil(b"\n"))
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]


async def connect(host: str, port: int) -> Control:
    """Tries until `hello` is answered."""
    while True:
        try:
            control = Control(*await asyncio.open_connection(host, port, limit=1 << 24))
            await control.call("hello")
            return control
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.01)
