"""`make gsm8k` in small: the means are the recorded shares, a second call runs nothing again, and no container stays."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ROOT, docker

pytestmark = [pytest.mark.peer, pytest.mark.server]
RECORDED = [json.loads(line) for line in (ROOT / "tests/data/gsm8k/model_solutions.jsonl").read_text(encoding="utf-8").splitlines()]


def gsm8k(folder: Path, **variables: str) -> list[dict[str, Any]]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_") or name == "PROCTOR_PEERS"}
    environment = {**clean, "PROCTOR_DATA": str(folder), "JSON": "1", **variables}
    done = subprocess.run([sys.executable, str(ROOT / "scripts/gsm8k.py")], env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def recorded(system: str, n: int) -> dict[str, Any]:
    right = sum(problem[system]["is_correct"] for problem in RECORDED[:n])
    return {"system": system, "n": n, "mean": right / n}


def attempts(folder: Path) -> list[tuple[str, int]]:
    """(how it ran, how often one was started) of every run there is."""
    with contextlib.closing(sqlite3.connect(folder / "proctor.sqlite3", timeout=20)) as connection:
        return list(connection.execute("SELECT sandbox, attempt FROM runs_run"))


@pytest.mark.docker
def test_two_recorded_systems_score_exactly_what_was_recorded_and_a_second_call_runs_nothing(tmp_path: Path) -> None:
    systems = ("6b_finetuning", "175b_verification")
    expected = [recorded(system, 40) for system in systems]
    for _ in range(2):
        assert gsm8k(tmp_path, N="40", SYSTEMS=",".join(systems)) == expected
        assert attempts(tmp_path) == [("docker", 1)] * 80
    instance = (tmp_path / "instance-id").read_text().strip()
    assert docker("ps", "-aq", "--filter", f"label=proctor.instance={instance}") == []


def test_without_an_engine_the_sample_runs_as_plain_processes(tmp_path: Path) -> None:
    assert gsm8k(tmp_path, N="10", SYSTEMS="6b_verification", ENGINE="subprocess") == [recorded("6b_verification", 10)]
    assert attempts(tmp_path) == [("subprocess", 1)] * 10


def test_a_system_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    environment = {**os.environ, "PROCTOR_DATA": str(tmp_path), "SYSTEMS": "gpt-1"}
    done = subprocess.run([sys.executable, str(ROOT / "scripts/gsm8k.py")], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "6b_finetuning" in done.stderr and done.stdout == ""
