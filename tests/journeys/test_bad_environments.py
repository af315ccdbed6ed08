"""One job whose tasks meet every way in which an environment fails, next to healthy ones: each failure has its class and its party,
the healthy ones are graded, the log has one line each, and no container stays."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import EXITS, GARBAGE, LINGERS
from tests.support.server import ROOT, Server, docker, running, until
from tests.support.tally import sample_image

pytestmark = [pytest.mark.server, pytest.mark.docker]

FAILURES = {  # slug: class, blame, words of the error
    "raises_in_setup": ("setup", "environment", "the fixture is missing"),
    "raises_in_grading": ("grading", "grader", "the grader has no key"),
    "gives_nan": ("grading", "grader", "score"),
    "gives_no_score": ("grading", "grader", "score"),
    "dies_in_setup": ("environment_exit", "environment", "exit code 4"),
    "dies_in_grading": ("environment_exit", "environment", "exit code 5"),
    "no_such_task": ("setup", "task", "does not know task 'no_such_task'"),
    "no_such_image": ("image_missing", "environment", "no-such-image:1"),
    "exits": ("environment_exit", "environment", "no licence found"),
    "lingers": ("environment_start", "environment", "did not serve within 8 s"),
    "garbage": ("environment_protocol", "environment", "HTTP/1.1 400"),
}
HEALTHY = [f"good-{number}" for number in range(4)]


@pytest.fixture(scope="module")
def images() -> Iterator[dict[str, str]]:
    """The environment of bad tasks, and three images that are no environments."""
    name = f"proctor-test-{uuid.uuid4().hex[:12]}"
    programs = {"exits": EXITS, "lingers": LINGERS, "garbage": GARBAGE.format(port=8765)}
    made = {kind: commit(f"{name}:{kind}", ["/usr/local/bin/python3", "-S", "-I", "-c", text]) for kind, text in programs.items()}
    made["bad"] = commit(f"{name}:bad", None, ROOT / "tests" / "support" / "bad_env.py")
    yield made
    docker("rmi", "-f", *made.values())


def commit(tag: str, command: list[str] | None, env_file: Path | None = None) -> str:
    """The sample's image with another command, or another environment file."""
    [container] = docker("create", sample_image())
    try:
        if env_file is not None:
            docker("cp", str(env_file), f"{container}:/opt/proctor/env.py")
        change = ["--change", "ENTRYPOINT []", "--change", f"CMD {json.dumps(command)}"] if command else []
        docker("commit", *change, container, tag)
    finally:
        docker("rm", "-f", container)
    return tag


@pytest.fixture(scope="module")
def server(folder: Path, kind_settings: dict[str, str]) -> Iterator[Server]:
    with running(folder, PROCTOR_SLOTS="5", **kind_settings) as server:
        until(server.ready, 60, why=server.log)
        yield server


def row(slug: str, image: str, task: str | None = None) -> dict[str, Any]:
    return {"name": slug, "env": {"name": "bad"}, "task_id": task or slug, "args": {}, "runtime_config": {"image": image, "limits": {"startup_timeout_s": 8 if slug == "lingers" else 60}}}


def test_every_failure_has_its_class_and_its_party_and_the_siblings_go_on(server: Server, images: dict[str, str]) -> None:
    bad = [row(slug, "no-such-image:1" if slug == "no_such_image" else images.get(slug, images["bad"])) for slug in FAILURES]
    good = [row(slug, images["bad"], "good") for slug in HEALTHY]
    server.upload("bad", [*bad[:6], *good[:2], *bad[6:], *good[2:]])
    job_id = str(server.post("/api/jobs", {"taskset": "bad", "agent": {"type": "noop"}, "rollout_timeout": 120})["id"])
    until(lambda: server.counts(job_id)["pending"] == 0, 180, why=lambda: f"{server.counts(job_id)}\n{server.log()}")

    assert server.counts(job_id) == {"expected": 15, "graded": 4, "failed": 11, "cancelled": 0, "pending": 0, "running": 0, "queued": 0}
    rows = {row["slug"]: row for row in server.runs(job_id)}
    assert {slug: (rows[slug]["failure_class"], rows[slug]["blame"]) for slug in FAILURES} == {slug: said[:2] for slug, said in FAILURES.items()}
    for slug, (_class, _blame, words) in FAILURES.items():
        assert words in server.get(f"/api/runs/{rows[slug]['id']}")["full_error"], slug
        assert rows[slug]["reward"] is None
    assert [rows[slug]["reward"] for slug in HEALTHY] == [1.0] * 4
    assert server.get(f"/api/jobs/{job_id}")["mean_reward"] == 1.0
    assert_each_is_logged_once(server, rows)
    until(lambda: not server.containers(), 10, why=lambda: str(server.containers()))


def assert_each_is_logged_once(server: Server, rows: dict[str, dict[str, Any]]) -> None:
    log = (server.folder / "up.log").read_text()
    for slug in FAILURES:
        lines = [line for line in log.splitlines() if rows[slug]["id"] in line]
        assert len(lines) == 1 and re.search(rf"class={FAILURES[slug][0]}\b.*blame={FAILURES[slug][1]}\b", lines[0]), (slug, lines)
    assert "Traceback" not in log
