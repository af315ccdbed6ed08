"""Scaled: two workers at once, one of them killed. Sixty runs end graded, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.fake_model import FakeModel, Reply, fake_model, says
from tests.support.server import Server, family, kill, running, sample_rows, until

pytestmark = [pytest.mark.server, pytest.mark.scaled]
RUNS = 60


@pytest.fixture(scope="module")
def model() -> Iterator[FakeModel]:
    def answer(_body: dict[str, Any]) -> Reply:
        return says("A: 1")

    with fake_model(answer) as model:
        yield model


@pytest.fixture(scope="module")
def kind() -> str:
    return "scaled"


@pytest.fixture(scope="module")
def server(folder: Path, model: FakeModel, kind_settings: dict[str, str]) -> Iterator[Server]:
    settings = {"PROCTOR_SANDBOX": "subprocess", "PROCTOR_SLOTS": "4", "PROCTOR_MODEL_ENDPOINT": f"stub-1|{model.base_url}|"}
    with running(folder, **settings, **kind_settings) as server:
        until(server.ready, 60, why=server.log)
        yield server


@pytest.fixture
def second_worker(server: Server) -> Iterator[psutil.Process]:
    """Another `manage.py worker` on the same database and Redis."""
    process = server.command("worker", start_new_session=True)
    tree = psutil.Process(process.pid)
    try:
        until(lambda: len(server.get("/api/workers")["items"]) == 2, 60, why=server.log)
        yield tree
    finally:
        kill(*family(tree))
        process.wait()


def start_job(server: Server, name: str) -> str:
    server.upload(name, sample_rows(RUNS, name + " {index}"))
    return str(server.post("/api/jobs", {"taskset": name, "agent": {"type": "openai_compatible", "config": {"model": "stub-1"}}})["id"])


def stopped_in_the_middle(server: Server, worker: psutil.Process) -> bool:
    """Stopped while it holds a run; it goes on when it holds none just now."""
    processes = family(worker)
    for process in processes:
        process.suspend()
    held = server.query("SELECT worker_id FROM runs_run WHERE state IN ('provisioning', 'running', 'grading')")
    if any(f"-{process.pid}-" in (holder or "") for (holder,) in held for process in processes):
        return True
    for process in processes:
        process.resume()
    return False


def attempts(server: Server, job_id: str) -> list[tuple[Any, ...]]:
    sql = "SELECT r.slug, a.worker_id, a.outcome FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id JOIN runs_job j ON j.id = r.job_id"
    return server.query(f"{sql} WHERE j.wire_id = '{job_id}'")


def test_two_workers_share_a_job_and_run_nothing_twice(server: Server, second_worker: psutil.Process, model: FakeModel) -> None:
    asked_before = len(model.requests)
    job_id = start_job(server, "shared")
    counts = server.wait_for(job_id, "graded", RUNS, 180)
    assert (counts["expected"], counts["failed"]) == (RUNS, 0)
    rows = attempts(server, job_id)
    assert len(rows) == RUNS and Counter(outcome for *_, outcome in rows) == {"completed": RUNS}
    assert len({worker for _slug, worker, _outcome in rows}) == 2, "both did their part"
    assert len(model.requests) - asked_before == RUNS


def test_what_a_killed_worker_held_goes_to_the_other_when_its_leases_run_out(server: Server, second_worker: psutil.Process) -> None:
    job_id = start_job(server, "orphaned")
    server.wait_for(job_id, "graded", 8, 120)
    until(lambda: stopped_in_the_middle(server, second_worker), 60, every_s=0.05, why=server.log)
    kill(*family(second_worker))
    counts = server.wait_for(job_id, "graded", RUNS, 240)
    assert (counts["expected"], counts["failed"]) == (RUNS, 0)
    rows = attempts(server, job_id)
    assert Counter(slug for slug, _worker, outcome in rows if outcome == "completed") == {f"row-{index:03}": 1 for index in range(RUNS)}
    assert {outcome for *_, outcome in rows} == {"completed", "lost"}
