"""A static byte server in a process of its own: what any server of these replies costs the client at the least.

Usage: `python -m bench.static_server FILE`, where FILE is JSON `{path: [headers, body in base64]}`; prints its port.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path


def replies(file: Path) -> dict[str, bytes]:
    found = {}
    for path, (headers, body) in json.loads(file.read_text()).items():
        content = base64.b64decode(body)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if name.lower() != "content-length")
        found[path] = f"HTTP/1.1 200 OK\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
    return found


async def serve(known: dict[str, bytes]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await next_request(reader):
            path = request.split(b" ", 2)[1].decode()
            writer.write(known[path])
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def next_request(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


if __name__ == "__main__":
    asyncio.run(serve(replies(Path(sys.argv[1]))))
