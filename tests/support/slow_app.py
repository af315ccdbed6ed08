"""`slow_app.py PORT BYTES`: our server before an application that takes no websocket frame until an HTTP request says so; then it takes so
many bytes and answers with their SHA-256. Pings come every second and are impatient."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from typing import Any

from config.server import PatientServer, flowing

GO = asyncio.Event()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        GO.set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"go"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    await GO.wait()
    seen, left = hashlib.sha256(), int(sys.argv[2])
    while left > 0:
        piece = (await receive())["bytes"]
        seen.update(piece)
        left -= len(piece)
    await send({"type": "websocket.send", "text": seen.hexdigest()})


if __name__ == "__main__":
    server = PatientServer(flowing(application), endpoints=[f"tcp:port={sys.argv[1]}:interface=127.0.0.1"], ping_interval=1, ping_timeout=2, verbosity=0)
    server.run()
