"""What is acknowledged is there after `kill -9`; copies of a batch at once are stored once (promises 5 and 6, on a real server)."""

from __future__ import annotations

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.server import Server, kill, until

pytestmark = pytest.mark.server


def span(number: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return {"span_id": f"{number:016x}", "name": "step.agent", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"step_id": number, "source": "agent", "usage": usage}}}


def send(server: Server, trace_id: str, numbers: range) -> int:
    body = json.dumps({"telemetry": [span(number) for number in numbers]}).encode()
    return int(server.call("POST", f"/v3/api/trace/{trace_id}/telemetry-upload", body)["new"])


def enter(server: Server) -> str:
    trace_id, job_id = str(uuid.uuid4()), str(uuid.uuid4())
    server.post(f"/v2/trace/job/{job_id}/enter", {"name": "outside"})
    server.post(f"/v2/trace/{trace_id}/enter", {"job_id": job_id, "task_slug": "one"})
    return trace_id


def stored(server: Server, trace_id: str) -> list[str]:
    return [step["span_id"] for step in server.get(f"/api/runs/{trace_id}/steps?limit=1000")["items"]]


def test_acknowledged_spans_survive_a_killed_web_process(server: Server) -> None:
    trace_id = enter(server)
    for start in range(0, 60, 20):
        assert send(server, trace_id, range(start, start + 20)) == 20
        kill(server.child("web"))
        until(server.healthy, 60, why=server.log)
        assert stored(server, trace_id) == [f"{number:016x}" for number in range(start + 20)]
    assert send(server, trace_id, range(60)) == 0, "the retry of a client that saw no answer"
    run = server.get(f"/api/runs/{trace_id}")
    assert (run["last_seq"], run["step_count"], run["prompt_tokens"], run["completion_tokens"]) == (60, 60, 600, 120)


def test_an_acknowledged_end_survives_a_killed_web_process(server: Server) -> None:
    trace_id = enter(server)
    server.post(f"/v2/trace/{trace_id}/exit", {"status": "completed", "reward": 1.0, "evaluation_result": {"score": 1.0}})
    kill(server.child("web"))
    until(server.healthy, 60, why=server.log)
    assert server.get(f"/v2/trace/{trace_id}")["reward"] == 1.0


def test_copies_of_a_batch_at_once_are_stored_once(server: Server) -> None:
    trace_id = enter(server)
    with ThreadPoolExecutor(6) as pool:
        new = list(pool.map(lambda _: send(server, trace_id, range(200)), range(6)))
    assert sorted(new) == [0, 0, 0, 0, 0, 200]
    with ThreadPoolExecutor(6) as pool:
        new = list(pool.map(lambda start: send(server, trace_id, range(start, start + 100)), range(150, 450, 50)))
    assert sum(new) == 300
    run = server.get(f"/api/runs/{trace_id}")
    assert (run["last_seq"], run["step_count"], run["prompt_tokens"]) == (500, 500, 5000)
    assert len(set(stored(server, trace_id))) == 500
