"""TH: what one function call of a HUD 0.2.x environment takes over `/hud02`, beyond the same call on the bare engine in the same container.

Web process, relay and worker lie in between. The goal is the floor of the same run plus 60 ms.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator

import aiodocker

from bench.hosted import prepare
from bench.lines import Line, line
from bench.support import ROOT, Bench, Client

sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

REPEAT, BEYOND_MS = 25, 60
CALL = {"function": "step", "args": [[{"type": "click"}]]}


def measure(bench: Bench) -> Iterator[Line]:
    client, base = prepare(bench.server("postgres"))
    register(client, base)
    opened = client.post("/hud02/v2/create_environment", {"gym_id": "clicks", "metadata": {}})["id"]
    values, floor = [], []
    for _ in range(REPEAT):
        floor.append(asyncio.run(bare(opened)))
        began = time.perf_counter()
        client.post(f"/hud02/v2/environments/{opened}/invoke", CALL)
        values.append((time.perf_counter() - began) * 1000)
    client.post(f"/hud02/v2/environments/{opened}/close", {})
    what = f"a function call of a HUD 0.2.x environment over HTTP; must: {BEYOND_MS} ms beyond the same call on the bare engine"
    yield line("TH", what, db="postgres", values=values, unit="ms", must=statistics.median(floor) + BEYOND_MS, floor_values=floor)


def register(client: Client, base: str) -> None:
    from tests.support import hud02

    headers, client.headers = client.headers, {**client.headers, "Content-Type": "application/x-tar"}
    client.call("POST", "/api/environments?name=clicks&kind=hud02", hud02.context(base))
    client.headers = headers
    until = time.monotonic() + 120
    while client.get("/api/environments/clicks/versions")["items"][0]["status"] != "ready":
        if time.monotonic() > until:
            raise TimeoutError("the environment was not built")
        time.sleep(0.2)


async def bare(session_id: str) -> float:
    """Milliseconds of the call in the session's own container, through the code that the worker uses."""
    from proctor.hud02.calls import Call
    from proctor.rollout.drivers.hud02 import Hud02Session
    from proctor.rollout.inside import Inside

    async with aiodocker.Docker() as docker:
        (container,) = await docker.containers.list(filters={"label": [f"proctor.session={session_id}"]})
        session = Hud02Session(Inside(docker, container.id))
        began = time.perf_counter()
        await session.invoke(Call("step", ([{"type": "click"}],)))
        return (time.perf_counter() - began) * 1000
