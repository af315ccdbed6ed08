"""P9: from an answered span to its step in the list (REST) and on a live socket; p99 of 100 spans a round."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Iterator

import common
from websockets.asyncio.client import ClientConnection, connect

from bench.floor import span_floor, span_k
from bench.lines import Line, line
from bench.spans import batch, send
from bench.support import REPEAT, Bench, Client, Proctor

SPANS = 100


def measure(bench: Bench) -> Iterator[Line]:
    server = bench.server("postgres")
    rounds = [asyncio.run(one_round(server)) for _ in range(REPEAT + 1)][1:]
    for name, place in (("live", "on a live socket"), ("list", "in the list of steps")):
        values = [common.pct(found[name], 0.99) for found in rounds]
        what = f"answered span to visible {place}, p99 of {SPANS}"
        yield line("P9", what, db="postgres", values=values, unit="ms", must=500, floor_values=span_floor(), k=1 / span_k())


async def one_round(server: Proctor) -> dict[str, list[float]]:
    """Spans one at a time, so that each one's delay is its own."""
    client, run_id = server.client(), str(uuid.uuid4())
    send(client, run_id, batch(run_id, 0, size=1))
    ticket = client.post("/api/ws-ticket", {})["ticket"]
    found: dict[str, list[float]] = {"live": [], "list": []}
    async with connect(f"ws://127.0.0.1:{server.port}/ws?ticket={ticket}", max_size=None) as socket:
        await socket.send(json.dumps({"op": "sub", "id": 1, "topic": f"run:{run_id}", "after": 1}))
        await until_live(socket)
        for number in range(2, SPANS + 2):
            await asyncio.to_thread(send, client, run_id, batch(run_id, number, size=1))
            answered = time.perf_counter()
            seen = asyncio.create_task(until_step(socket, number))
            found["list"].append(await asyncio.to_thread(until_listed, client, run_id, number, answered))
            found["live"].append(max(0.0, (await seen - answered) * 1000))
    return found


def until_listed(client: Client, run_id: str, number: int, answered: float) -> float:
    while client.get(f"/api/runs/{run_id}/steps?after={number - 1}&limit=1")["last_seq"] < number:
        time.sleep(0.002)
    return (time.perf_counter() - answered) * 1000


async def until_live(socket: ClientConnection) -> None:
    while not json.loads(await socket.recv()).get("live"):
        pass


async def until_step(socket: ClientConnection, number: int) -> float:
    """The moment at which the step with this number has come."""
    while True:
        events = json.loads(await socket.recv()).get("events") or []
        if any(event["kind"] == "step" and event["step"]["seq"] >= number for event in events):
            return time.perf_counter()
