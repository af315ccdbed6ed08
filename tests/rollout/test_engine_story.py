"""The story of a rollout against the fake: what is reported, what is graded, who is blamed, what is left behind."""

from __future__ import annotations

import asyncio
import json

import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.fake import FakeEngine, FakeScript, Refuse
from proctor.rollout.plan import Deadlines, SandboxSpec, outcome_of
from tests.support.rollouts import Collected, make_plan

REPLAY = {"agent_type": "replay", "agent_config": {"answers": {"count-1": "3"}}}


def refuse(code: int, message: str):
    def reply(params):
        raise Refuse(code, message)

    return reply


async def run(script: FakeScript | None = None, **changes):
    engine, report = FakeEngine(script), Collected()
    outcome = await run_rollout(make_plan(**changes), report, engine=engine)
    assert engine.tally.started == engine.tally.removed
    return outcome, report, engine


async def test_a_right_answer_is_graded_and_every_chapter_is_reported_in_order():
    outcome, report, engine = await run(**REPLAY)
    assert (outcome.status, outcome.failure, outcome.stop_reason, outcome.answer) == ("completed", None, "done", "3")
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    assert report.phases == ["starting", "setup", "running", "grading"]
    assert [span["name"] for span in report.spans] == ["step.task", "step.user", "step.agent", "step.task"]
    assert engine.tally.methods() == ["hello", "tasks.start", "tasks.grade"]
    assert engine.tally.calls[1][1] == {"id": "count", "args": {"word": "banana"}}
    assert engine.tally.calls[2][1] == {"answer": "3"}
    assert report.facts == {"container_id": "fake-1", "image_id": "sha256:fake"}
    assert outcome.log_tail == b"fake environment\n"


async def test_steps_carry_the_hud_envelope_and_count_from_one():
    plan = make_plan(**REPLAY)
    report = Collected()
    await run_rollout(plan, report, engine=FakeEngine())
    assert [span["attributes"]["hud.payload"]["step_id"] for span in report.spans] == [1, 2, 3, 4]
    for span in report.spans:
        assert span["trace_id"] == plan.run_id.replace("-", "")
        assert span["attributes"]["hud.task_run_id"] == plan.run_id
        assert span["attributes"]["hud.schema"] == "hud.step.v1"
        assert len(span["span_id"]) == 16 and span["kind"] == "INTERNAL" and span["status_code"] == "OK"
    setup, evaluate = (step["task_call"] for step in report.payloads("task"))
    assert (setup["phase"], setup["arguments"], setup["result"]) == ("setup", {"word": "banana"}, {"prompt": "Task count"})
    assert (evaluate["phase"], evaluate["arguments"]) == ("evaluate", {"answer": "3"})
    assert report.payloads("user")[0]["messages"] == [{"role": "user", "content": {"type": "text", "text": "Task count"}}]


async def test_digits_of_arguments_and_of_the_grade_survive_to_the_last():
    frame = '{"score": 0.50, "info": {"seed": 123456789012345678901234567890, "p": 1.10}}'
    args = '{"n": 9007199254740993, "x": 0.10}'
    outcome, report, _ = await run(FakeScript(grade=lambda _: frame), args_text=args)
    assert outcome.evaluation_text == frame
    assert args in report.texts[0] and frame in report.texts[-1]


async def test_a_prompt_of_several_turns_becomes_one_message_a_block():
    turns = [{"role": "system", "content": "Be brief."}, {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}, "Go."]
    _, report, _ = await run(FakeScript(start=lambda _: {"prompt": turns}))
    messages = report.payloads("user")[0]["messages"]
    assert [(m["role"], m["content"]["text"]) for m in messages] == [("user", "Be brief."), ("assistant", "Yes."), ("user", "Go.")]


@pytest.mark.parametrize(
    ("script", "failure_class", "blame", "words"),
    [
        (FakeScript(fail_start=RolloutFailed("image_missing", "no such image")), "image_missing", "environment", "no such image"),
        (FakeScript(hello=refuse(-32000, "not today")), "environment_start", "environment", "not today"),
        (FakeScript(hello=lambda _: {"hi": 1}), "environment_protocol", "environment", "hello"),
        (FakeScript(garbage=frozenset({"hello"})), "environment_protocol", "environment", "this is not a reply"),
        (FakeScript(refuse_connects=999, exit_state=(3, False)), "environment_exit", "environment", "exit code 3"),
        (FakeScript(refuse_connects=999, exit_state=(137, True)), "environment_exit", "environment", "memory"),
        (FakeScript(start=refuse(-32602, "unknown task: 'count'")), "setup", "task", "unknown task"),
        (FakeScript(start=refuse(-32000, "boom in setup")), "setup", "environment", "boom in setup"),
        (FakeScript(start=lambda _: "[1]"), "environment_protocol", "environment", "object"),
        (FakeScript(hang_up=frozenset({"tasks.start"}), exit_state=(9, False)), "environment_exit", "environment", "exit code 9"),
        (FakeScript(hang_up=frozenset({"tasks.grade"})), "environment_lost", "environment", "closed the control connection"),
        (FakeScript(garbage=frozenset({"tasks.grade"})), "environment_protocol", "environment", "this is not a reply"),
        (FakeScript(grade=refuse(-32000, "boom in grading")), "grading", "grader", "boom in grading"),
        (FakeScript(grade=lambda _: '{"score": NaN}'), "grading", "grader", "NaN"),
        (FakeScript(grade=lambda _: {"done": True}), "grading", "grader", "no numeric score"),
        (FakeScript(grade=lambda _: {"score": True}), "grading", "grader", "no numeric score"),
        (FakeScript(grade=lambda _: {"score": "1"}), "grading", "grader", "no numeric score"),
        (FakeScript(grade=lambda _: '{"score": 1e999}'), "grading", "grader", "score"),
        (FakeScript(grade=lambda _: {"score": 1.0, "isError": True, "content": "judge down"}), "grading", "grader", "judge down"),
    ],
)
async def test_a_failure_is_an_outcome_with_a_class_a_blame_and_words(script, failure_class, blame, words):
    outcome, report, _ = await run(script, **REPLAY)
    assert outcome.status == "error"
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, blame)
    assert words in outcome.failure.message
    assert words in report.payloads("system")[-1]["error"]


async def test_an_environment_that_ends_says_its_exit_code_and_its_last_words():
    script = FakeScript(hang_up=frozenset({"tasks.start"}), exit_state=(137, True), output=b"Traceback: out of beans\n")
    outcome, _, _ = await run(script)
    assert (outcome.exit_code, outcome.oom_killed, outcome.log_tail) == (137, True, b"Traceback: out of beans\n")
    assert "out of beans" in outcome.failure.message


async def test_an_environment_that_accepts_before_it_serves_is_waited_for():
    outcome, _, engine = await run(FakeScript(refuse_connects=4), **REPLAY)
    assert outcome.status == "completed" and engine.tally.methods().count("hello") == 1


@pytest.mark.parametrize(
    ("method", "deadlines", "failure_class", "blame", "words"),
    [
        ("hello", Deadlines(startup_s=0.1), "environment_start", "environment", "did not serve within 0.1 s"),
        ("tasks.start", Deadlines(setup_s=0.1), "setup", "environment", "not set up within 0.1 s"),
        ("tasks.grade", Deadlines(grading_s=0.1), "grading", "grader", "not graded within 0.1 s"),
        ("tasks.grade", Deadlines(rollout_s=0.3), "timeout", "grader", "ran out while grading"),
    ],
)
async def test_each_deadline_ends_in_a_failure_that_names_it(method, deadlines, failure_class, blame, words):
    outcome, _, _ = await run(FakeScript(silent=frozenset({method})), deadlines=deadlines)
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, blame)
    assert words in outcome.failure.message


async def test_a_sandbox_engine_that_starts_nothing_in_time_is_the_platforms_fault():
    class Stuck(FakeEngine):
        async def start(self, spec, labels):
            await asyncio.Event().wait()

    outcome = await run_rollout(make_plan(deadlines=Deadlines(startup_s=0.05)), Collected(), engine=Stuck())
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("platform", "platform")


async def test_a_task_that_was_set_up_and_then_fails_is_cancelled_in_the_environment():
    _, _, engine = await run(agent_type="replay", agent_config={"answers": {}})
    assert engine.tally.methods() == ["hello", "tasks.start", "tasks.cancel"]


async def test_a_missing_recorded_answer_is_the_agents_failure():
    outcome, _, _ = await run(agent_type="replay", agent_config={"answers": {"other": "1"}})
    assert (outcome.failure.failure_class, outcome.failure.blame, outcome.evaluation_text) == ("agent", "agent", None)


async def test_an_environment_that_dies_while_the_agent_works_ends_the_rollout_at_once(monkeypatch):
    class Sleeper:
        async def run(self, agent_run):
            await agent_run.session.cancel(0.5)
            await asyncio.Event().wait()

    monkeypatch.setattr("proctor.rollout.engine.make_agent", lambda *_: Sleeper())
    outcome, _, _ = await run(FakeScript(hang_up=frozenset({"tasks.cancel"}), exit_state=(1, False)))
    assert outcome.failure.failure_class == "environment_exit"


async def test_an_agent_out_of_time_is_still_graded_on_the_answer_it_had(monkeypatch):
    class SlowAfterAnswer:
        async def run(self, agent_run):
            agent_run.answer = "3"
            await asyncio.Event().wait()

    monkeypatch.setattr("proctor.rollout.engine.make_agent", lambda *_: SlowAfterAnswer())
    outcome, report, _ = await run(deadlines=Deadlines(agent_s=0.1))
    assert (outcome.status, outcome.stop_reason, outcome.failure) == ("error", "timeout", None)
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    assert report.payloads("system")[0]["error"] == "agent timed out after 0.1s"


async def test_the_agents_own_time_limit_counts_when_it_is_the_shortest(monkeypatch):
    class Forever:
        async def run(self, agent_run):
            await asyncio.Event().wait()

    monkeypatch.setattr("proctor.rollout.engine.make_agent", lambda *_: Forever())
    outcome, _, _ = await run(agent_config={"timeout_seconds": 0.05})
    assert outcome.stop_reason == "timeout"


@pytest.mark.parametrize("phase", ["starting", "setup", "running", "grading"])
async def test_a_rollout_that_is_fenced_at_any_phase_cleans_up_and_passes_the_cancellation_on(phase):
    engine = FakeEngine()
    with pytest.raises(asyncio.CancelledError) as caught:
        await run_rollout(make_plan(), Collected(stop_at=phase), engine=engine)
    assert engine.tally.started == engine.tally.removed
    assert outcome_of(caught.value).status == "cancelled"


async def test_a_cancellation_in_the_middle_of_grading_tells_the_environment_and_removes_it():
    engine, report = FakeEngine(FakeScript(silent=frozenset({"tasks.grade"}), leaks=True)), Collected()
    task = asyncio.create_task(run_rollout(make_plan(), report, engine=engine))
    await report.wait_for("grading")
    while "tasks.grade" not in engine.tally.methods():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert engine.tally.methods()[-1] == "tasks.cancel"
    assert engine.tally.removed == 1
    assert outcome_of(caught.value).container_leaked


async def test_impatient_cancellations_do_not_interrupt_the_clean_up():
    engine, report = FakeEngine(FakeScript(silent=frozenset({"tasks.start", "tasks.cancel"}))), Collected()
    task = asyncio.create_task(run_rollout(make_plan(), report, engine=engine))
    while "tasks.start" not in engine.tally.methods():
        await asyncio.sleep(0)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.tally.removed == 1


async def test_a_broken_report_is_the_platforms_failure_and_leaves_nothing():
    class Broken(Collected):
        async def steps(self, spans):
            raise OSError("disk full")

    engine = FakeEngine()
    outcome = await run_rollout(make_plan(), Broken(), engine=engine)
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("platform", "platform")
    assert engine.tally.removed == 1


# — verifiers


def grade_or_verify(params):
    if isinstance(params["answer"], dict):
        return {"score": 0.25, "info": {"actor": params["answer"]}}
    return {"score": 1.0, "note": "actor"}


VERIFIER = '{"env":"letters","id":"check","args":{"seed":1.50}}'


async def test_a_verifier_in_the_same_environment_grades_the_actors_whole_frame():
    outcome, report, engine = await run(FakeScript(grade=grade_or_verify), verifier_text=VERIFIER, **REPLAY)
    assert json.loads(outcome.evaluation_text) == {"score": 0.25, "info": {"actor": {"score": 1.0, "note": "actor"}}}
    assert engine.tally.methods() == ["hello", "tasks.start", "tasks.grade", "tasks.start", "tasks.grade"]
    assert engine.tally.calls[3][1] == {"id": "check", "args": {"seed": 1.5}}
    calls = [step["task_call"] for step in report.payloads("task")]
    assert [(call["phase"], call["name"]) for call in calls] == [
        ("setup", "count"), ("evaluate", "count"), ("setup", "check"), ("evaluate", "check"),
    ]  # fmt: skip


async def test_a_verifier_with_its_own_sandbox_runs_after_the_actors_is_gone():
    outcome, _, engine = await run(
        FakeScript(grade=grade_or_verify), verifier_text=VERIFIER, verifier_sandbox=SandboxSpec("fake"), **REPLAY
    )
    assert json.loads(outcome.evaluation_text)["score"] == 0.25
    assert engine.tally.started == 2
    assert outcome.log_tail == b"fake environment\n" * 2


async def test_an_actor_that_cannot_be_graded_is_still_verified_with_an_empty_frame():
    def grade(params):
        if not isinstance(params["answer"], dict):
            raise Refuse(-32000, "no grade for the actor")
        return {"score": 0.0, "info": {"actor": params["answer"]}}

    outcome, _, _ = await run(FakeScript(grade=grade), verifier_text=VERIFIER, **REPLAY)
    assert (outcome.status, json.loads(outcome.evaluation_text)["info"]) == ("completed", {"actor": {}})


async def test_a_verifier_that_fails_leaves_no_grade_of_the_actor_standing():
    def grade(params):
        if isinstance(params["answer"], dict):
            raise Refuse(-32000, "verifier broke")
        return {"score": 1.0}

    outcome, _, _ = await run(FakeScript(grade=grade), verifier_text=VERIFIER, **REPLAY)
    assert (outcome.failure.failure_class, outcome.evaluation_text) == ("grading", None)


async def test_a_start_that_uses_up_the_agents_time_is_no_zero():
    class Late(Collected):
        """Its report takes what the agent would have had."""

        async def phase(self, phase, **facts):
            await super().phase(phase, **facts)
            if phase == "setup":
                await asyncio.sleep(0.6)

    outcome = await run_rollout(make_plan(deadlines=Deadlines(rollout_s=1.0)), Late())
    assert (outcome.status, outcome.failure.failure_class, outcome.failure.blame) == ("error", "timeout", "environment")
    assert outcome.evaluation_text is None and "left the agent nothing" in outcome.failure.message
