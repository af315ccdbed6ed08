"""Runtime sessions over HTTP: opened on the newest ready version, capped, closed, and their team's alone."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import create_key
from accounts.callers import Caller
from environments import actions as environments
from environments.models import Environment, EnvironmentVersion, RuntimeSession
from environments.sessions import actions, claims
from environments.variables import set_variables


@pytest.fixture
def letters(ada: Caller) -> EnvironmentVersion:
    version = environments.register_image(ada, name="letters", image="letters:1")
    EnvironmentVersion.objects.update(status="ready", image_id="sha256:1", manifest={"nested": True})
    version.refresh_from_db()
    return version


def client(key: str) -> Client:
    return Client(headers={"authorization": f"Bearer {key}"})


def post(key: str, **body: Any) -> Any:
    return client(key).post("/runtime/sessions", json.dumps({"environment": "letters", **body}), content_type="application/json")


def test_a_session_waits_for_a_worker_and_is_shown(ada_key: str, letters: EnvironmentVersion) -> None:
    run_id = str(uuid.uuid4())
    made = post(ada_key, trace_id=run_id).json()
    assert (made["state"], made["version"], made["run_id"], made["error"]) == ("waiting", 1, run_id, None)
    assert client(ada_key).get(f"/runtime/sessions/{made['id']}").json() == made
    listed = client(ada_key).get("/api/environments/letters/sessions").json()
    assert listed["items"] == [made] and listed["total"] == 1


def test_open_sessions_are_listed_in_pages(ada_key: str, letters: EnvironmentVersion) -> None:
    made = [post(ada_key).json()["id"] for _ in range(3)]
    first = client(ada_key).get("/api/environments/letters/sessions?limit=2").json()
    rest = client(ada_key).get(f"/api/environments/letters/sessions?limit=2&cursor={first['next_cursor']}").json()
    assert [item["id"] for item in [*first["items"], *rest["items"]]] == made[::-1] and rest["next_cursor"] is None


def test_closing_may_be_repeated_and_ends_a_waiting_session_at_once(ada_key: str, letters: EnvironmentVersion) -> None:
    session_id = post(ada_key).json()["id"]
    for _ in range(2):
        reply = client(ada_key).delete(f"/runtime/sessions/{session_id}")
        assert (reply.status_code, reply.content) == (204, b"")
    assert client(ada_key).get(f"/runtime/sessions/{session_id}").json()["state"] == "closed"
    assert client(ada_key).post(f"/runtime/sessions/{session_id}/keepalive").status_code == 409
    assert client(ada_key).get("/api/environments/letters/sessions").json()["items"] == []


def test_a_session_is_closed_from_its_environments_page(ada: Caller, ada_key: str, cy_key: str, letters: EnvironmentVersion) -> None:
    environments.register_image(ada, name="other", image="a:1")
    session_id = post(ada_key).json()["id"]
    assert client(cy_key).delete(f"/api/environments/{letters.environment_id}/sessions/{session_id}").status_code == 404
    assert client(ada_key).delete(f"/api/environments/other/sessions/{session_id}").status_code == 404
    assert client(ada_key).delete(f"/api/environments/letters/sessions/{session_id}").status_code == 204
    assert RuntimeSession.objects.get().state == "closed"


def test_keeping_a_session_alive_moves_its_idle_time(ada_key: str, letters: EnvironmentVersion) -> None:
    session_id = post(ada_key).json()["id"]
    RuntimeSession.objects.update(last_used_at=timezone.now() - timedelta(seconds=200))
    kept = client(ada_key).post(f"/runtime/sessions/{session_id}/keepalive").json()
    assert timezone.now().isoformat()[:16] <= kept["last_used_at"].replace("Z", "+00:00")[:16]


def test_a_team_has_a_bounded_number_of_sessions(ada_key: str, letters: EnvironmentVersion, settings: Any) -> None:
    settings.PROCTOR_TEAM_SESSIONS = 2
    first = post(ada_key).json()["id"]
    post(ada_key)
    refused = post(ada_key)
    assert refused.status_code == 429 and refused["Retry-After"] == "30" and refused.json()["error"]["code"] == "too_many_sessions"
    client(ada_key).delete(f"/runtime/sessions/{first}")
    assert post(ada_key).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [({"environment": "nowhere"}, 404), ({"environment": ""}, 422), ({"environment": 5}, 422), ({"environment": "x" * 300}, 422), ({"environment": "../x"}, 404)],
)
def test_bad_orders_are_refused(ada_key: str, letters: EnvironmentVersion, body: dict[str, Any], status: int) -> None:
    assert post(ada_key, **body).status_code == status


def test_a_trace_id_that_is_none_is_not_kept(ada_key: str, letters: EnvironmentVersion) -> None:
    assert post(ada_key, trace_id="robot-7").json()["run_id"] is None


def test_an_environment_without_a_ready_version_is_refused(ada: Caller, ada_key: str) -> None:
    environments.register_image(ada, name="letters", image="letters:1")
    assert post(ada_key).status_code == 409


def test_an_environment_without_sandboxes_is_refused(ada_key: str, letters: EnvironmentVersion) -> None:
    Environment.objects.update(kind="task_app")
    assert post(ada_key).status_code == 409


def test_another_teams_session_and_environment_are_not_there(ada_key: str, cy_key: str, letters: EnvironmentVersion) -> None:
    session_id = post(ada_key).json()["id"]
    assert post(cy_key).status_code == 404
    cy = client(cy_key)
    assert cy.get(f"/runtime/sessions/{session_id}").status_code == 404
    assert cy.delete(f"/runtime/sessions/{session_id}").status_code == 404
    assert cy.post(f"/runtime/sessions/{session_id}/keepalive").status_code == 404
    assert cy.get(f"/api/environments/{letters.environment_id}/sessions").status_code == 404
    assert RuntimeSession.objects.get().state == "waiting"


def test_a_key_that_may_only_read_opens_and_closes_nothing(ada: Caller, ada_key: str, letters: EnvironmentVersion) -> None:
    session_id, reader = post(ada_key).json()["id"], create_key(ada, name="reader", scopes=["read"]).secret
    assert post(reader).status_code == 403 and client(reader).delete(f"/runtime/sessions/{session_id}").status_code == 403
    assert client(reader).get(f"/runtime/sessions/{session_id}").status_code == 200


def test_without_a_key_there_is_nothing(letters: EnvironmentVersion) -> None:
    assert Client().post("/runtime/sessions", "{}", content_type="application/json").status_code == 401


# — how workers share them


def test_the_oldest_session_is_claimed_once_with_the_environments_variables(ada: Caller, letters: EnvironmentVersion) -> None:
    set_variables(ada, letters.environment, {"TOKEN": "t"})
    first, second = (actions.open_session(ada, environment="letters") for _ in range(2))
    got, rest = claims.claim("w1", 1), claims.claim("w2", 9)
    assert [claimed.session_id for claimed in (*got, *rest)] == [first.id, second.id]
    assert (got[0].spec.image, got[0].spec.env, got[0].spec.nested) == ("sha256:1", {"TOKEN": "t"}, True)
    assert claims.claim("w1", 9) == [] and claims.live_sessions() == {first.id, second.id}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"close_requested_at": timezone.now()}, ""),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "It reached its total time"),
        ({"last_used_at": timezone.now() - timedelta(seconds=actions.IDLE_S + 60)}, "No tunnel carried a byte for 300 s"),
    ],
)
def test_closed_expired_and_idle_sessions_must_end(ada: Caller, letters: EnvironmentVersion, change: dict[str, Any], why: str) -> None:
    session = actions.open_session(ada, environment="letters")
    claims.claim("w1", 1)
    assert claims.renew("w1") == {}
    RuntimeSession.objects.update(**change)
    assert claims.renew("w1") == {session.id: why} and claims.renew("w2") == {}
    assert claims.end("w2", session.id, failed=False, error="") is False
    assert claims.end("w1", session.id, failed=False, error=why) is True
    session.refresh_from_db()
    assert (session.state, session.error) == ("closed", why or None)


def test_a_session_that_nobody_connects_to_and_one_of_a_lost_worker_end(ada: Caller, letters: EnvironmentVersion) -> None:
    waits, lost = (actions.open_session(ada, environment="letters") for _ in range(2))
    RuntimeSession.objects.filter(id=waits.id).update(last_used_at=timezone.now() - timedelta(seconds=400))
    RuntimeSession.objects.filter(id=lost.id).update(state="open", claimed_by="w1", claimed_until=timezone.now() - timedelta(seconds=1))
    claims.end_abandoned()
    for session, state in ((waits, "closed"), (lost, "failed")):
        session.refresh_from_db()
        assert session.state == state and session.ended_at
    assert claims.opened("w1", lost.id, relay="here:1", container_id=None) is False


def test_a_worker_that_is_alone_frees_what_its_predecessor_held(ada: Caller, letters: EnvironmentVersion) -> None:
    actions.open_session(ada, environment="letters")
    waits = actions.open_session(ada, environment="letters")
    claims.claim("w1", 1)
    assert claims.free_sessions() == 1 and claims.live_sessions() == set()
    assert [session.id for session in RuntimeSession.objects.filter(ended_at=None)] == [waits.id]
