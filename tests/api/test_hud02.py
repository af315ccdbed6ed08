"""HUD 0.2.x over HTTP, without a sandbox: jobs, tasksets, walls and bad input. Sandboxes and the real client: tests/peers/test_hud02.py."""

from __future__ import annotations

import base64
import json
import uuid
from typing import Any

import pytest
from django.test import Client

from accounts.callers import Caller
from accounts.names import normalise
from environments.hud02.names import image_handle
from environments.models import Environment, EnvironmentVersion, RuntimeSession
from environments.sessions.actions import open_on
from runs.hud02 import _store
from runs.models import Blob, Run, SpanSegment

pytestmark = pytest.mark.django_db


def post(client: Client, path: str, body: object, **headers: str) -> Any:
    return client.post(f"/hud02{path}", json.dumps(body), content_type="application/json", headers=headers)


@pytest.fixture
def session(ada: Caller) -> RuntimeSession:
    environment = Environment.objects.create(team_id=ada.team_id, name="clicks", title="clicks", kind="hud02")
    version = EnvironmentVersion.objects.create(environment=environment, number=1, status="ready", source="image", image="clicks:1")
    return open_on(ada, version)


def test_c2_make_request_creates_one_job_however_often_it_is_sent(client_for: Any, ada_key: str) -> None:
    client = client_for(ada_key)
    key = {"Idempotency-Key": uuid.uuid4().hex}
    first, again, other = (post(client, "/v2/jobs", {"name": "j"}, **headers).json() for headers in (key, key, {}))
    assert first["id"] == again["id"] != other["id"]
    assert client.get(f"/hud02/v2/jobs/{first['id']}").json()["name"] == "j"
    assert client.get(f"/hud02/v2/jobs/{first['id']}/trajectories").json() == []


def test_c2_observation_screenshots_are_kept_as_references(client_for: Any, ada_key: str, ada: Caller) -> None:
    client, run_id = client_for(ada_key), str(uuid.uuid4())
    post(client, f"/v2/task_runs/{run_id}/telemetry-upload", {"metadata": {}, "telemetry": []})
    run = Run.objects.get(wire_id=run_id)
    shot = base64.b64encode(b"\x89PNG" + bytes(5_000_000)).decode()
    step = {"source": "tool", "call": {"name": "step", "arguments": {}, "id": "c"}, "result": {"content": [{"type": "image", "data": shot, "mimeType": "image/png"}]}}
    attributes = {"hud.schema": "hud.step.v1", "hud.task_run_id": run_id, "hud.payload": step}
    span = {"name": "step.tool", "trace_id": run.wire_id.hex, "span_id": "a" * 16, "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z", "attributes": attributes}
    assert _store(ada.team_id, run.id, [json.dumps(span).encode()]) == 1
    assert Blob.objects.filter(team_id=ada.team_id).count() == 1
    assert sum(len(bytes(segment.body)) for segment in SpanSegment.objects.filter(run=run)) < 10_000


def test_a_record_that_is_sent_again_is_one_step(client_for: Any, ada_key: str) -> None:
    client, run_id = client_for(ada_key), str(uuid.uuid4())
    record = {"type": "mcp-step", "actions": [{"type": "click"}], "start_timestamp": "2026-01-01T00:00:00Z", "metadata": {"mcp_method": "tools/call"}}
    body = {"metadata": {"is_root": True}, "telemetry": [record]}
    assert [post(client, f"/v2/task_runs/{run_id}/telemetry-upload", body).status_code for _ in range(2)] == [200, 200]
    run = client.get(f"/api/runs/{run_id}").json()
    assert (run["state"], run["counted"], run["reward"]) == ("completed", "failed", None), "a trace without a grade has no reward"
    assert client.get(f"/api/runs/{run_id}/steps").json()["total"] == 1


def test_steps_that_are_told_after_the_fact_are_kept_once_whatever_their_shape(client_for: Any, ada_key: str, session: RuntimeSession) -> None:
    client, address = client_for(ada_key), f"/v2/environments/{session.id}/telemetry-upload"
    body = {"results": {"steps": [{"type": "click", "metadata": None}, "as text", {"n": 1}]}}
    assert [post(client, address, body).status_code for _ in range(2)] == [200, 200]
    session.refresh_from_db()
    assert client.get(f"/api/runs/{session.run_wire_id}/steps").json()["total"] == 3
    assert post(client, address, {"results": 5}).status_code == 422


@pytest.mark.parametrize("row", [{"prompt": 5}, {"prompt": "p", "gym": "docker"}, {}])
def test_a_row_that_is_no_task_is_refused(client_for: Any, ada_key: str, row: dict[str, Any]) -> None:
    answer = post(client_for(ada_key), "/v2/tasksets", {"name": "legacy", "tasks": [row]})
    assert answer.status_code == 422, answer.content
    assert client_for(ada_key).get("/hud02/v2/tasksets/legacy/tasks").status_code == 404


def test_digits_of_a_call_survive(client_for: Any, ada_key: str) -> None:
    client = client_for(ada_key)
    body = b'{"name":"digits","tasks":[{"prompt":"p","gym":"qa","evaluate":{"function":"is","args":[1.10,12345678901234567890123]}}]}'
    assert client.post("/hud02/v2/tasksets", body, content_type="application/json").status_code == 200
    assert b"[1.10,12345678901234567890123]" in client.get("/hud02/v2/tasksets/digits/tasks").content


@pytest.mark.parametrize(
    ("path", "body"),
    [("state", None), ("execute", {"command": ["true"]}), ("get_archive", {"path": "/"}), ("put_archive", {"path": "/", "content": ""}), ("telemetry-upload", {}), ("invoke", {"function": "a", "args": []}), ("close", {})],
)
def test_another_teams_environment_is_not_there(client_for: Any, cy_key: str, session: RuntimeSession, path: str, body: object) -> None:
    client, address = client_for(cy_key), f"/v2/environments/{session.id}/{path}"
    answer = client.get(f"/hud02{address}") if body is None else post(client, address, body)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("image", "handle"),
    [("team/clicks:1", "clicks"), ("host:5000/team/Clicks", "clicks"), ("clicks@sha256:" + "0" * 64, "clicks"), ("a/b/c.d_e:f@sha256:0", "cde"), ("@@", "image")],
)
def test_an_image_without_an_environment_is_called_by_its_last_word(image: str, handle: str) -> None:
    assert normalise(image_handle(image)) == image_handle(image)
    assert image_handle(image).replace("-", "") == handle


@pytest.mark.parametrize("name", ["os;print(1)", "a\nprint(1)", "", "a b"])
def test_a_hostile_function_name_is_refused(client_for: Any, ada_key: str, session: RuntimeSession, name: str) -> None:
    answer = post(client_for(ada_key), f"/v2/environments/{session.id}/invoke", {"function": name, "args": []})
    assert answer.status_code == 422 and "function" in answer.json()["detail"]


def test_an_environment_that_is_closed_is_gone_and_closing_again_is_well(client_for: Any, ada_key: str, session: RuntimeSession) -> None:
    client, address = client_for(ada_key), f"/v2/environments/{session.id}"
    assert [post(client, f"{address}/close", {}).status_code for _ in range(2)] == [200, 200]
    assert client.get(f"/hud02{address}/state").json() == {"state": "completed"}
    assert post(client, f"{address}/execute", {"command": ["true"]}).status_code == 410


def test_a_matcher_that_is_not_known_is_refused(client_for: Any, ada_key: str) -> None:
    answer = post(client_for(ada_key), "/evaluations/evaluate", {"response": "a", "answer": "a", "type": "judge"})
    assert answer.status_code == 422 and "type" in answer.json()["detail"]
