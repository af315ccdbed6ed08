"""Runtime sessions when the product itself is stopped, or killed whole: no container stays, and each session says what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.conftest import base_image
from tests.support.server import Server, alive, kill, running, until

pytestmark = [pytest.mark.server, pytest.mark.docker]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("sessions") / "data") as server:
        until(server.ready, 60, why=server.log)
        server.post("/api/environments", {"name": "sums", "image": base_image()})
        until(lambda: server.get("/api/environments/sums")["ready"], 120, why=server.log)
        yield server


def open_session(server: Server) -> str:
    session_id: str = server.post("/runtime/sessions", {"environment": "sums"})["id"]
    until(lambda: session(server, session_id)["state"] == "open", 90, why=server.log)
    assert len(server.containers()) == 1
    return session_id


def session(server: Server, session_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = server.get(f"/runtime/sessions/{session_id}")
    return shown


def test_a_stopped_server_closes_its_sessions(server: Server) -> None:
    session_id = open_session(server)
    server.stop()
    assert server.containers() == []
    server.start()
    assert session(server, session_id)["state"] == "closed"
    assert session(server, session_id)["error"] == "The worker stopped"


def test_what_a_server_that_was_killed_whole_left_goes_at_the_next_start(server: Server) -> None:
    until(server.ready, 60, why=server.log)
    session_id, tree = open_session(server), server.processes()
    kill(*tree)
    assert alive(tree) == [] and len(server.containers()) == 1
    server.process = None
    server.start()
    until(lambda: server.containers() == [], 60, why=server.log)
    assert (session(server, session_id)["state"], session(server, session_id)["error"]) == ("failed", "Its worker was lost")
