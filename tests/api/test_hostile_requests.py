"""What strangers and broken clients send: it is refused with a sentence, never answered with a defect of ours."""

from __future__ import annotations

import base64
import json
import logging
import stat

import pytest

from config import place
from gateway.actions import endpoint_from_text
from runs.models import Run
from runs.queries import live
from tests.support.jobs import a_job

pytestmark = pytest.mark.django_db


def cursor(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


HOSTILE_KEYS = ([1, 2, 3], ["a", "b", "c"], [None, None, None], [{}, {}, {}], [10**25, "a", "b"], [0, 0, "a\0"], ["0001-01-01T00:00:00+00:00"] * 3)


@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_a_cursor_that_we_did_not_make_is_refused(ada, ada_key, client_for, key):
    job = a_job(ada)
    for path, length in (("/api/jobs", 2), (f"/api/jobs/{job.wire_id}/runs", 3)):
        reply = client_for(ada_key).get(path, {"cursor": cursor(key[:length])})
        assert (reply.status_code, reply.json()["detail"]) == (422, "cursor: must be the `next_cursor` of a page before")


def test_a_cursor_that_we_made_leads_through_every_row_once(ada, ada_key, client_for):
    job = a_job(ada)
    for path, all_of_them in ((f"/api/jobs/{job.wire_id}/runs", 6), ("/api/jobs", 1)):
        seen, after = [], ""
        while after is not None:
            page = client_for(ada_key).get(path, {"limit": 1, "cursor": after}).json()
            seen += [item["id"] for item in page["items"]]
            after = page["next_cursor"]
        assert len(seen) == len(set(seen)) == all_of_them


def test_digits_of_other_kinds_count_as_absent(ada, ada_key, client_for):
    a_job(ada)
    path = f"/api/runs/{Run.objects.first().wire_id}/steps"
    assert client_for(ada_key).get(path, {"after": "²", "attempt": "²"}).json()["items"] == []
    assert client_for(ada_key).get("/v2/jobs", {"offset": "²"}).json()["total"] == 1


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "²", "\0", 10**30])
def test_a_live_cursor_from_outside_our_time_means_now(ada, text):
    job = a_job(ada)
    assert len(live.changed_of_jobs([job.id], live.read_cursor(text))) == 6


def test_an_endless_email_is_a_wrong_one(client):
    reply = client.post("/auth/sign-in", json.dumps({"email": "x" * 100_000, "password": "y"}), content_type="application/json")
    assert (reply.status_code, reply.json()["detail"]) == (401, "E-mail or password is wrong")


@pytest.mark.parametrize("path", ["/gateway/chat/completions", "/v2/rollouts/submit", "/api/jobs", "/v2/tasks/upload"])
def test_json_two_thousand_levels_deep_is_refused(ada, ada_key, client_for, path):
    endpoint_from_text(ada, "gpt-*|http://127.0.0.1:1/v1|k")
    deep = b'{"model": "gpt-5", "messages": ' + b'{"a":' * 2000 + b"1" + b"}" * 2001
    reply = client_for(ada_key).post(path, deep, content_type="application/json")
    assert reply.status_code in (400, 422) and reply.json()["error"]["code"] in ("bad_json", "invalid")


def test_a_model_that_is_down_is_logged_once(ada, ada_key, client_for, caplog):
    endpoint_from_text(ada, "gpt-*|http://127.0.0.1:1/v1|k")
    with caplog.at_level(logging.WARNING):
        reply = client_for(ada_key).post("/gateway/chat/completions", '{"model": "gpt-5"}', content_type="application/json")
    assert reply.status_code == 502
    assert [record.name for record in caplog.records] == ["gateway.forward"]


def test_a_new_data_folder_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("PROCTOR_DATA", str(tmp_path / "data"))
    assert stat.S_IMODE(place.data_folder().stat().st_mode) == 0o700


@pytest.mark.parametrize("path", ["/", "/jobs/x", "/api/docs", "/api/jobs", "/task-apps/x/"])
def test_every_page_has_a_policy_that_runs_and_frames_nothing_from_elsewhere(ada_key, client_for, path):
    reply = client_for(ada_key).get(path)
    policy = dict(part.strip().split(" ", 1) for part in reply["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert not {"script-src", "frame-src", "child-src"} & set(policy)  # nothing is wider than the default
    assert reply["X-Content-Type-Options"] == "nosniff"
