"""Rollouts that a Task App runs, against peers that work and peers that misbehave. With the real server: `tests/peers/test_synth.py`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from proctor.rollout.agents import validate_agent
from proctor.rollout.drivers.taskapp import request_of
from proctor.rollout.engine import run_rollout
from proctor.rollout.plan import Deadlines, Outcome, RolloutPlan, SandboxSpec, TaskAppRoute, outcome_of
from tests.support.fake_task_app import KEY, FakeTaskApp, Says, fake_task_app, recorded
from tests.support.rollouts import Collected, make_plan

POLICY_KEY = "sk-policy-0123456789"


@pytest.fixture
def peer() -> Iterator[FakeTaskApp]:
    with fake_task_app() as app:
        yield app


def plan(app: FakeTaskApp, agent: dict[str, Any] | None = None, **changes: Any) -> RolloutPlan:
    policy = {"model": "mock-1", "inference_url": "http://llm/v1", "api_key": POLICY_KEY}
    route = TaskAppRoute(app.url, KEY, public_only=False, policy=policy, secrets=[KEY, POLICY_KEY])
    facts: dict[str, Any] = {
        "env": "counting", "task_id": "counting", "args_text": '{"seed":3,"split":"train","task_info":{"task":{"description":"Count up"}}}',
        "agent_type": "task_app", "agent_config": agent or {}, "sandbox": SandboxSpec("remote"), "task_app": route,
    }  # fmt: skip
    return make_plan(**{**facts, **changes})


async def rolled_out(it: RolloutPlan, report: Collected) -> Outcome:
    """With the last steps, which come with the end."""
    outcome = await run_rollout(it, report)
    await report.steps(outcome.steps)
    return outcome


async def test_a_rollout_is_recorded_step_by_step_and_graded(peer: FakeTaskApp) -> None:
    report = Collected()
    outcome = await rolled_out(plan(peer), report)
    assert (outcome.status, outcome.failure, outcome.stop_reason) == ("completed", None, "done")
    grade = json.loads(outcome.evaluation_text or "")
    assert (grade["score"], grade["info"]["read_from"], grade["info"]["outcome_score"]) == (1.0, "trace", 0.75)
    assert report.phases == ["starting", "running"]
    assert report.payloads("user")[0]["messages"][0]["content"]["text"] == "Count up"
    agents, tools = report.payloads("agent"), report.payloads("tool")
    assert [step["tool_calls"][0]["name"] for step in agents] == ["add"] * 4 and len(tools) == 4
    assert [step["extra"]["reward"] for step in tools] == [0.0, 0.0, 1.0, 0.0]
    assert agents[0]["tool_calls"][0]["id"] == tools[0]["call"]["id"]
    assert outcome.prompt_tokens == sum(step["usage"]["prompt_tokens"] for step in agents) > 0


async def test_decision_samples_are_kept_with_their_logprobs(peer: FakeTaskApp) -> None:
    report = Collected()
    await rolled_out(plan(peer, {"mode": "rl"}), report)
    sample = report.payloads("agent")[0]["extra"]["decision_sample"]
    assert (sample["tokens"], sample["logprobs"], sample["version"]) == (["add"], [-0.1], 1)
    assert peer.posts()[0]["record"]["logprobs"] is True


async def test_c1_specs_carry_secrets_to_the_peer_and_nowhere_else(peer: FakeTaskApp) -> None:
    peer.replies["POST /rollout"] = lambda request: Says({**recorded("10-"), "pipeline_metadata": {"echo": [KEY, POLICY_KEY]}})
    report, it = Collected(), plan(peer)
    outcome = await rolled_out(it, report)
    sent = peer.posts()[0]
    assert sent["policy"]["config"]["api_key"] == POLICY_KEY
    assert sent["env"] == {"env_id": None, "env_name": "counting", "config": {"split": "train", "index": 3}, "seed": 3}
    told = "".join(report.texts) + repr(outcome) + repr(it)
    assert KEY not in told and POLICY_KEY not in told and "[redacted]" in told


def test_training_puts_the_correlation_id_into_the_url_and_the_config(peer: FakeTaskApp) -> None:
    rl, scored = request_of(plan(peer, {"mode": "rl"})), request_of(plan(peer))
    cid = rl.policy.config["trace_correlation_id"]
    assert rl.policy.config["inference_url"] == f"http://llm/v1?cid={cid}" and scored.policy.config["inference_url"] == "http://llm/v1"
    again = request_of(plan(peer, attempt=2))
    assert again.run_id.endswith("-2") and rl.run_id.count("-") == 4


def test_c1_record_and_safety_of_the_job_go_to_the_app(peer: FakeTaskApp) -> None:
    agent = {"turns": 3, "record": {"trace_format": "compact"}, "safety": {"max_ops": 3}, "on_done": "reset"}
    request = request_of(plan(peer, agent, deadlines=Deadlines(rollout_s=60)))
    assert (request.ops, request.record.trace_format, request.safety.max_ops, request.safety.max_time_s) == (["agent", "env"] * 3, "compact", 3, 60.0)
    assert request.on_done == "reset"
    for wrong in ({"safety": {"max_ops": -1}}, {"mode": "maybe"}, {"turns": 0}, {"zzz": 1}, {"score": "best"}, {"ops": [], "turns": 1}, {"policy": 3}):
        assert validate_agent("task_app", wrong), wrong
    assert validate_agent("task_app", {**agent, "mode": "rl", "policy": {"api_key": "k"}}) == []


async def test_c1_an_aborted_rollout_keeps_what_there_is(peer: FakeTaskApp) -> None:
    peer.replies["POST /rollout"] = Says(recorded("15-"))
    outcome = await run_rollout(plan(peer), Collected())
    assert outcome.stop_reason == "aborted"
    assert json.loads(outcome.evaluation_text or "")["info"]["ops_executed"] == 3


async def test_c1_a_peer_that_sleeps_is_ended_by_its_own_limit_and_a_grace(peer: FakeTaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.rollout.drivers.taskapp.GRACE_S", 0.2)
    peer.replies["POST /rollout"] = Says(recorded("10-"), hang_s=10)
    started = time.monotonic()
    outcome = await run_rollout(plan(peer, {"safety": {"max_time_s": 0.3}}), Collected())
    assert outcome.failure is not None and outcome.failure.failure_class == "peer_timeout"
    assert time.monotonic() - started < 5 and outcome.evaluation_text is None


@pytest.mark.parametrize(
    ("says", "failure", "blame"),
    [
        (Says(die=True), "peer_lost", "environment"), (Says(recorded("10-"), half=True), "peer_lost", "environment"), (Says(b"nonsense"), "peer_reply", "environment"),
        (Says(endless=500_000_000), "peer_reply", "environment"), (Says(None, 307, {"Location": "http://127.0.0.1/"}), "peer_reply", "environment"),
        (Says(recorded("21-"), 400), "peer_refused", "task"), (Says(b"Internal Server Error", 500), "peer_error", "environment"),
        (Says({"detail": "no"}, 401), "peer_auth", "environment"),
    ],
)  # fmt: skip
async def test_c1_a_peer_that_fails_is_blamed_and_was_asked_once(peer: FakeTaskApp, says: Says, failure: str, blame: str) -> None:
    peer.replies["POST /rollout"] = says
    report = Collected()
    outcome = await rolled_out(plan(peer), report)
    assert outcome.failure is not None
    assert (outcome.status, outcome.failure.failure_class, outcome.failure.blame, outcome.evaluation_text) == ("error", failure, blame, None)
    assert len(peer.posts()) == 1 and report.payloads("system")[-1]["error"].startswith("[running] The Task App")


async def test_an_app_that_is_gone_or_leads_inside_is_unreachable(peer: FakeTaskApp) -> None:
    for route in (TaskAppRoute("http://127.0.0.1:1", "", public_only=False), TaskAppRoute(peer.url, KEY, public_only=True)):
        outcome = await run_rollout(plan(peer, task_app=route), Collected())
        assert outcome.failure is not None and outcome.failure.failure_class == "peer_unreachable"
    assert peer.posts() == []


async def test_metrics_without_a_finite_score_are_no_grade(peer: FakeTaskApp) -> None:
    body = {**recorded("10-"), "metrics": {"episode_returns": [], "mean_return": None, "num_steps": 0}}
    peer.replies["POST /rollout"] = Says(body)
    outcome = await run_rollout(plan(peer), Collected())
    assert outcome.failure is not None and (outcome.failure.failure_class, outcome.failure.blame) == ("grading", "grader")


async def test_c1_a_mismatch_of_metrics_is_flagged_with_both_numbers(peer: FakeTaskApp) -> None:
    body = recorded("10-")
    body["metrics"]["mean_return"] = 0.5
    peer.replies["POST /rollout"] = Says(body)
    grade = json.loads((await run_rollout(plan(peer), Collected())).evaluation_text or "")
    assert "metrics_mismatch" in grade["info"]["flags"]
    assert (grade["score"], grade["info"]["mean_return"], grade["info"]["recomputed_mean_return"]) == (1.0, 0.5, 1.0)


async def test_texts_and_numbers_that_no_database_takes_do_not_break_a_rollout(peer: FakeTaskApp) -> None:
    text = json.dumps({**recorded("10-"), "run_id": "x"}).replace('"count": 1', '"count\\ud800": "a\\u0000"').replace('"arguments": "{', '"arguments": "{\\"big\\": 123456789012345678901234567890, \\"half\\": \\"\\\\ud800\\", ')
    peer.replies["POST /rollout"] = Says(text.encode())
    report = Collected()
    outcome = await rolled_out(plan(peer), report)
    assert (outcome.status, outcome.failure) == ("completed", None)
    assert report.payloads("agent")[0]["tool_calls"][0]["arguments"]["big"] == 123456789012345678901234567890
    assert "\ud800" not in "".join(report.texts)


async def test_damage_is_marked_in_the_grade_and_in_the_trace(peer: FakeTaskApp) -> None:
    body = json.dumps({**recorded("11-"), "run_id": "x"}).replace('"num_steps": 4', '"num_steps": NaN').replace('"num_episodes": 1', '"num_episodes": "<circular type=dict>"')
    peer.replies["POST /rollout"] = Says(body.encode())
    report = Collected()
    grade = json.loads((await rolled_out(plan(peer), report)).evaluation_text or "")
    assert {"lost_by_peer", "not_finite", "run_id_mismatch"} <= set(grade["info"]["flags"]) and grade["info"]["lost_by_peer"] == ["metrics.num_episodes"]
    assert {mark["kind"] for mark in report.payloads("system")[-1]["extra"]["marks"]} == {"datetime", "lost", "not_finite"}


@pytest.mark.parametrize("args", ["{}", '{"seed":"3"}', '{"seed":true}', "[]"])
async def test_a_task_without_a_whole_seed_is_the_tasks_fault_unless_it_has_none(peer: FakeTaskApp, args: str) -> None:
    outcome = await run_rollout(plan(peer, args_text=args), Collected())
    if args == "{}":
        assert outcome.failure is None and peer.posts()[0]["env"]["seed"] is None
    else:
        assert outcome.failure is not None and outcome.failure.blame == "task" and peer.posts() == []


async def test_a_cancel_closes_the_connection_and_says_cancelled(peer: FakeTaskApp) -> None:
    peer.replies["POST /rollout"] = Says(hang_s=20)
    report = Collected()
    running = asyncio.create_task(run_rollout(plan(peer), report))
    while not peer.posts():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await running
    outcome = outcome_of(cancelled.value)
    assert outcome is not None and outcome.status == "cancelled"


async def test_a_fenced_rollout_writes_nothing_more(peer: FakeTaskApp) -> None:
    peer.replies["POST /rollout"] = Says(hang_s=20)
    report = Collected(stop_at="running")
    with pytest.raises(asyncio.CancelledError):
        await rolled_out(plan(peer), report)
    assert [step["task_call"]["phase"] for step in report.payloads("task")] == ["setup"] and report.payloads("system") == []
