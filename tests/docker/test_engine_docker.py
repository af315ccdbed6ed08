"""Whole rollouts in real containers: graded, blamed, cancelled, and always gone."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.plan import Deadlines, SandboxSpec, outcome_of
from proctor.rollout.sandbox import DockerEngine
from tests.support.environments import EXITS, GARBAGE, LINGERS, SAMPLE_ARGS
from tests.support.rollouts import Collected, make_plan

pytestmark = pytest.mark.docker

PYTHON = "/usr/local/bin/python3"


def sample_plan(image, labels, answer="A: 3", **changes):
    replay = {"agent_type": "replay", "agent_config": {"answers": {"count-1": answer}}}
    sandbox = SandboxSpec("docker", image=image)
    return make_plan(**({"task_id": "solve", "args_text": SAMPLE_ARGS, "sandbox": sandbox, "labels": labels} | replay | changes))


def program(image, text):
    return SandboxSpec("docker", image=image, command=[PYTHON, "-S", "-I", "-c", text])


@pytest.mark.parametrize(("answer", "score"), [("A: 3", '"score":1.0'), ("A: 5", '"score":0.0')])
async def test_the_sample_is_graded_in_a_container_that_is_gone_afterwards(engine, sample_image, instance, labels, answer, score):
    report = Collected()
    outcome = await run_rollout(sample_plan(sample_image, labels, answer), report, engine=engine)
    assert (outcome.status, outcome.failure, outcome.container_leaked) == ("completed", None, False)
    assert score in outcome.evaluation_text.replace(" ", "")
    assert report.facts["container_id"] == outcome.container_id and outcome.image_id.startswith("sha256:")
    assert b"HUD_SERVE_PORT=8765" in outcome.log_tail
    assert await engine.list_ours(instance) == []


async def test_without_a_given_engine_one_is_made_and_closed(engine, sample_image, labels):
    outcome = await run_rollout(sample_plan(sample_image, labels), Collected())
    assert outcome.status == "completed"


@pytest.mark.parametrize(
    ("text", "startup_s", "failure_class", "words"),
    [
        (EXITS, 120.0, "environment_exit", "exit code 3. Its output ends:\nno licence found"),
        (LINGERS, 3.0, "environment_start", "did not serve within 3 s"),
        (GARBAGE.format(port=8765), 120.0, "environment_protocol", "HTTP/1.1 400"),
    ],
)
async def test_an_image_that_is_no_environment_is_to_blame_with_its_last_words(
    engine, sample_image, labels, text, startup_s, failure_class, words
):
    plan = sample_plan(sample_image, labels, sandbox=program(sample_image, text), deadlines=Deadlines(startup_s=startup_s))
    outcome = await run_rollout(plan, Collected(), engine=engine)
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, "environment")
    assert words in outcome.failure.message


async def test_a_missing_image_is_an_outcome(engine, labels):
    outcome = await run_rollout(sample_plan("no-such-image:1", labels), Collected(), engine=engine)
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("image_missing", "environment")


async def test_an_engine_that_is_down_is_the_platforms_failure(monkeypatch, labels):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    outcome = await run_rollout(sample_plan("any", labels), Collected())
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("platform", "platform")


async def test_a_published_port_serves_as_well(sample_image, labels):
    async with DockerEngine(own_network=False) as engine:
        outcome = await run_rollout(sample_plan(sample_image, labels), Collected(), engine=engine)
    assert (outcome.status, outcome.container_leaked) == ("completed", False)


async def test_an_announced_port_other_than_the_usual_is_found(engine, sample_image, labels):
    command = [PYTHON, "-S", "-I", "/opt/proctor/environment", "/opt/proctor/env.py", "--host", "0.0.0.0", "--port", "9001"]
    plan = sample_plan(sample_image, labels, sandbox=SandboxSpec("docker", image=sample_image, command=command))
    outcome = await run_rollout(plan, Collected(), engine=engine)
    assert (outcome.status, outcome.failure) == ("completed", None)


async def test_a_container_killed_from_outside_is_noticed_at_once(engine, sample_image, labels, monkeypatch):
    class Waits:
        async def run(self, agent_run):
            await engine._control.containers.container(killed["container_id"]).kill()
            await asyncio.Event().wait()

    monkeypatch.setattr("proctor.rollout.engine.make_agent", lambda *_: Waits())
    report = Collected()
    killed = report.facts
    outcome = await run_rollout(sample_plan(sample_image, labels), report, engine=engine)
    assert (outcome.failure.failure_class, outcome.exit_code) == ("environment_exit", 137)


@pytest.mark.parametrize("phase", ["starting", "setup", "running", "grading"])
async def test_a_cancelled_rollout_is_over_only_when_its_container_is_gone(engine, sample_image, instance, labels, phase):
    report = Collected()
    task = asyncio.create_task(run_rollout(sample_plan(sample_image, labels), report, engine=engine))
    await report.wait_for(phase)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert await engine.list_ours(instance) == []
    assert outcome_of(caught.value).container_leaked is False


async def test_sixteen_at_once_are_all_graded_and_all_gone(engine, sample_image, instance, labels):
    plans = [sample_plan(sample_image, labels | {"proctor.run": uuid.uuid4().hex}) for _ in range(16)]
    outcomes = await asyncio.gather(*(run_rollout(plan, Collected(), engine=engine) for plan in plans))
    assert [outcome.status for outcome in outcomes] == ["completed"] * 16
    assert len({outcome.container_id for outcome in outcomes}) == 16
    assert await engine.list_ours(instance) == []
