"""The SDK's containers: one for each run, with the rollout engine's limits; gone at the end, and those of a killed process with the next batch."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import proctor
from proctor import DockerRuntime, LocalRuntime, Task, Taskset
from proctor.jobs.runtimes import SDK_INSTANCE
from tests.support.server import ROOT, docker, until

pytestmark = pytest.mark.docker


def sums(*numbers: int) -> Taskset:
    """For the sample's image."""
    return Taskset(
        "sums", [Task("gsm8k", "solve", {"question": f"{n} + 1?", "answer": str(n + 1)}, slug=f"s{n}", columns={"says": f"A: {n + 1}"}) for n in numbers]
    )


def containers() -> list[str]:
    return docker("ps", "-aq", "--filter", f"label=proctor.instance={SDK_INSTANCE}")


async def test_each_run_has_a_container_that_is_gone_afterwards(sample_image: str) -> None:
    job = await sums(1, 2).run(proctor.replay(column="says"), runtime=DockerRuntime(sample_image), report=False)
    assert (job.state, job.reward) == ("completed", 1.0), [run.error for run in job.runs]
    assert containers() == []


async def test_a_tasks_own_image_needs_no_place(sample_image: str) -> None:
    taskset = Taskset("own", [task.replace(runtime_config={"image": sample_image}) for task in sums(1)])
    assert (await taskset.run(proctor.replay(column="says"), report=False)).reward == 1.0


async def test_an_image_that_is_not_there_fails_the_run_alone(sample_image: str) -> None:
    taskset = Taskset("two", [*sums(1), Task("gsm8k", "solve", slug="gone", runtime_config={"image": "proctor-nowhere:1"})])
    job = await taskset.run(proctor.replay(column="says"), runtime=DockerRuntime(sample_image), report=False)
    assert [(run.counted, run.failure_class) for run in job.runs] == [("graded", None), ("failed", "image_missing")]


async def test_a_cancelled_batch_leaves_no_container(sample_image: str) -> None:
    begun = asyncio.Event()

    async def agent(context: proctor.AgentContext) -> str:
        begun.set()
        await asyncio.sleep(60)
        return ""

    running = asyncio.create_task(sums(1, 2).run(agent, runtime=DockerRuntime(sample_image), report=False))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert containers() == []


async def test_what_a_killed_process_left_goes_with_the_next_batch(sample_image: str, tmp_path: Path) -> None:
    sums(1).to_file(tmp_path / "tasks.jsonl")
    program = (
        "import sys, time, proctor\n"
        "def agent(context):\n    open('begun', 'w').close()\n    time.sleep(60)\n"
        "proctor.Taskset.from_file('tasks.jsonl').run_sync(agent, runtime=proctor.DockerRuntime(sys.argv[1]), report=False)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, sample_image], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT / "platform")})
    until((tmp_path / "begun").exists, 60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(containers()) == 1
    assert (await sums(2).run(proctor.replay(column="says"), runtime=DockerRuntime(sample_image), report=False)).reward == 1.0
    assert containers() == []


async def test_actor_and_verifier_may_be_of_different_kinds(sample_image: str, tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text(
        "from proctor import Environment\nenv = Environment('judge')\n@env.template()\ndef check():\n    frame = yield 'judge'\n    yield frame['score'] / 2\n"
    )
    task = next(iter(sums(1))).replace(verifier=Task("judge", "check"))
    job = await task.run(proctor.replay(column="says"), runtime={"gsm8k": DockerRuntime(sample_image), "judge": LocalRuntime(tmp_path / "env.py")}, report=False)
    assert job.reward == 0.5, job.runs[0].error
