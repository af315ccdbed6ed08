"""HUD's recent Taskset and our counterpart, row by row (docs/reference/compatibility.md, C3): each test is named after its row.

What needs the whole product is in test_table_c3_server.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import signal
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor import AgentContext, LocalRuntime, Task, Taskset
from proctor.errors import BadFile, BadTask, DuplicateSlugs, EmptyTaskset, NoPlacement, UnknownSlugs
from proctor.jobs.job import job_name
from tests.sdk.conftest import LETTERS, letters
from tests.support.letters_env import env as live_env
from tests.support.server import ROOT, until


def right(context: AgentContext) -> str:
    """The answer for banana."""
    return "3"


async def test_job_name() -> None:
    assert job_name("words", list(letters("banana")), 3) == "count (3 times)"
    assert job_name("words", list(letters("a", "b", "c", "d")), 1) == "words (4 tasks)"
    job = await letters("banana").run(right, runtime=LocalRuntime(live_env), name="mine")
    assert job.name == "mine"


def test_init_and_index_by_slug() -> None:
    tasks = [Task("e", "i", slug=slug) for slug in ("b", "a", "b", "c", "a", "a")]
    with pytest.raises(DuplicateSlugs) as raised:
        Taskset("t", tasks)
    assert raised.value.places == {"b": [0, 2], "a": [1, 4, 5]}
    assert "'b' (rows 0, 2)" in str(raised.value) and "'a' (rows 1, 4, 5)" in str(raised.value)
    assert [task.slug for task in Taskset("t", [tasks[0], tasks[1], tasks[3]])] == ["b", "a", "c"]


def test_from_file_and_load_tasks_json(tmp_path: Path) -> None:
    row = '{"slug":"a","env":"e","id":"i","args":{"n":1.50}}'
    (tmp_path / "one.json").write_text(row)
    (tmp_path / "list.json").write_bytes(b"\xef\xbb\xbf[" + row.encode() + b"]")
    (tmp_path / "lines.jsonl").write_bytes(b"\xef\xbb\xbf" + row.encode() + b"\n\n")
    loaded = [list(Taskset.from_file(tmp_path / name)) for name in ("one.json", "list.json", "lines.jsonl")]
    assert loaded[0] == loaded[1] == loaded[2] and loaded[0][0].to_json().decode() == row
    (tmp_path / "bad.jsonl").write_text(f"{row}\n{row.replace('a', 'b', 1)}\n{{broken\n")
    with pytest.raises(BadFile, match="line 3"):
        Taskset.from_file(tmp_path / "bad.jsonl")


def test_from_module_and_scan_tasks(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("from proctor import Task\nzebra = Task('e', 'z')\napple = Task('e', 'a')\nALL = [apple, zebra, Task('e', 'm')]\n_x = Task('e', 'x')\n")
    assert [task.id for task in Taskset.from_module(tmp_path / "tasks.py")] == ["z", "a", "m"]
    module = types.ModuleType("tasks")
    module.a = Task("e", "i")  # type: ignore[attr-defined]
    module.ALL = [module.a]  # type: ignore[attr-defined]
    assert len(Taskset.from_module(module)) == 1


def test_to_file(tmp_path: Path) -> None:
    with pytest.raises(BadTask, match=r"args\.when: a datetime is no JSON"):
        Task("e", "i", {"when": datetime.datetime.now()})
    path = Taskset("t", [Task("e", "old")]).to_file(tmp_path / "tasks.jsonl")
    before = path.read_bytes()
    program = (
        "import pathlib, sys, time\nfrom proctor.tasks.writing import replace_file\n"
        "def slow():\n    yield b'half of a li'\n    pathlib.Path(sys.argv[2]).touch()\n    time.sleep(60)\n"
        "replace_file(pathlib.Path(sys.argv[1]), slow())\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, path, tmp_path / "begun"], env={**os.environ, "PYTHONPATH": str(ROOT / "platform")})
    until((tmp_path / "begun").exists, 20)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert path.read_bytes() == before


def test_len_iter_getitem_items() -> None:
    taskset = letters("banana", "kiwi")
    assert (len(taskset), [task.slug for task in taskset], taskset["kiwi"].args["word"]) == (2, ["banana", "kiwi"], "kiwi")
    assert list(taskset.items()) == [(task.slug, task) for task in taskset]


def test_filter_and_exclude() -> None:
    taskset = letters("banana", "kiwi", "papaya")
    with pytest.raises(UnknownSlugs, match="'banan' \\(did you mean 'banana'\\?\\); 'zzz'") as raised:
        taskset.filter(["kiwi", "banan", "zzz"])
    assert raised.value.close == {"banan": ["banana"], "zzz": []}
    with pytest.raises(UnknownSlugs):
        taskset.exclude(["nope"])
    assert [task.slug for task in taskset.filter(["papaya", "kiwi", "nope"], missing_ok=True)] == ["kiwi", "papaya"]
    assert [task.slug for task in taskset.exclude(["banana", "nope"], missing_ok=True)] == ["kiwi", "papaya"]


def test_environment_names() -> None:
    taskset = Taskset("t", [Task("a", "i"), Task("b", "i", slug="b", verifier=Task("judge", "check"))])
    assert taskset.environment_names() == {"a", "b", "judge"}


def test_resolve_placement() -> None:
    taskset = Taskset("t", [*letters("banana"), Task("maths", "solve"), Task("physics", "solve", slug="p"), Task("boxed", "run", runtime_config={"image": "boxed:1"})])
    with pytest.raises(NoPlacement) as raised:
        taskset.plan()
    assert raised.value.environments == ["letters", "maths", "physics"]
    with pytest.raises(NoPlacement, match=r"maths: .*letters_env.py declares letters, not 'maths'"):
        taskset.plan(LocalRuntime(LETTERS))
    plan = taskset.plan({"letters": LocalRuntime(LETTERS), "maths": proctor.Runtime("tcp://127.0.0.1:1"), "physics": proctor.DockerRuntime("physics:2"), "boxed": proctor.DockerRuntime()}, group=2)
    assert [(one.env, one.tasks, one.where) for one in plan.placed] == [
        ("letters", 1, f"a process of {LETTERS}"), ("maths", 1, "served at 127.0.0.1:1"), ("physics", 1, "a container of physics:2"),
        ("boxed", 1, "a container of the image that the task names"),
    ]  # fmt: skip
    assert plan.runs == 8


async def test_the_plan_is_told_before_anything_runs() -> None:
    told: list[str] = []
    await letters("banana").run(right, runtime=LocalRuntime(live_env), on_plan=lambda plan: told.append(str(plan)), on_change=lambda run: told.append(run.state))
    assert told[0] == "letters: 1 task × 1 = 1 run\n  letters: this process (1 task)" and told[1] == "starting"


async def test_run_expansion_and_group_id() -> None:
    job = await letters("banana", "kiwi", "papaya").run(right, runtime=LocalRuntime(live_env), group=2)
    assert [(run.slug, run.repeat, run.index) for run in job.runs] == [
        ("banana", 0, 0), ("banana", 1, 1), ("kiwi", 0, 2), ("kiwi", 1, 3), ("papaya", 0, 4), ("papaya", 1, 5),
    ]  # fmt: skip
    groups = [run.group_id for run in job.runs]
    assert groups[0::2] == groups[1::2] and len(set(groups)) == 3
    assert {slug: len(runs) for slug, runs in job.results.items()} == {"banana": 2, "kiwi": 2, "papaya": 2}


@pytest.mark.parametrize("wrong", [{"group": 0}, {"group": -1}, {"max_concurrent": 0}, {"rollout_timeout": 0}, {"rollout_timeout": float("nan")}])
async def test_run_group_and_max_concurrent_checks(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        await letters("banana").run(right, runtime=LocalRuntime(live_env), **wrong)


@pytest.mark.parametrize("cap", ["job", "place"])
async def test_run_concurrency_and_timeout(cap: str) -> None:
    now = Counter[str]()

    async def agent(context: AgentContext) -> str:
        now["in"] += 1
        now["peak"] = max(now["peak"], now["in"])
        await asyncio.sleep(0.02)
        now["in"] -= 1
        return "3"

    runtime = LocalRuntime(live_env, max_concurrent=3 if cap == "place" else 20)
    job = await letters(*(f"word{number}" for number in range(20))).run(agent, runtime=runtime, max_concurrent=3 if cap == "job" else None)
    assert (now["peak"], job.counts["graded"]) == (3, 20)


async def test_run_gather_job_enter_and_flush() -> None:
    def agent(context: AgentContext) -> str:
        if context.slug == "kiwi":
            raise RuntimeError("no idea")
        return "3"

    job = await letters("banana", "kiwi", "papaya", "mango", "guava").run(agent, runtime=LocalRuntime(live_env))
    assert (job.state, job.counts) == ("completed_with_errors", {"expected": 5, "graded": 4, "failed": 1, "cancelled": 0, "pending": 0})
    assert [run.slug for run in job.errors] == ["kiwi"] and job.reward == 0.5
    with pytest.raises(EmptyTaskset, match="has no tasks"):
        await Taskset("empty").run(right, runtime=LocalRuntime(live_env))


async def test_a_cancelled_job_is_never_left_running() -> None:
    begun = asyncio.Event()
    job = proctor.Job.start("long")

    async def agent(context: AgentContext) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "3"

    running = asyncio.create_task(letters("banana", "kiwi").run(agent, runtime=LocalRuntime(live_env), job=job, max_concurrent=1))
    await begun.wait()
    assert job.state == "running"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (job.state, job.counts["cancelled"], job.counts["pending"]) == ("cancelled", 2, 0)
