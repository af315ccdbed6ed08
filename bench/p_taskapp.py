"""TA: what a hosted rollout of a Task App takes beyond the bare `POST /rollout` to the same peer, one at a time, everything written.

The peer is the real synth-ai server with a mock model (`tests/peers/synth`). A run's time is from its claim to its end, as its row says; the bare
call is made by the client that the worker uses. Whether it has ended is asked seldom, since each question takes as much of the two cores as the run. The goal is the floor of the same run plus 15 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bench.lines import Line, line
from bench.support import PEERS, ROOT, Bench, Client, common

sys.path.insert(0, str(ROOT / "platform"))

REPEAT, BEYOND_MS, TURNS, LOOK_S = 25, 15, 4, 0.3
PEER, KEY = "synth-0.2.23.dev3", "bench-key-0123456789"


@contextlib.contextmanager
def serving(script: str, path: str) -> Iterator[str]:
    """A script of the peer, once it answers."""
    python, port = PEERS / PEER / "bin" / "python", common.free_port()
    if not python.exists():
        subprocess.run([str(ROOT / "tests/peers/kit/peers"), str(PEERS), PEER], check=True, stdout=sys.stderr)
    env = {**os.environ, "PORT": str(port), "ENVIRONMENT_API_KEY": KEY}
    process = subprocess.Popen([str(python), str(ROOT / "tests/peers/synth" / script)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if common.http_get(port, path)[0] == 200:
                    break
            if time.monotonic() > until:
                raise TimeoutError(f"{script} does not answer")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def measure(bench: Bench) -> Iterator[Line]:
    with serving("mock_llm.py", "/seen") as llm, serving("counting_task_app.py", "/") as peer:
        for db in ("postgres", "sqlite"):
            client = bench.server(db).client()
            client.post("/api/task-apps", {"name": "bench-app", "url": peer, "api_key": KEY})
            client.post("/api/task-apps/bench-app/pull", {"taskset": "bench-app", "seeds": [1], "splits": ["train"]})
            run_one(client, llm)
            bare(peer, llm, 3)
            values, floor = [], []
            for _ in range(REPEAT):
                floor += bare(peer, llm, 1)
                values.append(run_one(client, llm))
            must = statistics.median(floor) + BEYOND_MS
            what = f"a Task App's rollout of {TURNS} turns from claim to end; must: {BEYOND_MS} ms beyond the bare POST"
            yield line("TA", what, db=db, values=values, unit="ms", must=must, floor_values=floor)


def bare(peer: str, llm: str, times: int) -> list[float]:
    """Milliseconds of each call, with nothing written."""
    from proctor.taskapp.client import TaskAppClient
    from proctor.taskapp.rollouts import RolloutRequest, alternating

    policy = {"config": {"model": "mock-1", "inference_url": f"{llm}/v1"}}
    record = {"return_trace": True, "trace_format": "structured"}
    body = {"run_id": "bench", "mode": "eval", "env": {"seed": 1}, "policy": policy, "ops": alternating(TURNS), "record": record, "on_done": "terminate"}

    async def call() -> list[float]:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            await TaskAppClient(peer, KEY).rollout(RolloutRequest.model_validate(body), within_s=30)
            took.append((time.perf_counter() - began) * 1000)
        return took

    return asyncio.run(call())


def run_one(client: Client, llm: str) -> float:
    """Milliseconds of one hosted run."""
    config: dict[str, Any] = {"turns": TURNS, "policy": {"model": "mock-1", "inference_url": f"{llm}/v1"}}
    job = client.post("/api/jobs", {"taskset": "bench-app", "agent": {"type": "task_app", "config": config}})
    while True:
        run = client.get(f"/api/jobs/{job['id']}/runs")["items"][0]
        if run["ended_at"]:
            break
        time.sleep(LOOK_S)
    if run["counted"] != "graded":
        raise RuntimeError(f"the run was not graded: {run['error']}")
    return (moment(run["ended_at"]) - moment(run["started_at"])) * 1000


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
