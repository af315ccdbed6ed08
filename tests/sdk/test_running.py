"""`Taskset.run` on this machine: real environments in real processes, through the engine that the server's workers use."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor import AgentContext, LocalRuntime, Task, Taskset
from proctor.environment import Environment
from proctor.errors import StateMismatch
from proctor.jobs import Job, Run
from tests.sdk.conftest import LETTERS, letters
from tests.support.letters_env import env as live_env


async def test_an_environment_file_is_served_by_a_process_for_each_run() -> None:
    job = await letters("banana", "kiwi").run(proctor.replay(column="says"), runtime=LocalRuntime(LETTERS))
    assert (job.state, job.reward) == ("completed", 1.0)
    assert [(run.slug, run.reward, run.answer) for run in job.runs] == [("banana", 1.0, "3"), ("kiwi", 1.0, "0")]
    assert job.runs[0].evaluation == {"score": 1.0, "done": True, "content": "counted", "info": {"expected": 3}}


async def test_a_live_environment_is_served_in_this_process() -> None:
    job = await letters("banana").run(proctor.replay(answers={"banana": "2"}), runtime=LocalRuntime(live_env))
    assert (job.state, job.reward) == ("completed", 0.0)


async def test_a_function_is_an_agent() -> None:
    async def agent(context: AgentContext) -> str:
        assert context.prompt == "How many 'a's are in 'banana'?"
        context.count_tokens(prompt=7, completion=2, cost_usd=0.5)
        await context.record("thinking")
        return "3"

    job = await letters("banana").run(agent, runtime=LocalRuntime(live_env))
    run = job.runs[0]
    assert (run.reward, run.prompt_tokens, run.completion_tokens, run.cost_usd) == (1.0, 7, 2, 0.5)


async def test_a_plain_function_is_an_agent_too() -> None:
    job = await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env))
    assert job.reward == 1.0


async def test_what_an_agent_raises_or_returns_wrongly_is_its_failure() -> None:
    def agent(context: AgentContext) -> Any:
        if context.slug == "banana":
            raise RuntimeError("no idea")
        return 3

    job = await letters("banana", "kiwi").run(agent, runtime=LocalRuntime(live_env))
    assert [(run.failure_class, run.blame, run.error) for run in job.runs] == [
        ("agent", "agent", "The agent raised RuntimeError: no idea"), ("agent", "agent", "The agent returned a int, not a text."),
    ]  # fmt: skip
    assert (job.state, job.reward) == ("completed_with_errors", None)


async def test_the_environment_sees_no_key_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env.py").write_text(
        "import os\nfrom proctor.environment import Environment\nenv = Environment('peek')\n"
        "@env.template()\ndef look():\n    yield 'go'\n"
        "    yield {'score': 1.0, 'info': {name: os.environ.get(name) for name in ('PROCTOR_API_KEY', 'HUD_API_KEY', 'OTHER', 'MORE')}}\n"
    )
    monkeypatch.setenv("PROCTOR_API_KEY", "pk_secret")
    monkeypatch.setenv("HUD_API_KEY", "pk_secret")
    monkeypatch.setenv("OTHER", "seen")
    job = await Task("peek", "look").run(proctor.noop(), runtime=LocalRuntime(tmp_path / "env.py", env_vars={"MORE": "given"}), report=False)
    assert job.runs[0].evaluation == {"score": 1.0, "info": {"PROCTOR_API_KEY": None, "HUD_API_KEY": None, "OTHER": "seen", "MORE": "given"}}


async def test_tasks_of_python_code_run_where_it_declares_them(tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text(LETTERS.read_text())
    (tmp_path / "tasks.py").write_text("from env import count\nall = [count(word='banana', letter='a')]\n")
    job = await Taskset.from_file(tmp_path / "tasks.py").run(lambda context: "3")
    assert job.reward == 1.0


async def test_a_verifier_in_another_place_gives_the_grade() -> None:
    judge = Environment("judge")

    @judge.template()
    def check() -> Any:
        answer = yield "judge this"
        yield {"score": 0.25, "info": {"seen": answer}}

    task = Task("letters", "count", {"word": "banana", "letter": "a"}, verifier=Task("judge", "check"))
    job = await task.run(lambda context: "3", runtime={"letters": LocalRuntime(LETTERS), "judge": LocalRuntime(judge)})
    assert job.reward == 0.25
    assert job.runs[0].evaluation["info"]["seen"]["content"] == "counted"


async def test_a_served_environment_is_used_where_it_is() -> None:
    from proctor.environment.server import Server

    async with Server(live_env) as server:
        job = await letters("banana").run(lambda context: "3", runtime=proctor.Runtime(f"tcp://127.0.0.1:{server.port}"))
    assert job.reward == 1.0


async def test_a_timeout_ends_a_run_alone() -> None:
    async def agent(context: AgentContext) -> str:
        if context.slug == "kiwi":
            await asyncio.sleep(60)
        return "3"

    job = await letters("banana", "kiwi").run(agent, runtime=LocalRuntime(live_env), rollout_timeout=1.0)
    assert [(run.slug, run.stop_reason) for run in job.runs] == [("banana", "done"), ("kiwi", "timeout")]


async def test_steps_are_written_where_asked(tmp_path: Path) -> None:
    job = await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), traces=tmp_path / "traces")
    lines = (tmp_path / "traces" / f"{job.runs[0].id}.jsonl").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["step.task", "step.user", "step.agent", "step.task"]


async def test_several_calls_may_share_a_job() -> None:
    job = Job.start("training", group=2)
    for word in ("banana", "kiwi"):
        assert await letters(word).run(lambda context: "3", runtime=LocalRuntime(live_env), job=job) is job
    assert [(run.slug, run.job_id) for run in job.runs] == [("banana", job.id)] * 2 + [("kiwi", job.id)] * 2


async def test_changes_are_told_as_they_come() -> None:
    seen: list[tuple[str, str]] = []
    await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), on_change=lambda run: seen.append((run.slug, run.state)))
    assert [state for _slug, state in seen] == ["starting", "setup", "running", "grading", "completed"]


async def _interrupted(taskset: Taskset, state: Path) -> list[Run]:
    """Cancelled while `kiwi` is with the agent; `banana` is done."""
    waiting = asyncio.Event()
    seen: dict[str, Run] = {}

    async def agent(context: AgentContext) -> str:
        if context.slug == "kiwi":
            waiting.set()
            await asyncio.sleep(60)
        return "3"

    running = asyncio.create_task(taskset.run(agent, runtime=LocalRuntime(live_env), state=state, max_concurrent=1, on_change=lambda run: seen.update({run.slug: run})))
    await waiting.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return list(seen.values())


async def test_an_interrupted_batch_goes_on_where_it_stopped(tmp_path: Path) -> None:
    taskset, state = letters("banana", "kiwi", "papaya"), tmp_path / "state.jsonl"
    first = await _interrupted(taskset, state)
    assert [(run.slug, run.counted) for run in first] == [("banana", "graded"), ("kiwi", "cancelled")]
    asked: list[str] = []

    async def agent(context: AgentContext) -> str:
        asked.append(context.slug)
        return "3"

    job = await taskset.run(agent, runtime=LocalRuntime(live_env), state=state)
    assert sorted(asked) == ["kiwi", "papaya"]
    assert [(run.slug, run.counted, run.recalled) for run in job.runs] == [("banana", "graded", True), ("kiwi", "graded", False), ("papaya", "graded", False)]
    assert (job.id, job.runs[0].id) == (first[0].job_id, first[0].id)
    assert job.runs[1].id != first[1].id
    again = await taskset.run(agent, runtime=LocalRuntime(live_env), state=state)
    assert len(asked) == 2 and [run.id for run in again.runs] == [run.id for run in job.runs]


async def test_a_state_file_with_its_end_torn_off_still_serves(tmp_path: Path) -> None:
    taskset, state = letters("banana", "kiwi"), tmp_path / "state.jsonl"
    await taskset.run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)
    text = state.read_bytes()
    state.write_bytes(text[:-20])
    job = await taskset.run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)
    assert [run.recalled for run in job.runs].count(True) == 1 and job.state == "completed"
    assert all(json.loads(line) for line in state.read_text().splitlines() if line.endswith("}"))


async def test_a_state_file_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    from proctor.jobs.state import StateFile

    state = tmp_path / "state.jsonl"
    held = StateFile(state, list(letters("banana")), 1, "own:<lambda>")
    with pytest.raises(StateMismatch, match="in use"):
        await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)
    held.close()
    assert (await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)).reward == 1.0


async def test_a_hook_that_fails_fails_the_runs(tmp_path: Path) -> None:
    env = Environment("letters")

    @env.initialize
    def broken() -> None:
        raise RuntimeError("no disk")

    job = await letters("banana", "kiwi").run(lambda context: "3", runtime=LocalRuntime(env))
    assert [(run.failure_class, run.blame) for run in job.runs] == [("environment_start", "environment")] * 2
    assert "no disk" in (job.runs[0].error or "")


async def test_a_state_file_of_another_batch_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)
    with pytest.raises(StateMismatch, match="tasks differ"):
        await letters("kiwi").run(lambda context: "3", runtime=LocalRuntime(live_env), state=state)
    with pytest.raises(StateMismatch, match="group differ"):
        await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env), state=state, group=2)


async def test_a_server_that_is_not_there_costs_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.jobs.server_reports.PAUSES_S", ())
    monkeypatch.setenv("PROCTOR_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PROCTOR_API_KEY", "pk_nobody")
    job = await letters("banana").run(lambda context: "3", runtime=LocalRuntime(live_env))
    assert (job.reward, job.url) == (1.0, None)


def test_outside_an_event_loop_there_is_a_plain_call() -> None:
    assert letters("banana").run_sync(lambda context: "3", runtime=LocalRuntime(LETTERS)).reward == 1.0


def test_a_model_without_an_endpoint_is_said_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="no model endpoint"):
        letters("banana").run_sync(proctor.openai_compatible("gpt-5"), runtime=LocalRuntime(LETTERS))
    with pytest.raises(TypeError, match="an agent is"):
        letters("banana").run_sync("gpt-5", runtime=LocalRuntime(LETTERS))
