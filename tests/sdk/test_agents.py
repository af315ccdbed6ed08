"""Agents of the SDK: where a model is called, and with whose key. The model is a scripted one on loopback; the agent's own behaviour is
tested in tests/rollout/test_agent_openai_compatible.py."""

from __future__ import annotations

from typing import Any

import pytest

import proctor
from proctor import LocalRuntime
from proctor.agents import problems_of
from tests.sdk.conftest import letters
from tests.support.fake_model import fake_model, says
from tests.support.letters_env import env as live_env


async def test_a_model_answers_at_the_address_that_is_given() -> None:
    with fake_model(lambda body: says("3")) as model:
        agent = proctor.openai_compatible("stub", base_url=model.base_url, api_key="sk-given", max_steps=2, system_prompt="Count.")
        job = await letters("banana").run(agent, runtime=LocalRuntime(live_env))
    assert (job.reward, job.runs[0].answer) == (1.0, "3")
    assert "sk-given" not in repr(agent)


def test_the_environment_names_the_model_endpoint_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.test/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    route = proctor.openai_compatible("stub").route
    assert route is not None and (route.base_url, route.api_key) == ("http://models.test/v1", "sk-env")


def test_whoever_is_signed_in_uses_the_servers_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_API_KEY", "pk_mine")
    monkeypatch.setenv("PROCTOR_URL", "https://proctor.test")
    route = proctor.openai_compatible("stub").route
    assert route is not None and (route.base_url, route.api_key) == ("https://proctor.test/gateway", "pk_mine")


@pytest.mark.parametrize(
    ("agent", "local", "said"),
    [
        (proctor.replay(), True, "column"), (proctor.replay(column="a", answers={}), True, "column"),
        (proctor.openai_compatible("m", base_url="http://x", max_steps=0), True, "max_steps"),
        (proctor.openai_compatible("m", base_url="http://x", nonsense=1), False, "config.nonsense is unknown"),
    ],
)  # fmt: skip
def test_what_would_stop_an_agent_is_said_beforehand(agent: Any, local: bool, said: str) -> None:
    assert any(said in problem for problem in problems_of(agent, local=local))


def test_a_function_is_no_agent_for_a_hosted_job() -> None:
    with pytest.raises(ValueError, match="can't run a function of yours"):
        letters("banana").run_sync(lambda context: "3", runtime=proctor.HostedRuntime())


async def test_a_task_may_ask_for_less_time_of_its_agent() -> None:
    import asyncio

    async def slow(context: proctor.AgentContext) -> str:
        context.say("3")
        await asyncio.sleep(30)
        return "0"

    task = letters("banana")["banana"].replace(agent_config={"timeout_seconds": 0.2})
    run = (await task.run(slow, runtime=LocalRuntime(live_env))).runs[0]
    assert (run.stop_reason, run.counted, run.reward) == ("timeout", "graded", 1.0)
