"""HUD's own agents, run by the real package 0.6.21 in the hud host, against loopback providers, in containers of a built environment."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.peers.conftest import NEW, OLD, build_letters
from tests.support.fake_providers import Asked, Providers, fake_providers
from tests.support.server import Server, alive, kill, running, until

pytestmark = [pytest.mark.peer, pytest.mark.docker, pytest.mark.server]
KEYS = {"red": "key-of-red-team-0001", "blue": "key-of-blue-team-0002"}
ROW = {"name": "berry", "env": {"name": "letters"}, "task_id": "count", "args": {"word": "strawberry", "letter": "r"}}


def answer(model: str, key: str) -> str | None:
    """`…-silent` never answers, `…-fail` refuses the key; the rest is right."""
    return None if model.endswith("-silent") else "fail" if model.endswith("-fail") else "3"


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    with fake_providers(answer) as providers:
        yield providers


def endpoints(url: str) -> str:
    return " ".join(f"{colour}-*|{url}/v1|{key}" for colour, key in KEYS.items())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, peers: Path, providers: Providers) -> Iterator[Server]:
    variables = {"PROCTOR_MODEL_ENDPOINT": endpoints(providers.url), "PROCTOR_HUD_PYTHON": str(peers / NEW / "bin" / "python")}
    with running(tmp_path_factory.mktemp("hud-agents") / "data", **variables) as server:
        until(server.ready, 60, why=server.log)
        build_letters(server)
        server.upload("berries", [ROW])
        yield server


def start(server: Server, agent: str, model: str, group: int = 1, **config: Any) -> str:
    made = server.post("/api/jobs", {"taskset": "berries", "agent": {"type": agent, "config": {"model": model, **config}}, "group": group})
    return str(made["id"])


def only_run(server: Server, job_id: str) -> dict[str, Any]:
    (row,) = server.runs(job_id)
    run: dict[str, Any] = server.get(f"/api/runs/{row['id']}")
    return run


def ended(server: Server, job_id: str) -> dict[str, Any]:
    until(lambda: not any(server.counts(job_id)[word] for word in ("queued", "running")), 120, why=server.log)
    return only_run(server, job_id)


def hosts(server: Server) -> list[psutil.Process]:
    """The child itself, not its guard."""
    commands = [(process, command_of(process)) for process in server.processes()]
    return [process for process, command in commands if "hudhost/child.py" in command and "guard.py" not in command]


def command_of(process: psutil.Process) -> str:
    """Empty for one that has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.mark.parametrize(("agent", "api"), [("openai", "openai"), ("claude", "anthropic"), ("gemini", "gemini")])
def test_a_hosted_job_of_each_agent_is_graded_with_its_steps(server: Server, providers: Providers, agent: str, api: str) -> None:
    run = ended(server, start(server, agent, f"red-{agent}"))

    assert (run["counted"], run["reward"], run["stop_reason"], run["agent_type"]) == ("graded", 1.0, "done", agent), run["error"]
    steps = server.get(f"/api/runs/{run['id']}/steps")["items"]
    assert [step["kind"] for step in steps] == ["task", "user", "agent", "task"]
    assert "3" in str(steps[2]) and run["prompt_tokens"] == 11 and run["completion_tokens"] == 7
    assert [asked for asked in providers.asked if asked.model == f"red-{agent}"] == [Asked(api, f"red-{agent}", KEYS["red"], run["id"])]


def test_two_runs_at_once_keep_their_keys_and_spans_apart(server: Server, providers: Providers) -> None:
    jobs = {colour: start(server, "claude", f"{colour}-twin", group=4) for colour in KEYS}
    for colour, job_id in jobs.items():
        server.wait_for(job_id, "graded", 4, 120)
        ids = {row["id"] for row in server.runs(job_id)}
        seen = {(asked.key, asked.run_id) for asked in providers.asked if asked.model == f"{colour}-twin"}
        assert seen == {(KEYS[colour], run_id) for run_id in ids}
    assert len(hosts(server)) == 1


def test_a_refused_key_is_the_providers_failure_and_is_not_shown(server: Server) -> None:
    run = ended(server, start(server, "openai", "blue-fail"))
    assert (run["counted"], run["reward"], run["failure_class"], run["blame"]) == ("failed", None, "model_http", "provider")
    shown = str(run) + str(server.get(f"/api/runs/{run['id']}/steps")) + server.log()
    assert KEYS["blue"] not in shown and "[redacted]" in shown


def test_a_cancel_ends_it_within_seconds_and_leaves_the_host_to_others(server: Server, providers: Providers) -> None:
    job_id = start(server, "gemini", "red-silent")
    until(lambda: any(asked.model == "red-silent" for asked in providers.asked), 60, why=server.log)
    before = hosts(server)
    server.post(f"/api/jobs/{job_id}/cancel")
    until(lambda: server.counts(job_id)["cancelled"] == 1, 15, why=server.log)
    assert hosts(server) == before and until(lambda: server.containers() == [], 15)


def test_killing_the_host_sends_its_rollout_into_another_attempt(server: Server, providers: Providers) -> None:
    job_id = start(server, "openai", "blue-silent")
    until(lambda: any(asked.model == "blue-silent" for asked in providers.asked), 60, why=server.log)
    (host,) = hosts(server)
    host.send_signal(signal.SIGKILL)

    until(lambda: sum(asked.model == "blue-silent" for asked in providers.asked) == 2, 90, why=server.log)
    assert only_run(server, job_id)["attempt"] == 2 and hosts(server) != [host]
    server.post(f"/api/jobs/{job_id}/cancel")
    until(lambda: server.counts(job_id)["cancelled"] == 1, 15, why=server.log)


def test_killing_the_worker_takes_the_host_along(server: Server) -> None:
    before = hosts(server)
    assert before
    kill(server.worker_fork())
    until(lambda: alive(before) == [], 15)
    until(lambda: any(worker["hud_version"] == "0.6.21" for worker in server.get("/api/workers")["items"]) and hosts(server), 60, why=server.log)


@pytest.mark.parametrize("agent", ["claude_cli", "codex_cli"])
def test_a_cli_agent_without_its_binary_says_so(server: Server, agent: str) -> None:
    run = ended(server, start(server, agent, "red-cli"))
    assert (run["counted"], run["failure_class"], run["blame"]) == ("failed", "agent", "agent")
    assert "ssh" in run["error"]


def test_a_package_that_is_too_old_fails_its_self_test_and_the_agents_are_refused(tmp_path: Path, peers: Path, providers: Providers) -> None:
    variables = {"PROCTOR_MODEL_ENDPOINT": endpoints(providers.url), "PROCTOR_HUD_PYTHON": str(peers / OLD / "bin" / "python"), "PROCTOR_SANDBOX": "subprocess"}
    with running(tmp_path / "data", **variables) as server:
        until(lambda: any(note for (note,) in server.query("SELECT hud_note FROM runs_worker")), 90, why=server.log)
        server.upload("berries", [ROW | {"env": {"name": "gsm8k"}}])
        refused = server.http.post("/api/jobs", json={"taskset": "berries", "agent": {"type": "claude", "config": {"model": "red-1"}}})
        assert refused.status_code == 422
        rules = [problem["rule"] for problem in refused.json()["error"]["details"]["problems"]]
        assert any("0.6.12 is too old" in rule and "make hud-agents" in rule for rule in rules)
