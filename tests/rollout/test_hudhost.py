"""The hud host from our side: one child for all rollouts, what it says becomes the run's, and what becomes of a rollout when it dies."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.fake import FakeEngine
from proctor.rollout.hudhost.agent import HostedAgent
from proctor.rollout.hudhost.hosts import HostRefused, HudHosts
from proctor.rollout.plan import Deadlines, ModelRoute, Outcome
from tests.support.rollouts import Collected, make_plan

FAKE_CHILD = Path(__file__).parents[1] / "support" / "fake_hud_child.py"
SECRET = 'key-"quoted"-0001'


def fake_python(folder: Path, manners: str = "ordinary") -> str:
    """An executable that runs the fake instead of the file it is given."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE_CHILD} {manners} "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


@pytest.fixture
async def hosts(tmp_path: Path) -> AsyncIterator[HudHosts]:
    hosts = HudHosts(fake_python(tmp_path), rollouts_a_child=3)
    yield hosts
    await hosts.close()


async def roll(hosts: HudHosts, wish: str, *, report: Collected | None = None, key: str = SECRET, **changes: Any) -> Outcome:
    route = ModelRoute(wish, "http://127.0.0.1:1/v1", key)
    plan = make_plan(**{"agent_type": "claude", "agent_config": {"model": wish}, "model": route} | changes)
    return await run_rollout(plan, report or Collected(), engine=FakeEngine(), agent=HostedAgent(hosts))


async def test_its_steps_answer_and_usage_are_the_runs_without_the_key(hosts: HudHosts) -> None:
    report = Collected()
    outcome = await roll(hosts, "answer", report=report)
    assert (outcome.status, outcome.failure, outcome.stop_reason, outcome.prompt_tokens, outcome.completion_tokens) == ("completed", None, "done", 5, 2)
    assert [span["name"] for span in report.spans] == ["step.task", "step.user", "step.agent", "step.task"]
    assert [span["attributes"]["hud.payload"]["step_id"] for span in report.spans] == [1, 2, 3, 4]
    assert report.payloads("agent")[0]["content"].startswith("answer with [redacted] at tcp://127.0.0.1:")
    assert report.phases == ["starting", "setup", "running", "waiting_model", "running", "grading"]


async def test_rollouts_share_a_child_until_it_has_had_its_number(hosts: HudHosts) -> None:
    pids = [(await roll(hosts, "answer")).answer for _ in range(4)]
    assert len(set(pids[:3])) == 1 and pids[3] != pids[0]
    assert not Path(f"/proc/{pids[0]}").exists()


async def test_a_failure_that_the_child_tells_keeps_its_class_and_no_key(hosts: HudHosts) -> None:
    failure = (await roll(hosts, "wrong")).failure
    assert failure is not None
    assert (failure.failure_class, failure.blame, failure.message, failure.again) == ("model_http", "provider", "refused [redacted]", False)


@pytest.mark.parametrize("wish", ["die", "nonsense"])
async def test_a_child_that_is_lost_is_the_platforms_fault_and_worth_another_attempt(hosts: HudHosts, wish: str) -> None:
    failure = (await roll(hosts, wish)).failure
    assert failure is not None and (failure.failure_class, failure.blame, failure.again) == ("platform", "platform", True)
    assert (await roll(hosts, "answer")).failure is None


async def test_a_cancelled_rollout_hangs_up_and_the_child_goes_on(hosts: HudHosts) -> None:
    report = Collected()
    rolling = asyncio.create_task(roll(hosts, "silent", report=report))
    await report.wait_for("waiting_model")
    rolling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rolling
    environment = Collected()
    await roll(hosts, "env", report=environment)
    home = Path(json.loads(environment.payloads("agent")[0]["content"])["HOME"])
    async with asyncio.timeout(5):
        while not (home / "cancelled").exists():
            await asyncio.sleep(0.01)


async def test_an_agent_out_of_time_is_graded_by_its_last_word(hosts: HudHosts) -> None:
    outcome = await roll(hosts, "silent", deadlines=Deadlines(agent_s=1.0))
    assert (outcome.stop_reason, outcome.failure) == ("timeout", None) and (outcome.answer or "").startswith("silent with")


async def test_the_child_has_nothing_of_our_environment_and_goes_when_closed(hosts: HudHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUD_API_KEY", "not-yours")
    report = Collected()
    pid = (await roll(hosts, "env", report=report)).answer
    seen = json.loads(report.payloads("agent")[0]["content"])
    assert not {"HUD_API_KEY", "PROCTOR_API_KEY", "DJANGO_SETTINGS_MODULE"} & set(seen) and seen["HOME"] != os.environ.get("HOME")
    await hosts.close()
    assert not Path(f"/proc/{pid}").exists() and not Path(seen["HOME"]).exists()


@pytest.mark.parametrize(("manners", "words"), [("refuse", "spans are being uploaded"), ("mute", "no module named hud")])
async def test_a_child_that_cannot_run_says_why_and_what_to_do(tmp_path: Path, manners: str, words: str) -> None:
    hosts = HudHosts(fake_python(tmp_path, manners))
    with pytest.raises(HostRefused, match=f"{words}.*make hud-agents"):
        await hosts.version()
    failure = (await roll(hosts, "answer")).failure
    assert failure is not None and failure.failure_class == "platform" and words in failure.message and not failure.again
    await hosts.close()
