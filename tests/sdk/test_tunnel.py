"""The tunnel's client half. The server half here is a stand-in: sessions in memory, websockets spliced to a served environment; the real one
is met in tests/sdk/test_first_hour.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from websockets.asyncio.server import Server as WebsocketServer
from websockets.asyncio.server import ServerConnection, serve

import proctor
from proctor import TunnelRuntime
from proctor.client import Access, AsyncClient
from proctor.environment.server import Server
from tests.sdk.conftest import letters
from tests.support.letters_env import env as live_env

KEY = "pk_tunnel_0123456789"


@dataclass
class Lender:
    """Lends one environment; refuses the first `not_ready` websockets, as a server does while it boots."""

    not_ready: int = 0
    refuse: int = 0
    busy: int = 0
    opened: list[dict[str, Any]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    port: int = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.refuse:
            return httpx.Response(self.refuse, json={"detail": "no", "error": {"code": "x", "message": "There is no such environment."}})
        if request.method == "POST" and self.busy:
            self.busy -= 1
            return httpx.Response(429, headers={"Retry-After": "0"})
        if request.method == "POST":
            self.opened.append(json.loads(request.content))
            return httpx.Response(201, json={"id": f"session-{len(self.opened)}"})
        self.closed.append(request.url.path.rpartition("/")[2])
        return httpx.Response(204)

    async def splice(self, websocket: ServerConnection) -> None:
        assert websocket.request is not None
        self.keys.add(websocket.request.headers["Authorization"])
        if self.not_ready:
            self.not_ready -= 1
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)

        async def down() -> None:
            while piece := await reader.read(1000):
                await websocket.send(piece)
            await websocket.close()

        sending = asyncio.create_task(down())
        async for message in websocket:
            writer.write(message.encode() if isinstance(message, str) else message)
        writer.close()
        sending.cancel()


@asynccontextmanager
async def lending(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TunnelRuntime]:
    async with Server(live_env) as env, serve(lender.splice, "127.0.0.1", 0) as server:
        assert isinstance(server, WebsocketServer)
        lender.port = env.port
        monkeypatch.setattr("proctor.jobs.tunnel.AsyncClient", lambda access: AsyncClient(access, transport=httpx.MockTransport(lender.answer)))
        yield TunnelRuntime(access=Access(f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}", KEY))


async def test_an_environment_is_lent_for_each_run_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lender = Lender()
    async with lending(lender, monkeypatch) as runtime:
        job = await letters("banana", "kiwi").run(proctor.replay(column="says"), runtime=runtime)
    assert (job.state, job.reward) == ("completed", 1.0)
    assert sorted(lender.closed) == ["session-1", "session-2"]
    assert {(one["environment"], one["trace_id"]) for one in lender.opened} == {("letters", run.id) for run in job.runs}
    assert lender.keys == {f"Bearer {KEY}"}


async def test_a_booting_environment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lender = Lender(not_ready=3)
    async with lending(lender, monkeypatch) as runtime:
        assert (await letters("banana").run(lambda context: "3", runtime=runtime)).reward == 1.0
    assert lender.not_ready == 0 and lender.closed == ["session-1"]


async def test_a_team_at_its_cap_of_sessions_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lender = Lender(busy=12)
    async with lending(lender, monkeypatch) as runtime:
        assert (await letters("banana").run(lambda context: "3", runtime=runtime)).reward == 1.0
    assert lender.busy == 0


async def test_an_environment_that_is_not_there_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async with lending(Lender(refuse=404), monkeypatch) as runtime:
        run = (await letters("banana").run(lambda context: "3", runtime=runtime)).runs[0]
    assert (run.failure_class, run.blame) == ("environment_start", "environment")
    assert run.error is not None and "There is no such environment." in run.error and KEY not in run.error


async def test_a_cancelled_run_gives_it_back_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lender, begun = Lender(), asyncio.Event()

    async def agent(context: proctor.AgentContext) -> str:
        begun.set()
        await asyncio.sleep(60)
        return ""

    async with lending(lender, monkeypatch) as runtime:
        running = asyncio.create_task(letters("banana").run(agent, runtime=runtime))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert lender.closed == ["session-1"]
