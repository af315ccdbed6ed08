"""The unmodified HUD SDK 0.6.21 drives environments that Proctor hosts, through tunnels: its default for a taskset of the platform."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.peers.conftest import Sdk
from tests.support.server import Server, docker, kill, until

pytestmark = [pytest.mark.peer, pytest.mark.server, pytest.mark.docker]
RunOf = Callable[[str], dict[str, Any]]


def containers_of_sessions(server: Server) -> list[str]:
    return docker("ps", "-q", "--filter", f"label=proctor.instance={server.instance}", "--filter", "label=proctor.session")


def live_sessions(server: Server, env: str = "letters") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = server.get(f"/api/environments/{env}/sessions")["items"]
    return items


def test_a_taskset_of_the_platform_runs_here_against_environments_there(sdk: Sdk, server: Server, run_of: RunOf) -> None:
    told = sdk.play("tunnel", f"tunnelled-{uuid.uuid4().hex[:8]}", "letters", "3")
    found = sorted((run["slug"], run["reward"], run["status"]) for run in told["runs"])
    assert found == [("banana", 0.0, "completed")] * 2 + [("strawberry", 1.0, "completed")] * 2
    for run in told["runs"]:
        shown = run_of(run["id"])
        assert (shown["counted"], shown["reward"]) == ("graded", run["reward"])
    until(lambda: not live_sessions(server), 20, why=server.log)
    until(lambda: not containers_of_sessions(server), 20)


def test_capabilities_are_reached_through_tunnels_of_their_own(sdk: Sdk, server: Server) -> None:
    assert sdk.play("capabilities", "letters") == {"tasks": ["count", "nan"], "same": True}, "3 MB went there and back"


def test_a_session_is_linked_to_its_run_and_gone_after_ctrl_c(sdk: Sdk, server: Server, tmp_path: Path) -> None:
    until(lambda: not live_sessions(server), 30, why=server.log)
    process = sdk.start("tunnel-waits", "letters", str(tmp_path / "never"))
    session = until(lambda: next((found for found in live_sessions(server) if found["state"] == "open" and found["run_id"]), None), 60, why=server.log)
    run = server.get(f"/api/runs/{session['run_id']}")
    assert run["state"] == "running" and len(containers_of_sessions(server)) == 1
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    until(lambda: not live_sessions(server) and not containers_of_sessions(server), 30, why=server.log)


def test_an_environment_that_is_not_there_fails_the_run_at_once(sdk: Sdk) -> None:
    told = sdk.play("refused", "no-such-environment")["runs"][0]
    assert told["status"] == "error" and "404" in told["error"]


def test_an_environment_that_ends_fails_the_run_with_a_reason(sdk: Sdk, server: Server, tmp_path: Path) -> None:
    waited_for = tmp_path / "waited-for"
    process = sdk.start("tunnel-waits", "letters", str(waited_for))
    until(lambda: [found for found in live_sessions(server) if found["state"] == "open"], 60, why=server.log)
    docker("kill", *containers_of_sessions(server))
    until(lambda: not live_sessions(server), 30)
    waited_for.touch()  # an agent that asks for nothing notices at the SDK's next heartbeat, after two minutes
    told = sdk.result(process)["runs"][0]
    assert told["status"] == "error", told


def test_another_team_does_not_find_the_environment(sdk: Sdk, server: Server, other_key: str) -> None:
    told = sdk.result(sdk.start("refused", "letters", key=other_key))["runs"][0]
    assert told["status"] == "error" and "404" in told["error"]


def test_after_kill_9_of_the_worker_no_session_and_no_container_stays(sdk: Sdk, server: Server, tmp_path: Path) -> None:
    waited_for = tmp_path / "waited-for"
    process = sdk.start("tunnel-waits", "letters", str(waited_for))
    session = until(lambda: next((found for found in live_sessions(server) if found["state"] == "open" and found["run_id"]), None), 60, why=server.log)
    kill(server.worker_fork())
    until(lambda: not live_sessions(server) and not containers_of_sessions(server), 60, why=server.log)
    told = server.get(f"/runtime/sessions/{session['id']}")
    assert (told["state"], told["error"]) == ("failed", "Its worker was lost")
    waited_for.touch()
    assert sdk.result(process)["runs"][0]["status"] == "error"
    until(server.ready, 60, why=server.log)
    assert os.path.exists(server.folder)
