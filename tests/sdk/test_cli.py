"""The command line on its own: results on stdout, notes on stderr, exit codes; no server. With one: test_against_server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.cli import environments
from proctor.client.request import Call
from proctor.deploy import context_members, write_context
from proctor.errors import BadFile
from tests.sdk.conftest import LETTERS, Cli, letters
from tests.support.server import ROOT, until

RUN = ("run", "tasks.jsonl", "--runtime", str(LETTERS))


def in_folder(*words: str) -> None:
    """In the folder that `cli` works in."""
    letters(*words).to_file("tasks.jsonl")


def test_a_run_answers_with_json_and_code_0(cli: Cli) -> None:
    in_folder("banana", "kiwi")
    said = cli(*RUN, "--agent", "replay:says", "--group", "2", "--json", "--fail-under", "1")
    job = json.loads(said.out)
    assert (said.code, job["state"], job["reward"], job["counts"]["graded"]) == (0, "completed", 1.0, 4)
    assert [(run["slug"], run["repeat"], run["reward"]) for run in job["runs"]] == [("banana", 0, 1.0), ("banana", 1, 1.0), ("kiwi", 0, 1.0), ("kiwi", 1, 1.0)]
    assert "2 tasks × 2 = 4 runs" in said.err and not list(Path(".proctor").glob("*"))


def test_a_mean_below_the_bar_is_code_4(cli: Cli) -> None:
    in_folder("banana")
    assert cli(*RUN, "--agent", "noop", "--fail-under", "0.5").code == 4


def test_runs_without_a_grade_are_code_3(cli: Cli) -> None:
    in_folder("banana")
    Path("agent.py").write_text("def broken(context):\n    raise RuntimeError('no idea')\n")
    said = cli(*RUN, "--agent", "agent.py:broken")
    assert said.code == 3 and "no idea" in said.out
    assert cli(*RUN, "--agent", "agent.py:broken", "--allow-errors").code == 0


def test_what_others_wrote_does_not_steer_the_terminal(cli: Cli) -> None:
    in_folder("banana")
    Path("agent.py").write_text("def hostile(context):\n    raise RuntimeError('\\x1b]0;owned\\x07\\x9b2J')\n")
    said = cli(*RUN, "--agent", "agent.py:hostile")
    assert "owned" in said.out and not set("\x1b\x07\x9b") & set(said.out + said.err)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent", "noop", "--model", "m"), "name one"), ((), "name one"), (("--agent", "nope"), "must be noop"),
        (("--model", "gpt-5"), "no model endpoint"), (("--agent", "noop", "--timeout", "0"), "more than 0"),
        (("--agent", "noop", "--config", "a=1"), "--model"), (("--agent", "noop", "--runtime", "letters=tunnel"), "ENV="),
    ],
)  # fmt: skip
def test_wrong_usage_is_code_2(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    in_folder("banana")
    answer = cli(*RUN, *arguments)
    assert answer.code == 2 and said in answer.err and "Traceback" not in answer.err


def test_a_place_that_is_none_is_wrong_usage(cli: Cli) -> None:
    in_folder("banana")
    said = cli("run", "tasks.jsonl", "--agent", "noop", "--runtime", "nowhere")
    assert said.code == 2 and "is no file" in said.err


def test_what_fails_is_a_sentence_and_code_1(cli: Cli) -> None:
    in_folder("banana")
    for arguments, sentence in [
        (("run", "tasks.jsonl", "--agent", "noop"), "No place to run: letters."),
        ((*RUN, "--agent", "noop", "--only", "banan"), "did you mean 'banana'?"),
        (("taskset", "list"), "proctor login"),
        (("run", "none.jsonl", "--agent", "noop"), "No such file"),
    ]:
        said = cli(*arguments)
        assert said.code == 1 and sentence in said.err and "Traceback" not in said.err


def test_a_dry_run_shows_where_everything_would_run(cli: Cli) -> None:
    in_folder("banana", "kiwi")
    plan = json.loads(cli(*RUN, "--agent", "noop", "--dry-run", "--json").out)
    assert plan == {"taskset": "tasks", "tasks": 2, "group": 1, "runs": 2, "environments": [{"env": "letters", "tasks": 2, "where": f"a process of {LETTERS}"}]}


def test_a_difference_is_shown_and_code_5_when_asked(cli: Cli) -> None:
    letters("banana", "kiwi").to_file("a.jsonl")
    letters("kiwi", "papaya").to_file("b.csv")
    said = cli("taskset", "diff", "a.jsonl", "b.csv", "--exit-code")
    assert (said.code, said.out.splitlines()) == (5, ["+ papaya", "- banana"])
    assert cli("taskset", "diff", "a.jsonl", "a.jsonl", "--exit-code").code == 0
    assert json.loads(cli("taskset", "diff", "a.jsonl", "b.csv", "--json").out)["unchanged"] == 1


def test_ctrl_c_cleans_up_and_says_how_to_go_on(tmp_path: Path) -> None:
    letters("banana", "kiwi").to_file(tmp_path / "tasks.jsonl")
    (tmp_path / "agent.py").write_text(
        "import asyncio\nasync def slow(context):\n    if context.slug == 'kiwi':\n        open('waiting', 'w').close()\n        await asyncio.sleep(60)\n    return '3'\n"
    )
    command = [sys.executable, "-m", "proctor", *RUN, "--agent", "agent.py:slow", "--max-concurrent", "1"]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    process = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until((tmp_path / "waiting").exists, 30)
    children = _children(process.pid)
    assert children
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in err
    state = next((tmp_path / ".proctor").iterdir()).relative_to(tmp_path)
    assert f"--state {state}" in err
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in children), 10)
    (tmp_path / "agent.py").write_text("def slow(context):\n    assert context.slug == 'kiwi'\n    return '0'\n")
    again = subprocess.run([*command, "--state", str(state), "--json"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
    assert [run["reward"] for run in json.loads(again.stdout)["runs"]] == [1.0, 1.0]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_version_is_shown(cli: Cli) -> None:
    assert cli("--version").out.startswith("proctor ")


def test_every_command_can_be_completed_and_explained(cli: Cli) -> None:
    for command in ((), ("run",), ("taskset", "push"), ("env", "deploy"), ("jobs", "show"), ("runs", "export"), ("task-app",), ("serve",)):
        said = cli(*command, "--help")
        assert said.code == 0 and "Usage:" in said.out


def test_completion_scripts_are_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "_PROCTOR_COMPLETE" in cli("--show-completion", "bash").out


def context_of(folder: Path, tmp_path: Path) -> dict[str, bytes]:
    with (tmp_path / "context.tgz").open("wb") as file:
        write_context(context_members(folder), file)
    with tarfile.open(tmp_path / "context.tgz") as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]


def test_a_folder_is_sent_with_what_serves_it_and_without_secrets(tmp_path: Path) -> None:
    folder = tmp_path / "letters"
    (folder / "data" / "deep").mkdir(parents=True)
    for name in ("env.py", ".env", "prod.env", "data/words.txt", "data/deep/notes.log", "keep.log", "requirements.txt"):
        (folder / name).write_text(name)
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "pyvenv.cfg").touch()
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / ".dockerignore").write_text("# logs\n**/*.log\n!keep.log\n")
    found = context_of(folder, tmp_path)
    assert {name for name in found if name.startswith("app/")} == {"app/env.py", "app/data/words.txt", "app/keep.log", "app/requirements.txt", "app/.dockerignore"}
    assert b"FROM python:3.11-slim" in found["Dockerfile"] and b"pip install" in found["Dockerfile"] and "environment/server.py" in found


def test_the_same_folder_is_the_same_archive(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "Dockerfile").write_text("FROM x\n")
    first = context_of(tmp_path / "f", tmp_path), (tmp_path / "context.tgz").read_bytes()
    os.utime(tmp_path / "f" / "Dockerfile", (time.time() - 1000, 0))
    assert (context_of(tmp_path / "f", tmp_path), (tmp_path / "context.tgz").read_bytes()) == first
    assert first[0] == {"Dockerfile": b"FROM x\n"}


def test_a_folder_that_leads_out_of_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "env.py").symlink_to("/etc/passwd")
    with pytest.raises(BadFile, match="leads out"):
        context_members(tmp_path / "f")
    (tmp_path / "g").mkdir()
    with pytest.raises(BadFile, match="neither a Dockerfile"):
        context_members(tmp_path / "g")


@pytest.mark.parametrize("status", ["ready", "failed", "cancelled"])
def test_following_a_build_ends_with_the_build(status: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Answers:
        def __init__(self) -> None:
            self.versions = [SimpleNamespace(status="building", error=None), SimpleNamespace(status=status, error=None)]

        def send(self, call: Call[Any]) -> Any:
            return b"Step 1/1\n" if call.path.endswith("/log") else self.versions.pop(0)

    assert environments._follow(Answers(), "letters", 1).status == status  # type: ignore[arg-type]
    assert capsys.readouterr().err == "Step 1/1\n"
