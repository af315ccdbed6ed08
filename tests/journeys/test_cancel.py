"""Cancelling hosted runs in a live instance: queued ones end at once, running ones within a second or so, with their environments."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.fake_model import FakeModel, Reply, fake_model
from tests.support.server import Server, docker, running, sample_rows, until

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def model() -> Iterator[FakeModel]:
    """Never answers: what waits for it is running until it is cancelled."""
    with fake_model(Reply("", silent=True)) as model:
        yield model


@pytest.fixture(scope="module")
def server(folder: Path, model: FakeModel, kind_settings: dict[str, str]) -> Iterator[Server]:
    settings = {"PROCTOR_SANDBOX": "subprocess", "PROCTOR_SLOTS": "4", "PROCTOR_MODEL_ENDPOINT": f"stub-1|{model.base_url}|", **kind_settings}
    with running(folder, **settings) as server:
        until(server.ready, 60, why=server.log)
        yield server


def start_job(server: Server, tasks: int = 8) -> str:
    server.upload("silent", sample_rows(tasks))
    job_id = str(server.post("/api/jobs", {"taskset": "silent", "agent": {"type": "openai_compatible", "config": {"model": "stub-1"}}})["id"])
    until(lambda: sum(row["state"] == "running" for row in server.runs(job_id)) == 4, 60, why=server.log)
    return job_id


def environments(server: Server) -> list[psutil.Process]:
    return [process for process in server.processes() if any("env.py" in part for part in process.cmdline())]


def test_a_cancelled_job_ends_whole_and_its_environments_with_it(server: Server) -> None:
    job_id = start_job(server)
    assert len(environments(server)) >= 4
    assert server.post(f"/api/jobs/{job_id}/cancel") == {"cancelled": 8}
    at_once = server.counts(job_id)
    assert at_once["queued"] == 0 and at_once["cancelled"] >= 4, "queued runs are over with the answer"
    counts = server.wait_for(job_id, "cancelled", 8, 20)
    assert (counts["graded"], counts["failed"], counts["pending"]) == (0, 0, 0)
    assert server.get(f"/api/jobs/{job_id}")["state"] == "cancelled"
    until(lambda: environments(server) == [], 10)
    assert server.post(f"/api/jobs/{job_id}/cancel") == {"cancelled": 0}


def test_the_hud_cancels_answer_accepted_or_not_found(server: Server) -> None:
    job_id = start_job(server)
    rows = server.runs(job_id)
    running_run = next(row["id"] for row in rows if row["state"] == "running")
    queued_run = next(row["id"] for row in rows if row["state"] == "queued")
    for run_id in (running_run, queued_run):
        assert server.post("/v2/rollouts/cancel", {"trace_id": run_id}) == {"status": "accepted"}
        until(lambda run_id=run_id: server.get(f"/v2/trace/{run_id}")["status"] == "cancelled", 20, why=server.log)
        assert server.post("/v2/rollouts/cancel", {"trace_id": run_id}) == {"status": "not_found"}
    assert server.post("/v2/rollouts/cancel", {"trace_id": str(uuid.uuid4())}) == {"status": "not_found"}
    assert server.post("/v2/rollouts/cancel_job", {"job_id": job_id}) == {"cancelled": 6}
    server.wait_for(job_id, "cancelled", 8, 20)
    assert server.post("/v2/rollouts/cancel_user_jobs") == {"jobs_cancelled": 0, "total_tasks_cancelled": 0, "job_details": []}


@pytest.mark.docker
def test_a_cancelled_run_is_over_only_when_its_container_is_gone(tmp_path: Path, model: FakeModel) -> None:
    settings = {"PROCTOR_SLOTS": "2", "PROCTOR_MODEL_ENDPOINT": f"stub-1|{model.base_url}|"}
    with running(tmp_path / "docker", **settings) as server:
        until(server.ready, 60, why=server.log)
        until(lambda: "gsm8k" in str(server.get("/api/environments")["items"]), 60, why=server.log)
        server.upload("silent", sample_rows(2))
        job_id = str(server.post("/api/jobs", {"taskset": "silent", "agent": {"type": "openai_compatible", "config": {"model": "stub-1"}}})["id"])
        until(lambda: sum(row["state"] == "running" for row in server.runs(job_id)) == 2, 60, why=server.log)
        assert len(server.containers()) == 2
        server.post(f"/api/jobs/{job_id}/cancel")
        server.wait_for(job_id, "cancelled", 2, 30)
        assert server.containers() == []
        ended = server.get(f"/api/runs/{server.runs(job_id)[0]['id']}")
        assert ended["container_id"] and ended["log_bytes"] > 0, "what the rollout knew is kept"
        assert docker("ps", "-aq", "--filter", f"id={ended['container_id']}") == []
