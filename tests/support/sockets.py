"""A client of `/ws`: signs in like the page (cookie and Origin) or with a ticket, keeps every frame, and folds events into what a page shows."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from tests.support.server import EMAIL, PASSWORD, Server

PATIENCE_S = 120.0


class LiveSocket:
    """`rows` and `steps` are what a page would show: newest revision of each row, each step by its seq."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self.steps: dict[int, dict[str, Any]] = {}
        self.cursor: Any = None

    async def subscribe(self, topic: str, *, number: int = 1, after: Any = None) -> None:
        await self.send(op="sub", id=number, topic=topic, after=after)

    async def send(self, **frame: Any) -> None:
        await self.connection.send(json.dumps(frame))

    async def frame(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(await asyncio.wait_for(self.connection.recv(), PATIENCE_S))
        self.frames.append(frame)
        if frame.get("events"):
            self.cursor = frame["seq"]
            for event in frame["events"]:
                self.fold(event)
        return frame

    def fold(self, event: dict[str, Any]) -> None:
        if event["kind"] == "step":
            self.steps[event["step"]["seq"]] = event["step"]
        elif event["kind"] == "run":
            row = event["run"]
            if row["revision"] >= self.rows.get(row["id"], {"revision": -1})["revision"]:
                self.rows[row["id"]] = row

    async def until(self, what: Callable[[], Any]) -> None:
        """Reads frames until it holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not what():
                await self.frame()

    async def live(self, number: int = 1) -> None:
        while (await self.frame()) != {"id": number, "live": True}:
            pass

    async def closed(self) -> int | None:
        """Reads to the end; the close code."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await self.frame()
        return self.connection.close_code


@contextlib.asynccontextmanager
async def page_socket(server: Server, *, origin: str | None = "own", cookie: str | None = None) -> AsyncIterator[LiveSocket]:
    """As the page opens it."""
    headers = {"Cookie": cookie if cookie is not None else sign_in(server)}
    origin = f"http://127.0.0.1:{server.port}" if origin == "own" else origin
    async with connect(f"ws://127.0.0.1:{server.port}/ws", additional_headers=headers, origin=origin, max_size=None) as connection:  # type: ignore[arg-type]
        yield LiveSocket(connection)


@contextlib.asynccontextmanager
async def ticket_socket(server: Server, ticket: str | None = None) -> AsyncIterator[LiveSocket]:
    """As a client with a key opens it."""
    ticket = ticket or server.post("/api/ws-ticket")["ticket"]
    async with connect(f"ws://127.0.0.1:{server.port}/ws?ticket={ticket}", max_size=None) as connection:
        yield LiveSocket(connection)


def sign_in(server: Server) -> str:
    """The session's Cookie header."""
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as page:
        page.get("/")
        headers = {"X-CSRFToken": page.cookies.get("csrftoken", ""), "Origin": f"http://127.0.0.1:{server.port}"}
        response = page.post("/auth/sign-in", json={"email": EMAIL, "password": PASSWORD}, headers=headers)
        assert response.status_code == 200, response.text
        return "; ".join(f"{name}={value}" for name, value in page.cookies.items())
