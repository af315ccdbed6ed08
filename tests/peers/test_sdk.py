"""What the real SDK does beyond the kit: live reporting, a late answer, Ctrl-C, two teams with the same ids, pinned tasksets."""

from __future__ import annotations

import contextlib
import json
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.peers.conftest import RIGHT, SILENT, Sdk
from tests.support.fake_model import FakeModel
from tests.support.server import KEY, Server, until

pytestmark = [pytest.mark.peer, pytest.mark.server, pytest.mark.docker]
RunOf = Callable[[str], dict[str, Any]]


def reported_job(server: Server, word: str, number: int) -> dict[str, Any] | None:
    """The only job of that name, once so many of its runs are there."""
    found = [job for job in server.get("/api/jobs?limit=1000")["items"] if word in job["name"]]
    return found[0] if len(found) == 1 and found[0]["counts"]["running"] == number else None


@contextlib.contextmanager
def watching(server: Server, topic: str, after: str) -> Iterator[ClientConnection]:
    ticket = server.post("/api/ws-ticket")["ticket"]
    with connect(f"ws://127.0.0.1:{server.port}/ws?ticket={ticket}") as socket:
        socket.send(json.dumps({"op": "sub", "id": 1, "topic": topic, "after": after}))
        yield socket


def states_until_all(socket: ClientConnection, runs: int, last: str) -> dict[str, list[str]]:
    """The states that each run was seen in, until all have ended as told."""
    seen: dict[str, list[str]] = {}
    while sum(states[-1] == last for states in seen.values()) < runs:
        for event in json.loads(socket.recv(timeout=60)).get("events") or []:
            seen.setdefault(event["run"]["id"], []).append(event["run"]["state"])
    return seen


def test_a_local_run_is_seen_live_while_it_runs(sdk: Sdk, server: Server, tmp_path: Path) -> None:
    name, gate = f"live-{uuid.uuid4().hex[:8]}", tmp_path / "gate"
    process = sdk.start("live", name, str(gate))
    job = until(lambda: reported_job(server, name, 4), 90, why=server.log)
    snapshot = server.get(f"/api/jobs/{job['id']}/matrix")
    assert (snapshot["job"]["state"], snapshot["job"]["source"]) == ("running", "reported")
    assert [(run["task_index"], run["repeat"], run["state"]) for run in snapshot["runs"]] == [
        (task, repeat, "running") for task in (0, 1) for repeat in (0, 1)
    ]

    with watching(server, f"job:{job['id']}", snapshot["seq"]) as socket:
        gate.touch()
        seen = states_until_all(socket, 4, "completed")
    told = sdk.result(process)

    assert told["job"] == job["id"] and set(seen) == {run["id"] for run in told["runs"]}
    after = server.get(f"/api/jobs/{job['id']}/matrix")
    assert after["job"]["state"] == "completed" and after["job"]["counts"]["graded"] == after["job"]["counts"]["expected"] == 4
    assert sorted((run["slug"], run["reward"]) for run in after["runs"]) == sorted((run["slug"], run["reward"]) for run in told["runs"])
    steps = server.get(f"/api/runs/{told['runs'][0]['id']}/steps")["items"]
    assert "I say 3" in [step["payload"].get("content") for step in steps]


def test_a_right_answer_before_a_timeout_counts_as_graded(sdk: Sdk, run_of: RunOf) -> None:
    told = sdk.play("timeout", f"late-{uuid.uuid4().hex[:8]}")["runs"][0]
    assert (told["status"], told["reward"]) == ("error", 1.0)
    run = run_of(told["id"])
    assert (run["state"], run["counted"], run["reward"], run["stop_reason"]) == ("error", "graded", 1.0, "timeout")
    assert "timed out" in run["full_error"] and json.loads(run["evaluation"])["score"] == 1.0


def test_ctrl_c_of_a_hosted_run_cancels_it_and_leaves_no_container(sdk: Sdk, server: Server, model: FakeModel) -> None:
    asked = len(model.requests)
    process = sdk.start("hosted", SILENT)
    until(lambda: len(model.requests) > asked, 90, why=server.log)
    run = next(run for run in all_runs(server) if run["state"] == "running")
    assert len(server.containers()) == 1

    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0

    ended = until(lambda: terminal(server, run["id"]), 30, why=server.log)
    assert (ended["state"], ended["counted"], ended["reward"]) == ("cancelled", "cancelled", None)
    assert server.containers() == []


def all_runs(server: Server) -> list[dict[str, Any]]:
    return [run for job in server.get("/api/jobs?limit=20")["items"] for run in server.runs(job["id"])]


def terminal(server: Server, run_id: str) -> dict[str, Any] | None:
    run: dict[str, Any] = server.get(f"/api/runs/{run_id}")
    return run if run["state"] in ("completed", "error", "cancelled") else None


def test_the_same_ids_from_two_teams_are_two_runs(sdk: Sdk, server: Server, other_key: str) -> None:
    job_id, run_id = uuid.uuid4().hex, uuid.uuid4().hex
    assert sdk.play("with-ids", job_id, run_id, "3")["reward"] == 1.0
    assert sdk.play("with-ids", job_id, run_id, "4", key=other_key)["reward"] == 0.0
    for key, reward in ((KEY, 1.0), (other_key, 0.0)):
        who = {"headers": {"Authorization": f"Bearer {key}"}}
        assert server.call("GET", f"/api/runs/{run_id}", **who)["reward"] == reward
        rows = server.call("GET", f"/api/jobs/{job_id}/runs", **who)["items"]
        assert [(row["reward"], row["counted"]) for row in rows] == [(reward, "graded")]
        texts = [step["payload"].get("content") for step in server.call("GET", f"/api/runs/{run_id}/steps", **who)["items"]]
        assert f"I say {3 if reward else 4}" in texts and f"I say {4 if reward else 3}" not in texts


def test_a_pinned_taskset_runs_hosted_as_it_was(sdk: Sdk, server: Server) -> None:
    name = f"pinned-{uuid.uuid4().hex[:8]}"
    told = sdk.play("pinned", name, RIGHT)
    assert told["slugs"] == ["strawberry"] and told["newest"] == ["strawberry", "banana"]
    assert [(run["status"], run["reward"]) for run in told["runs"]] == [("completed", 1.0)]
    taskset = server.get(f"/api/jobs/{told['job']}")["taskset"]
    assert (taskset["name"], taskset["version_number"]) == (name, 1)


PAGES = [
    "/jobs",
    "/jobs/{id}",
    "/trace/{id}",
    "/tasksets/{id}",
    "/tasksets/{id}/imports",
    "/environments/{id}",
    "/models/{id}",
    "/models/{id}?tab=checkpoints",
    "/project/api-keys",
    "/project/billing",
]


@pytest.mark.parametrize("path", PAGES)
def test_the_addresses_that_the_command_line_prints_lead_to_the_page(path: str, server: Server) -> None:
    response = server.http.get(path.format(id=uuid.uuid4()), headers={"Accept": "text/html", "Authorization": ""})
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/html")
    assert "<!doctype html>" in response.text.lower()[:200]
