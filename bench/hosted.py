"""Hosted jobs of the shipped sample's environment with the `noop` agent: started, waited for, and timed by the rows they leave."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

from bench.engine_floor import Task
from bench.support import ROOT, Client, Proctor

SAMPLE = ROOT / "platform/proctor/samples/gsm8k/tasks.jsonl"
TASKSET = "bench-rollouts"


def sample_task() -> dict[str, Any]:
    row: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8").split("\n")[0])
    return row


def floor_task() -> Task:
    row = sample_task()
    return Task(row["id"], row["args"])


def prepare(server: Proctor) -> tuple[Client, str]:
    """A taskset of one task; returns the image that its runs get, once the worker has it."""
    client, row = server.client(), sample_task()
    item = {"name": "only", "env": {"name": row["env"]}, "task_id": row["id"], "args": row["args"]}
    client.post("/v2/tasks/upload", {"taskset_name": TASKSET, "tasks": [item]})
    until = time.monotonic() + 120
    while time.monotonic() < until:
        found = [env for env in client.get("/api/environments")["items"] if env["name"] == row["env"]]
        image = found[0]["ready"]["image"] if found and found[0]["ready"] else None
        if image:
            return client, image
        time.sleep(0.2)
    raise TimeoutError("the sample's environment has no image; is a Docker engine there?")


def run_job(client: Client, *, runs: int, concurrency: int) -> tuple[float, list[dict[str, Any]]]:
    """Starts a job and waits for its end; returns the seconds from the request to the last run's end, and the runs."""
    asked = {"taskset": TASKSET, "agent": {"type": "noop"}, "group": runs, "max_concurrent": concurrency}
    began = time.time()
    job = client.post("/api/jobs", asked)
    while client.get(f"/api/jobs/{job['id']}")["counts"]["pending"]:
        time.sleep(0.5)
    items = client.get(f"/api/jobs/{job['id']}/runs?limit=1000")["items"]
    if len(items) != runs or any(run["counted"] != "graded" for run in items):
        raise RuntimeError(f"not all runs were graded: {[run['error'] for run in items if run['error']][:3]}")
    return max(moment(run["ended_at"]) for run in items) - began, items


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def first_step_at(client: Client, run_id: str) -> float:
    """When the rollout called `tasks.start`."""
    return moment(client.get(f"/api/runs/{run_id}/steps?limit=1")["items"][0]["started_at"])
