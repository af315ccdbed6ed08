"""The wheel, built and installed into an empty environment by the ordinary client: small, without the server, and it works."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.sdk.conftest import letters
from tests.support.server import ROOT

pytestmark = pytest.mark.peer
MEGABYTE = 1_000_000
SCRIPT = """
import sys
import proctor
taskset = proctor.Taskset.from_file("tasks.jsonl")
job = taskset.run_sync(proctor.replay(column="says"), runtime=proctor.LocalRuntime("env.py"), group=2)
assert (job.state, job.reward, job.counts["graded"]) == ("completed", 1.0, 4), job
for name in proctor.__all__:
    getattr(proctor, name)
print(sorted({"django", "rest_framework", "channels", "aiodocker", "mcp", "pyarrow"} & set(sys.modules)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    return next(folder.glob("proctor-*.whl"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """An environment with the wheel and what it names, nothing else."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "requirements.lock", wheel], check=True)
    return folder


def clean() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


def test_the_wheel_is_small_and_holds_the_sdk_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.stat().st_size < MEGABYTE
    assert {name.partition("/")[0] for name in names} == {"proctor", next(name for name in names if ".dist-info" in name).partition("/")[0]}
    assert "proctor/py.typed" in names and "proctor/samples/gsm8k/tasks.jsonl" in names


def test_the_command_explains_itself(empty: Path) -> None:
    said = subprocess.run([empty / "bin" / "proctor", "--help"], check=True, capture_output=True, text=True, env=clean())
    assert all(word in said.stdout for word in ("login", "taskset", "env", "run", "jobs", "runs", "serve", "task-app"))


def test_the_sdk_runs_without_the_server_and_without_extras(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text((ROOT / "tests" / "support" / "letters_env.py").read_text())
    letters("banana", "kiwi").to_file(tmp_path / "tasks.jsonl")
    said = subprocess.run([empty / "bin" / "python", "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, env=clean(), check=False)
    assert (said.returncode, said.stdout.strip()) == (0, "[]"), said.stderr


def test_a_missing_extra_is_named(empty: Path, tmp_path: Path) -> None:
    letters("banana").to_file(tmp_path / "tasks.jsonl")
    command = [empty / "bin" / "proctor", "run", "tasks.jsonl", "--runtime", "docker:letters", "--agent", "noop"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=clean(), check=False)
    assert said.returncode == 3 and "pip install 'proctor[rollout]'" in said.stderr + said.stdout
