"""Show 4: `kill -9` of worker and web in the middle of a job. It ends whole, nothing was graded twice, nothing is left behind."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_model import FakeModel, Reply, fake_model, says
from tests.support.server import Server, kill, kill_group, running, until
from tests.support.tally import Tally, register_outside, sample_image, tally

pytestmark = [pytest.mark.server, pytest.mark.docker]
RUNS = 60


def repeat_slowly(body: dict[str, Any]) -> Reply:
    time.sleep(0.2)
    return says(prompt_of(body))


def prompt_of(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return str(content if isinstance(content, str) else content[0]["text"])


@pytest.fixture(scope="module")
def outside(kind: str) -> Iterator[Tally]:
    """One for each kind of instance: their tallies are held against different databases."""
    with tally() as kept:
        yield kept


@pytest.fixture(scope="module")
def model(kind: str) -> Iterator[FakeModel]:
    with fake_model(repeat_slowly) as model:
        yield model


@pytest.fixture(scope="module")
def server(folder: Path, model: FakeModel, kind_settings: dict[str, str]) -> Iterator[Server]:
    with running(folder, PROCTOR_SLOTS="8", PROCTOR_MODEL_ENDPOINT=f"stub-1|{model.base_url}|", **kind_settings) as server:
        until(server.ready, 60, why=server.log)
        register_outside(server, sample_image())
        yield server


def question(index: int) -> str:
    return f"question-{index:02}"


def start_job(server: Server, outside: Tally, **more: Any) -> str:
    args = {"port": outside.port, "seconds": 0.3}
    server.upload("killed", [{"name": question(index), "env": {"name": "outside"}, "task_id": "repeat", "args": {"question": question(index), **args}} for index in range(RUNS)])
    agent = {"type": "openai_compatible", "config": {"model": "stub-1"}}
    return str(server.post("/api/jobs", {"taskset": "killed", "agent": agent, **more})["id"])


def test_kills_in_the_middle_lose_nothing_and_grade_nothing_twice(server: Server, outside: Tally, model: FakeModel, kind: str) -> None:
    job_id = start_job(server, outside)
    ready_to_kill(server, job_id, 6)
    kill(server.worker_fork())
    ready_to_kill(server, job_id, 18)
    kill(server.child("worker"))
    ready_to_kill(server, job_id, 30)
    kill_group(server.child("worker"))
    ready_to_kill(server, job_id, 42)
    kill(server.child("web"))
    counts = server.wait_for(job_id, "graded", RUNS, 240)

    assert counts == {"expected": RUNS, "graded": RUNS, "failed": 0, "cancelled": 0, "pending": 0, "running": 0, "queued": 0}
    assert_page_and_api_agree(server, job_id)
    assert_tallies_agree(server, outside, model)
    until(lambda: not server.containers(), 20, why=lambda: str(server.containers()))


def ready_to_kill(server: Server, job_id: str, graded: int) -> None:
    """Some way in, and no run that was lost twice is still open: a third time would rightly be its end."""
    server.wait_for(job_id, "graded", graded, 240)
    until(lambda: all(times_lost(row) < 2 for row in server.runs(job_id)), 120, why=server.log)


def times_lost(row: dict[str, Any]) -> int:
    """Of an open run: every attempt, but for the one that is being carried out."""
    if row["counted"] != "pending":
        return 0
    return int(row["attempt"]) - (row["state"] != "queued")


def assert_page_and_api_agree(server: Server, job_id: str) -> None:
    traces = server.get(f"/v2/jobs/{job_id}/traces?limit=1000")
    rows = server.runs(job_id)
    assert traces["total"] == RUNS
    assert [(trace["id"], trace["status"], trace["reward"]) for trace in traces["items"]] == [(row["id"], "completed", 1.0) for row in rows]
    assert {row["slug"] for row in rows} == {question(index) for index in range(RUNS)}
    assert server.get(f"/api/jobs/{job_id}")["mean_reward"] == 1.0


def assert_tallies_agree(server: Server, outside: Tally, model: FakeModel) -> None:
    """Each run has one attempt that ended with a grade. Whatever else the outside world saw belongs to an attempt that was killed."""
    rows = server.query("SELECT r.slug, a.number, a.outcome, a.container_id FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id ORDER BY 1, 2")
    graded = Counter(slug for slug, _number, outcome, _container in rows if outcome == "completed")
    assert graded == {question(index): 1 for index in range(RUNS)}
    assert {outcome for _slug, _number, outcome, _container in rows} <= {"completed", "lost"}
    assert any(outcome == "lost" for _slug, _number, outcome, _container in rows), "the kills hit nothing; this test shows nothing"

    marks = outside.marks()
    assert max(Counter(marks).values()) == 1, "an environment graded twice"
    finished = {(slug, container[:12]) for slug, _number, outcome, container in rows if outcome == "completed"}
    killed = Counter(slug for slug, _number, outcome, _container in rows if outcome == "lost")
    assert finished <= set(marks)
    extra = Counter(slug for slug, container in marks if (slug, container) not in finished)
    assert all(number <= killed[slug] for slug, number in extra.items())

    asked = Counter(prompt_of(request) for request in model.requests)
    attempts = Counter(slug for slug, *_ in rows)
    assert all(1 <= asked[slug] <= attempts[slug] for slug in attempts)
