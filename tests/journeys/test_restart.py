"""Stopping, dying and starting again: nothing is lost, nothing is left, one instance per data folder."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.fake_model import FakeModel, Reply, fake_model, says
from tests.support.server import Server, alive, free_port, kill, running, sample_rows, until

pytestmark = pytest.mark.server
SLOW_S = 30.0


class Pace:
    """How long the model thinks; changed by the test."""

    seconds = SLOW_S


@pytest.fixture(scope="module")
def pace() -> Pace:
    return Pace()


@pytest.fixture(scope="module")
def model(pace: Pace) -> Iterator[FakeModel]:
    def think(_body: dict[str, Any]) -> Reply:
        until_s = time.monotonic() + pace.seconds
        while time.monotonic() < until_s and pace.seconds:
            time.sleep(0.05)
        return says("A: 1")

    with fake_model(think) as model:
        yield model


@pytest.fixture(scope="module")
def server(folder: Path, model: FakeModel, kind_settings: dict[str, str]) -> Iterator[Server]:
    settings = {"PROCTOR_SANDBOX": "subprocess", "PROCTOR_SLOTS": "8", "PROCTOR_MODEL_ENDPOINT": f"stub-1|{model.base_url}|", **kind_settings}
    with running(folder, **settings) as server:
        until(server.ready, 60, why=server.log)
        yield server


@pytest.fixture(autouse=True)
def slow_again(pace: Pace) -> None:
    pace.seconds = SLOW_S


def start_job(server: Server, tasks: int = 12) -> str:
    server.upload(f"slow-{tasks}", sample_rows(tasks))
    return str(server.post("/api/jobs", {"taskset": f"slow-{tasks}", "agent": {"type": "openai_compatible", "config": {"model": "stub-1"}}})["id"])


def waiting_for_model(server: Server, job_id: str, number: int) -> None:
    server.wait_for(job_id, "running", number)
    until(lambda: sum(row["state"] == "running" for row in server.runs(job_id)) >= number, 60, why=server.log)


def attempts(server: Server, job_id: str) -> set[str]:
    """How the tries at a job's runs ended."""
    runs = {uuid.UUID(row["id"]) for row in server.runs(job_id)}
    rows = server.query("SELECT r.wire_id, a.outcome FROM runs_attempt a JOIN runs_run r ON r.id = a.run_id")
    return {outcome for run_id, outcome in rows if uuid.UUID(str(run_id)) in runs}


def test_term_gives_running_runs_back_within_ten_seconds_and_a_restart_finishes_them(server: Server, pace: Pace) -> None:
    job_id = start_job(server)
    waiting_for_model(server, job_id, 8)
    tree = server.processes()
    assert server.stop() < 10
    assert alive(tree) == [], "no environment, no worker, no web process outlives the supervisor"

    assert server.query("SELECT count(*) FROM runs_run WHERE state = 'queued'") == [(12,)]

    pace.seconds = 0
    server.start()
    counts = server.wait_for(job_id, "graded", 12, 120)
    assert attempts(server, job_id) == {"worker stopped", "completed"}, "none of it counts as a lost try"
    assert (counts["expected"], counts["failed"], counts["cancelled"]) == (12, 0, 0)


def test_a_killed_supervisor_takes_its_children_along_and_a_restart_finishes_the_job(server: Server, pace: Pace) -> None:
    job_id = start_job(server)
    waiting_for_model(server, job_id, 8)
    tree = server.processes()
    ours = [process for process in tree if "manage.py" in " ".join(process.cmdline())]
    assert len(ours) >= 4, "supervisor, web, Dramatiq's master and its worker"
    server.kill()
    psutil.wait_procs(ours, 5)
    assert alive(ours) == []

    pace.seconds = 0
    server.start()
    counts = server.wait_for(job_id, "graded", 12, 120)
    assert counts["expected"] == 12 and counts["failed"] == 0
    until(lambda: alive(tree) == [], 20, why=lambda: str(alive(tree)))


def test_a_killed_web_process_comes_back_while_the_worker_goes_on(server: Server, pace: Pace) -> None:
    job_id = start_job(server, 8)
    waiting_for_model(server, job_id, 8)
    worker, web = server.worker_fork(), server.child("web")
    kill(web)
    pace.seconds = 0
    server.wait_for(job_id, "graded", 8)
    assert alive([worker]) == [worker] and server.child("web").pid != web.pid
    assert attempts(server, job_id) == {"completed"}


def test_a_second_instance_on_the_data_folder_is_refused(server: Server) -> None:
    second = Server(server.folder, free_port(), {name: value for name, value in server.env.items() if name not in ("PROCTOR_PORT", "PROCTOR_DATA")})
    process = second.command("up")
    assert process.wait(60) != 0
    assert f"Another Proctor is running on the data folder {server.folder}" in server.log()
    assert server.healthy()


def test_a_port_in_use_is_named(server: Server, tmp_path: Path) -> None:
    second = Server(tmp_path / "other", server.port, {})
    assert second.command("up").wait(60) != 0
    assert f"Port {server.port}" in second.log() and "set PROCTOR_PORT" in second.log()


def test_a_second_start_repeats_no_work(server: Server) -> None:
    server.stop()
    before = files_of(server)
    server.start()
    until(server.ready, 60, why=server.log)
    assert (server.folder / "up.log").read_text().count("Sign in as") == 1, "no second first boot"
    assert {name: size for name, size in files_of(server).items() if name in before} == before
    assert len(server.query("SELECT id FROM accounts_user")) == 1


def files_of(server: Server) -> dict[str, int]:
    """What a start makes once: secrets and copies of the database."""
    kept = [path for path in server.folder.rglob("*") if path.is_file() and path.parent.name in ("before-migration", server.folder.name)]
    return {path.name: path.stat().st_mtime_ns for path in kept if not path.name.startswith(("proctor.sqlite3", "up.log", "lock"))}


def test_a_data_folder_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with running(tmp_path / "data", PROCTOR_SANDBOX="subprocess") as server:
        server.stop()
    with closing(sqlite3.connect(server.folder / "proctor.sqlite3")) as connection, connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('runs', '0999_from_the_future', '2030-01-01 00:00:00')")
    assert server.command("up").wait(60) != 0
    assert "written by a newer Proctor (it has runs.0999_from_the_future)" in server.log()
    assert not (server.folder / "before-migration").exists()
