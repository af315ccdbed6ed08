"""The real hud host without a server around it: its agents use an environment's tools, its clients follow no redirect, and it forks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.fake import FakeEngine
from proctor.rollout.hudhost.agent import HostedAgent
from proctor.rollout.hudhost.hosts import HudHosts
from proctor.rollout.plan import ModelRoute, Outcome, SandboxSpec
from tests.peers.conftest import NEW
from tests.support.fake_providers import Call, Providers, Said, fake_providers
from tests.support.rollouts import Collected, make_plan
from tests.support.server import ROOT, until

pytestmark = pytest.mark.peer
CHILD = ROOT / "platform/proctor/rollout/hudhost/child.py"
SUMS = SandboxSpec("subprocess", command=(sys.executable, "-m", "proctor.environment", str(ROOT / "tests/support/tools_env.py")), env={"PYTHONPATH": str(ROOT / "platform")})


def answer(model: str, key: str) -> Said | None:
    return {"adds": Call("add", {"a": 2, "b": 40}), "redirects": "redirect", "silent": None}.get(model, f"said to {key}")


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    with fake_providers(answer) as providers:
        yield providers


@pytest.fixture(params=[False, True], ids=["shared", "fork"])
async def hosts(request: pytest.FixtureRequest, peers: Path) -> AsyncIterator[HudHosts]:
    hosts = HudHosts(str(peers / NEW / "bin" / "python"), fork=request.param)
    yield hosts
    await hosts.close()


async def roll(hosts: HudHosts, providers: Providers, agent: str, model: str, *, key: str = "key-0001", path: str = "/v1", report: Collected | None = None, **changes: Any) -> Outcome:
    route = ModelRoute(model, providers.url + path, key)
    plan = make_plan(agent_type=agent, agent_config={"model": model}, model=route, **changes)
    engine = FakeEngine() if plan.sandbox.kind == "fake" else None
    return await run_rollout(plan, report or Collected(), engine=engine, agent=HostedAgent(hosts))


async def test_each_agent_calls_the_environments_tools_and_is_graded(hosts: HudHosts, providers: Providers) -> None:
    sums = {"env": "sums", "task_id": "add_up", "args_text": '{"a":2,"b":40}', "sandbox": SUMS}
    for agent, path in (("openai", "/v1"), ("claude", "/v1"), ("gemini", "/v1beta/openai")):
        report = Collected()
        outcome = await roll(hosts, providers, agent, "adds", path=path, report=report, **sums)
        assert (outcome.failure, outcome.answer, outcome.stop_reason) == (None, "42", "done"), agent
        assert [span["name"] for span in report.spans] == ["step.task", "step.user", "step.agent", "step.tool", "step.agent", "step.task"]
        (tool,) = report.payloads("tool")
        assert tool["call"]["arguments"] == {"a": 2, "b": 40} and "the sum is 42" in str(tool["result"])
        assert outcome.prompt_tokens == 22


@pytest.mark.parametrize("agent", ["openai", "claude", "gemini"])
async def test_a_redirect_of_the_provider_is_not_followed(peers: Path, providers: Providers, agent: str) -> None:
    hosts = HudHosts(str(peers / NEW / "bin" / "python"))
    before = len([asked for asked in providers.asked if asked.model == "redirects"])
    outcome = await roll(hosts, providers, agent, "redirects")
    await hosts.close()
    assert outcome.failure is not None and (outcome.failure.failure_class, outcome.failure.blame) == ("model_http", "provider"), outcome.failure
    assert len([asked for asked in providers.asked if asked.model == "redirects"]) == before + 1


SABOTAGE = {
    "import hud.types; hud.types.queue_span = lambda span: None": "spans went astray",
    "import hud.settings; object.__setattr__(hud.settings.settings, '__class__', hud.settings.Settings)": "does not read the rollout's own key",
    "import hud.types, socket; hud.types.queue_span = lambda span: (child.take_span(span), socket.socket().connect_ex(('127.0.0.1', 9)))": "something was dialled",
}


@pytest.mark.parametrize(("sabotage", "words"), SABOTAGE.items(), ids=SABOTAGE.values())
def test_the_self_test_sees_each_hook_that_does_not_hold(peers: Path, sabotage: str, words: str) -> None:
    load = f"import importlib.util, sys, asyncio\nspec = importlib.util.spec_from_file_location('child', {str(CHILD)!r})\n"
    load += "child = importlib.util.module_from_spec(spec); sys.modules['child'] = child; spec.loader.exec_module(child); child.install()\n"
    command = [str(peers / NEW / "bin" / "python"), "-I", "-c", f"{load}{sabotage}\nasyncio.run(child.self_test())"]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert tried.returncode == 1 and "RuntimeError: hud 0.6.21 does not work as the hud host needs it" in tried.stderr and words in tried.stderr


def workspace(peers: Path, programs: str) -> SandboxSpec:
    command = (str(peers / NEW / "bin" / "python"), "-m", "hud.environment.server", str(ROOT / "tests/support/hud_workspace.py"))
    return SandboxSpec("subprocess", command=command, env={"PROGRAMS": programs, "HUD_TELEMETRY_ENABLED": "false", "HUD_SKIP_VERSION_CHECK": "1"})


@pytest.mark.parametrize("agent", ["claude_cli", "codex_cli"])
async def test_a_cli_agent_drives_its_program_with_the_runs_key_and_address(peers: Path, providers: Providers, agent: str) -> None:
    hosts, report = HudHosts(str(peers / NEW / "bin" / "python")), Collected()
    sandbox = workspace(peers, "claude codex")
    outcome = await roll(hosts, providers, agent, "cli", report=report, sandbox=sandbox, args_text="{}")
    await hosts.close()
    assert (outcome.failure, outcome.answer) == (None, "3")
    assert report.payloads("agent")[0]["content"] == "3"
    assert "hud.filetracking.v1" in {span["attributes"]["hud.schema"] for span in report.spans}


@pytest.mark.parametrize(("agent", "program"), [("claude_cli", "claude"), ("codex_cli", "codex")])
async def test_a_cli_agent_without_its_program_fails_as_the_agent_with_the_reason(peers: Path, providers: Providers, agent: str, program: str) -> None:
    hosts = HudHosts(str(peers / NEW / "bin" / "python"))
    outcome = await roll(hosts, providers, agent, "cli", sandbox=workspace(peers, ""), args_text="{}")
    await hosts.close()
    assert outcome.failure is not None and (outcome.failure.failure_class, outcome.failure.blame) == ("agent", "agent")
    assert f"{program} is unavailable" in outcome.failure.message and outcome.evaluation_text is None


async def test_a_forked_rollout_is_a_process_of_its_own_that_ends_with_it(peers: Path, providers: Providers) -> None:
    hosts = HudHosts(str(peers / NEW / "bin" / "python"), fork=True)
    await hosts.version()
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    said = [(await roll(hosts, providers, "openai", "any", key=key)).answer for key in ("key-of-red", "key-of-blue")]
    assert said == ["said to [redacted]", "said to [redacted]"]
    assert {asked.key for asked in providers.asked if asked.model == "any"} == {"key-of-red", "key-of-blue"}
    until(lambda: {process.pid for process in psutil.Process().children(recursive=True)} == before, 10)
    await hosts.close()
