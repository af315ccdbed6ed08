"""Jobs with HUD's own agents, as submitted: which are taken, what those that cannot run are told, and what becomes of lost attempts."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from gateway.actions import endpoint_from_text
from proctor.rollout.agents import HUD_AGENTS
from proctor.rollout.plan import Failure
from runs.actions import execution, workers
from runs.clock import database_now
from runs.models import Run, Worker
from tests.support.jobs import a_job, a_taskset, ready_environment

pytestmark = pytest.mark.django_db


@pytest.fixture
def start(ada, ada_key, client_for):
    """Posts a job with an agent; the reply."""
    ready_environment(ada)
    a_taskset(ada)
    endpoint_from_text(ada, "stub-*|http://127.0.0.1:1/v1|secret-key-text")

    def post(agent: str = "claude", model: Any = "stub-1", **config: Any):
        body = {"taskset": "letters", "agent": {"type": agent, "config": {"model": model, **config}}}
        return client_for(ada_key).post("/api/jobs", json.dumps(body), content_type="application/json")

    return post


def a_worker(worker_id: str, **hud: Any) -> None:
    workers.register(worker_id, host="h", slots=1, version="0")
    if hud:
        workers.describe_hud(worker_id, **hud)


@pytest.mark.parametrize("agent", HUD_AGENTS)
def test_without_the_package_each_is_refused_with_the_command_to_run(start, settings, agent):
    settings.PROCTOR_HUD_PYTHON = ""
    reply = start(agent)
    assert reply.status_code == 422
    (problem,) = reply.json()["error"]["details"]["problems"]
    assert problem["path"] == "agent.type" and "make hud-agents" in problem["rule"] and problem["value"] == agent


@pytest.mark.parametrize("agent", HUD_AGENTS)
def test_with_it_the_model_is_resolved_as_for_our_own_agent(start, settings, agent):
    settings.PROCTOR_HUD_PYTHON = "/somewhere/python"
    assert start(agent).status_code == 201
    run = Run.objects.first()
    assert run.model == "stub-1" and run.model_endpoint_id and run.agent_type == agent
    unserved = start(agent, model="gpt-9")
    assert unserved.status_code == 422 and "stub-*" in unserved.json()["detail"] and "secret-key-text" not in unserved.content.decode()


@pytest.mark.parametrize("config", [{"base_url": "http://x"}, {"api_key": "k"}, {"headers": {"a": "b"}}, {"model_client": {}}])
def test_a_config_may_not_say_where_the_model_is(start, settings, config):
    settings.PROCTOR_HUD_PYTHON = "/somewhere/python"
    reply = start("gemini", **config)
    assert reply.status_code == 422 and "belong to the team" in reply.json()["detail"]


def test_a_failed_self_test_refuses_them_until_some_worker_can(start):
    a_worker("one", version=None, note="HUD's agents cannot run here: spans are being uploaded")
    assert "spans are being uploaded" in start().json()["detail"]
    a_worker("two")
    assert start().status_code == 201, "it may still be starting"
    workers.describe_hud("two", version=None, note="no hud")
    assert start().status_code == 422
    a_worker("three", version="0.6.21")
    assert start().status_code == 201


def test_what_a_dead_worker_said_counts_no_longer(start, settings):
    settings.PROCTOR_HUD_PYTHON = "/somewhere/python"
    a_worker("one", version=None, note="no hud")
    Worker.objects.update(heartbeat_at=database_now() - timedelta(minutes=5))
    assert start().status_code == 201


def test_an_attempt_that_lost_its_host_is_tried_again_and_the_third_fails_with_the_reason(ada):
    a_worker("w")
    job = a_job(ada, count=1, group=1)
    run_id, failure = Run.objects.get(job=job).id, Failure("platform", "platform", "The process that runs HUD's agents was lost.", again=True)
    for attempt in range(3):
        assert Run.objects.get(id=run_id).state == "queued"
        Run.objects.update(dispatched_until=database_now() + timedelta(minutes=1))
        assert execution.claim(run_id, attempt, "w") and execution.give_up(run_id, attempt + 1, failure=failure)
    run = Run.objects.get(id=run_id)
    assert (run.state, run.counted, run.reward, run.failure_class, run.blame, run.error) == ("error", "failed", None, "platform", "platform", failure.message)
