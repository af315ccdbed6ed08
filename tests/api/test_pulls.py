"""Pulling from another Proctor: the whole set with its digest or nothing at all, whatever the peer does; the key is kept nowhere."""

from __future__ import annotations

import json
import logging
import socket
import time
import uuid
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from accounts.callers import Caller
from proctor.content import parse_row
from tasksets import versions
from tasksets.imports import actions as import_actions
from tasksets.imports import sessions
from tasksets.imports.models import Import, ImportProblem, SavedMapping, Upload, UploadPart
from tasksets.models import TaskContent, Taskset
from tasksets.pulls import actions, remote
from tests.support.peer import Handler, peer
from tests.support.tasksets import Api, row

pytestmark = pytest.mark.usefixtures("blobs")

KEY = "pk_peer_secret_0123456789"
ROWS = [b'{"slug":"a","env":"e","id":"t","args":{"n":1.10}}', b'{"slug":"b","env":"e","id":"t"}', b'{"slug":"c","env":"e","id":"t"}']
BODY = b"".join(line + b"\n" for line in ROWS)


def digest_of(rows: list[bytes]) -> str:
    tasks = [parse_row(line) for line in rows]
    return versions.digest([chunk.id for chunk in versions.cut([versions.entry(task.content_id, task.slug) for task in tasks])])


DIGEST = digest_of(ROWS)


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def good(handler: Handler, body: bytes = BODY, digest: str = DIGEST, count: int = 3) -> None:
    handler.offer(digest, count)
    handler.wfile.write(body)


def pull(api: Api, url: str, **more: Any) -> Any:
    return api.send("/api/tasksets/pull", {"url": url, "key": KEY, "reference": "zoo@3", **more})


def nothing_is_left() -> bool:
    rows = [Taskset, TaskContent, Upload, UploadPart, ImportProblem, SavedMapping]
    folders = default_storage.listdir("imports")[0] if default_storage.exists("imports") else []
    return not any(model.objects.exists() for model in rows) and folders == []


def test_a_set_is_pulled_with_its_digest_and_its_digits(api: Api) -> None:
    with peer(good) as (url, seen):
        done = pull(api, url)
    assert done.status_code == 200, done.content
    version = done.json()["version"]
    assert (done.json()["taskset"]["name"], version["digest"], version["task_count"]) == ("zoo", DIGEST, 3)
    assert version["message"] == "Pulled zoo@3 from 127.0.0.1"
    path, headers = seen[0]
    assert path == "/api/tasksets/zoo%403/download?format=jsonl" and headers["authorization"] == f"Bearer {KEY}"
    assert api.get("/api/tasksets/zoo/tasks/a").json()["args"] == '{"n":1.10}' and Upload.objects.count() == 0


def test_a_set_that_is_there_is_replaced_only_when_it_is_named(api: Api) -> None:
    api.upload("zoo", row("mine"), row("b", env="e", task_id="t"))
    with peer(good) as (url, _seen):
        refused = pull(api, url)
        assert refused.status_code == 409 and refused.json()["error"]["details"] == {"name": "zoo"}
        done = pull(api, url, name="Zoo").json()
        assert (done["version"]["number"], done["version"]["digest"], done["tasks_removed"]) == (2, DIGEST, 1)
        again = pull(api, url, name="zoo").json()
        assert (again["version"]["number"], again["tasks_unchanged"]) == (2, 3)
        assert pull(api, url, name="Other").json()["taskset"]["name"] == "other"
    assert api.slugs("zoo") == ["a", "b", "c"]


def test_the_same_id_again_answers_the_same_and_shows_as_an_import(api: Api, cy_key: str) -> None:
    pull_id = str(uuid.uuid4())
    with peer(good) as (url, seen):
        first, again = pull(api, url, id=pull_id), pull(api, url, id=pull_id)
    assert first.status_code == again.status_code == 200 and len(seen) == 1
    assert first.json()["version"]["id"] == again.json()["version"]["id"]
    shown = api.get(f"/api/imports/{pull_id}").json()
    assert (shown["status"], shown["progress"], shown["filename"]) == ("done", 1.0, "zoo.jsonl")
    assert Api(cy_key).get(f"/api/imports/{pull_id}").status_code == 404
    with peer(good) as (url, _seen):
        assert pull(Api(cy_key), url, id=pull_id).status_code in (409, 422)


def garbage(handler: Handler) -> None:
    good(handler, b"not json\n" * 3)


def endless(handler: Handler) -> None:
    handler.offer(DIGEST, 3)
    while True:
        handler.wfile.write(b'{"slug":"x"' + b" " * 65_536)


def more_rows(handler: Handler) -> None:
    good(handler, BODY + BODY)


def cut_short(handler: Handler) -> None:
    good(handler, BODY[:-30])


def other_rows(handler: Handler) -> None:
    good(handler, BODY.replace(b"1.10", b"1.1"))


def other_order(handler: Handler) -> None:
    good(handler, b"".join(line + b"\n" for line in reversed(ROWS)))


def lying_length(handler: Handler) -> None:
    handler.offer(DIGEST, 3, Content_Length="1000000")
    handler.wfile.write(BODY)


def packed(handler: Handler) -> None:
    handler.offer(DIGEST, 3, Content_Encoding="gzip")
    handler.wfile.write(b"\x1f\x8b" + b"\0" * 100)


def redirecting(handler: Handler) -> None:
    handler.offer(DIGEST, 3, status=302, Location="http://169.254.169.254/latest/meta-data")


def no_proctor(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "2")
    handler.end_headers()
    handler.wfile.write(b"{}")


def odd_count(handler: Handler) -> None:
    handler.offer(DIGEST, -1)


def too_many(handler: Handler) -> None:
    handler.offer(DIGEST, 999_999_999)


def hanging_up(handler: Handler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def no_http(handler: Handler) -> None:
    handler.wfile.write(b"\x16\x03\x01 hello" * 50)
    handler.close_connection = True


def status(number: int) -> Any:
    return lambda handler: handler.offer(DIGEST, 3, status=number)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (garbage, "digest is"), (endless, "sends more than it offered"), (more_rows, "sends more than it offered"), (cut_short, "sent 2 of 3 tasks"),
        (other_rows, "nothing was kept"), (other_order, "nothing was kept"), (lying_length, "connection broke"), (packed, "does not answer as a Proctor"),
        (redirecting, "a redirect (302)"), (no_proctor, "does not answer as a Proctor"), (odd_count, "does not answer as a Proctor"),
        (too_many, "999,999,999 tasks"), (hanging_up, "could not be reached"), (no_http, "could not be reached"), (status(401), "did not accept the key"),
        (status(404), "has no such taskset"), (status(500), "answered 500"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_a_hostile_peer_is_refused_with_nothing_left(api: Api, settings: Any, answer: Any, why: str) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "import_bytes": 2_000_000}
    with peer(answer) as (url, seen):
        refused = pull(api, url)
    assert refused.status_code == 502 and why in refused.json()["detail"], refused.content
    assert refused.json()["error"]["code"] == "pull_failed" and len(seen) == 1 and nothing_is_left()


def test_a_peer_that_drips_is_left_at_the_deadline(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(handler: Handler) -> None:
        handler.offer(DIGEST, 3)
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.02)

    monkeypatch.setattr(remote, "TOTAL_S", 0.5)
    with peer(drip) as (url, _seen):
        refused = pull(api, url)
    assert (refused.status_code, refused.json()["error"]["code"]) == (504, "pull_timeout") and nothing_is_left()


def test_a_pinned_digest_is_held_against_the_offer(api: Api) -> None:
    with peer(good) as (url, _seen):
        refused = pull(api, url, reference=f"zoo@sha256:{'0' * 64}")
        assert refused.status_code == 502 and "instead of" in refused.json()["detail"] and nothing_is_left()
        assert pull(api, url, reference=f"zoo@{DIGEST}").status_code == 200


def test_a_failed_pull_leaves_the_set_that_was_there(api: Api) -> None:
    api.upload("zoo", row("mine"))
    before = api.get("/api/tasksets/zoo").json()
    pull_id = str(uuid.uuid4())
    with peer(other_rows) as (url, _seen):
        assert pull(api, url, name="zoo", id=pull_id).status_code == 502
        assert pull(api, url, name="zoo", id=pull_id).status_code == 409
    assert api.get("/api/tasksets/zoo").json() == before and TaskContent.objects.count() == 1 and Upload.objects.count() == 0
    shown = api.get(f"/api/imports/{pull_id}").json()
    assert shown["status"] == "failed" and "nothing was kept" in shown["error"]


def test_a_cancelled_pull_ends_and_leaves_nothing(ada: Caller, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    pull_id = uuid.uuid4()
    kept = actions._kept

    def cancelling(*arguments: Any) -> Any:
        for piece in kept(*arguments):
            yield piece
            import_actions.cancel_import(ada, Import.objects.get(id=pull_id))

    monkeypatch.setattr(actions, "_kept", cancelling)
    with peer(good) as (url, _seen):
        refused = pull(api, url, id=str(pull_id))
    assert refused.status_code == 409 and "cancelled" in refused.json()["detail"] and nothing_is_left()
    assert api.get(f"/api/imports/{pull_id}").json()["status"] == "cancelled"


def test_a_pull_whose_server_was_killed_shows_as_failed_and_its_parts_are_swept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    pull_id = str(uuid.uuid4())

    def die(*_arguments: Any) -> None:
        raise Killed

    monkeypatch.setattr(actions, "_fetch", die)
    monkeypatch.setattr(actions, "_clear", lambda *_arguments: None)
    with peer(good) as (url, _seen), pytest.raises(Killed):
        pull(api, url, id=pull_id)
    assert api.get(f"/api/imports/{pull_id}").json()["status"] == "pulling"
    Import.objects.update(claimed_until=None)
    assert api.get(f"/api/imports/{pull_id}").json()["status"] == "failed"
    Upload.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert sessions.drop_expired() == 1 and nothing_is_left() and Import.objects.count() == 0


# — where it may lead, and the key


def test_only_an_instance_admin_may_pull_from_inside(cy_key: str) -> None:
    cy = Api(cy_key)
    with peer(good) as (url, seen):
        refused = pull(cy, url)
        assert refused.status_code == 422 and seen == []
        assert refused.json()["error"]["details"]["problems"][0]["path"] == "url"
    assert nothing_is_left()


@pytest.mark.parametrize(
    "url", ["ftp://host", "https://u:secretpw@host", "https://host/?x=1", "http://127.1:1", "http://[::1]:1", "http://0x7f000001", "http://169.254.169.254", "host", "http://10.0.0.1"]
)
def test_addresses_that_are_none_or_lead_inside_are_refused(cy_key: str, url: str) -> None:
    refused = pull(Api(cy_key), url)
    assert refused.status_code == 422 and "secretpw" not in refused.content.decode()


def test_a_name_that_turns_private_between_check_and_connection_is_refused(cy_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "leads_inside", lambda _url: False)
    with peer(good) as (url, seen):
        refused = pull(Api(cy_key), url)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "private_address") and seen == []


def test_the_key_is_in_no_row_no_log_and_no_answer(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answers = []
    for answer in (good, other_rows, status(401), hanging_up):
        with peer(answer) as (url, _seen):
            answers.append(pull(api, url, name=f"s{len(answers)}").content.decode())
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        dumped = [str(cursor.execute(f'SELECT * FROM "{table}"').fetchall()) for table in tables]
    assert KEY not in "".join([*answers, *dumped, caplog.text]) and "Pulled" in "".join(dumped)


@pytest.mark.parametrize(("change", "path"), [({"key": "white space"}, "key"), ({"key": "é"}, "key"), ({"name": "@"}, "name"), ({"reference": ""}, "reference"), ({"id": "x"}, "id"), ({"more": 1}, "more")])
def test_what_is_no_request_is_refused_without_showing_the_key(api: Api, change: dict[str, Any], path: str) -> None:
    refused = pull(api, "http://127.0.0.1:9", **change)
    assert refused.status_code == 422 and refused.json()["error"]["details"]["problems"][0]["path"] == path
    assert "white space" not in json.dumps(refused.json()["error"]["details"]["problems"][0]["value"])


def test_pulling_needs_the_write_scope(api: Api, ada: Caller) -> None:
    from accounts import actions as accounts

    reader = Api(accounts.create_key(ada, name="reader", scopes=["read"]).secret)
    assert pull(reader, "https://proctor.example").status_code == 403


def test_more_than_two_pulls_at_once_wait(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    monkeypatch.setattr(actions, "_places", threading.BoundedSemaphore(1))
    with actions._places, peer(good) as (url, _seen):
        refused = pull(api, url)
        assert (refused.status_code, refused["Retry-After"]) == (503, "30")
    with peer(good) as (url, _seen):
        assert pull(api, url).status_code == 200


def test_a_set_called_pull_is_still_there(api: Api) -> None:
    api.upload("pull", row("a"))
    assert api.get("/api/tasksets/pull").json()["name"] == "pull"
    assert api.send("/api/tasksets/pull", {"archived": True}, "PATCH").json()["archived_at"]
