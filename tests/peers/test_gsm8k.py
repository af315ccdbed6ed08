"""`make gsm8k` in small: the means are the recorded shares, a second call runs nothing again, and no container stays."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ROOT, docker, until

pytestmark = [pytest.mark.peer, pytest.mark.server]
RECORDED = [json.loads(line) for line in (ROOT / "tests/data/gsm8k/model_solutions.jsonl").read_text(encoding="utf-8").splitlines()]


def start(folder: Path, **variables: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_") or name == "PROCTOR_PEERS"}
    environment = {**clean, "PROCTOR_DATA": str(folder), "JSON": "1", **variables}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts/gsm8k.py")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def gsm8k(folder: Path, **variables: str) -> list[dict[str, Any]]:
    process = start(folder, **variables)
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 0, out + err[-3000:]
    return [json.loads(line) for line in out.splitlines()]


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


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    asked = {"N": "60", "SYSTEMS": "6b_verification", "ENGINE": "subprocess"}
    killed = start(tmp_path, **asked)
    assert killed.stderr is not None
    until(lambda: re.search(r"\b[1-9]\d* of 60 done", killed.stderr.readline()), 300, every_s=0)
    killed.kill()
    killed.communicate()

    assert gsm8k(tmp_path, **asked) == [recorded("6b_verification", 60)]
    tried = [attempt for _sandbox, attempt in attempts(tmp_path)]
    assert len(tried) == 60 and tried.count(1) > 0 and max(tried) <= 2


def test_a_system_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    process = start(tmp_path, SYSTEMS="gpt-1")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "6b_finetuning" in err and out == ""
