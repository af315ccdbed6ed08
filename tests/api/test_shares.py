"""Share links: made once, shown to anybody, revoked for good; nothing but what was shared, and no names of people."""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import throttle
from accounts.callers import Caller
from accounts.models import AuditEvent
from shares import actions
from shares.models import Share
from tests.support.tasksets import Api, body_of, row
from web.masking import MaskingFormatter, mask


@pytest.fixture(autouse=True)
def fresh(settings: Any, blobs: Path) -> None:
    throttle.forget("share:127.0.0.1")
    settings.PROCTOR_PUBLIC_URL = "https://proctor.example/"


@pytest.fixture
def api(ada_key: str) -> Api:
    api = Api(ada_key)
    api.upload("My Zoo", row("a", args={"n": 1}), row("b/ü", columns={"x": 1}))
    return api


@pytest.fixture
def visitor() -> Client:
    return Client()


def share(api: Api, reference: str = "my-zoo", **more: Any) -> dict[str, Any]:
    made = api.send("/api/shares", {"kind": "taskset", "reference": reference, **more})
    assert made.status_code == 201, made.content
    return dict(made.json())


def token_of(made: dict[str, Any]) -> str:
    assert made["url"].startswith("https://proctor.example/share/")
    return str(made["url"].rpartition("/")[2])


def paths(token: str) -> list[str]:
    return [f"/api/shared/{token}{rest}" for rest in ("", "/tasks", "/tasks/a", "/download")]


def test_a_link_shows_the_set_its_tasks_and_a_file_without_sign_in(api: Api, visitor: Client) -> None:
    made = share(api)
    assert (made["kind"], made["reference"], made["title"], made["pinned"], made["state"]) == ("taskset", "my-zoo", "My Zoo", False, "live")
    token = token_of(made)
    seen = visitor.get(f"/api/shared/{token}")
    assert {"name", "title", "version_number", "digest", "task_count", "environments", "pinned"} <= seen.json().keys()
    assert (seen.json()["title"], seen.json()["task_count"], seen.json()["version_number"]) == ("My Zoo", 2, 1)
    rows = visitor.get(f"/api/shared/{token}/tasks?limit=1").json()
    assert [one["slug"] for one in rows["items"]] == ["a"] and rows["total"] == 2
    rest = visitor.get(f"/api/shared/{token}/tasks?cursor={rows['next_cursor']}").json()
    assert [one["slug"] for one in rest["items"]] == ["b/ü"] and rest["next_cursor"] is None
    assert [one["slug"] for one in visitor.get(f"/api/shared/{token}/tasks?q=ü").json()["items"]] == ["b/ü"]
    assert visitor.get(f"/api/shared/{token}/tasks/b/%C3%BC").json()["columns"] == '{"x":1}'
    assert visitor.get(f"/api/shared/{token}/tasks/none").status_code == 404
    file = visitor.get(f"/api/shared/{token}/download?format=jsonl")
    assert body_of(file).count(b"\n") == 2 and file["Proctor-Digest"] == seen.json()["digest"]


def test_the_token_is_kept_as_its_hash_only_and_shown_once(api: Api) -> None:
    token = token_of(share(api))
    stored = Share.objects.get()
    assert stored.token_sha256 == hashlib.sha256(token.encode()).hexdigest() and len(token) >= 43
    listed = api.get("/api/shares").content.decode() + json.dumps([*AuditEvent.objects.values()], default=str) + str(vars(stored))
    assert token not in listed and "url" not in api.get("/api/shares").json()["items"][0]


def test_wrong_expired_and_revoked_links_answer_the_same(api: Api, visitor: Client) -> None:
    expired, revoked = share(api, expires_at=(timezone.now() + timedelta(days=1)).isoformat()), share(api)
    Share.objects.filter(id=expired["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.send(f"/api/shares/{revoked['id']}/revoke", {}).json()["state"] == "revoked"
    again = api.send(f"/api/shares/{revoked['id']}/revoke", {}).json()
    assert again["revoked_at"] == api.get("/api/shares").json()["items"][0]["revoked_at"]
    bodies = set()
    for token in (token_of(expired), token_of(revoked), "x" * 43):
        throttle.forget("share:127.0.0.1")
        for path in paths(token):
            reply = visitor.get(path)
            assert reply.status_code == 404, path
            bodies.add(reply.json()["detail"])
    assert len(bodies) == 1
    assert [one["state"] for one in api.get("/api/shares").json()["items"]] == ["revoked", "expired"]


def test_guessing_is_slowed_down_and_a_good_link_is_not(api: Api, visitor: Client) -> None:
    token = token_of(share(api))
    answers = [visitor.get(f"/api/shared/guess-{index}").status_code for index in range(12)]
    assert answers == [404] * 10 + [429] * 2 and visitor.get(f"/api/shared/{token}").status_code == 200


def test_files_of_one_link_are_limited(api: Api, visitor: Client) -> None:
    token = token_of(share(api))
    answers = [visitor.get(f"/api/shared/{token}/download").status_code for _index in range(11)]
    assert answers == [200] * 10 + [429] and visitor.get(f"/api/shared/{token}/tasks").status_code == 200


def test_a_pinned_link_keeps_its_version_and_another_follows_the_head(api: Api, visitor: Client) -> None:
    api.send("/api/tasksets/my-zoo/tags/prod", {"version": 1}, "PUT")
    pinned, tagged, following = (token_of(share(api, ref)) for ref in ("my-zoo@1", "my-zoo@prod", "my-zoo"))
    api.upload("my-zoo", row("c"))
    api.send("/api/tasksets/my-zoo/tags/prod", {"version": 2}, "PUT")
    seen = {token: visitor.get(f"/api/shared/{token}").json() for token in (pinned, tagged, following)}
    assert [(one["version_number"], one["pinned"]) for one in seen.values()] == [(1, True), (1, True), (2, False)]
    assert visitor.get(f"/api/shared/{pinned}/tasks/c").status_code == 404 and visitor.get(f"/api/shared/{following}/tasks/c").status_code == 200
    assert [one["reference"] for one in api.get("/api/shares").json()["items"]] == ["my-zoo", "my-zoo@1", "my-zoo@1"]


def test_a_cursor_leads_to_no_other_version(api: Api, visitor: Client) -> None:
    token = token_of(share(api, "my-zoo@1"))
    api.upload("my-zoo", row("secret"))
    elsewhere = api.get("/api/tasksets/my-zoo/tasks?limit=2").json()["next_cursor"]
    assert [one["slug"] for one in api.get(f"/api/tasksets/my-zoo/tasks?cursor={elsewhere}").json()["items"]] == ["secret"]
    assert visitor.get(f"/api/shared/{token}/tasks?cursor={elsewhere}").status_code == 422


def test_a_renamed_set_is_still_shown_and_an_archived_or_purged_one_is_gone(api: Api, visitor: Client) -> None:
    token = token_of(share(api))
    api.send("/api/tasksets/my-zoo", {"name": "Ark"}, "PATCH")
    assert visitor.get(f"/api/shared/{token}").json()["name"] == "ark"
    api.send("/api/tasksets/ark", {"archived": True}, "PATCH")
    assert {visitor.get(path).status_code for path in paths(token)} == {410}
    assert api.send("/api/shares", {"kind": "taskset", "reference": "ark"}).status_code == 409
    api.send("/api/tasksets/ark", {"archived": False}, "PATCH")
    assert visitor.get(f"/api/shared/{token}").status_code == 200
    api.send("/api/tasksets/ark", {"archived": True}, "PATCH")
    assert api.send("/api/tasksets/ark/purge", {"confirm": "ark"}).json()["breaks"]["share links"] == 1
    assert {visitor.get(path).status_code for path in paths(token)} == {410}


def test_no_names_of_people_leak(api: Api, visitor: Client) -> None:
    api.send("/api/tasksets/my-zoo/upload?message=by+Ada+Lovelace", {"tasks": [{"slug": "d", "env": "e", "id": "t"}]})
    token = token_of(share(api))
    seen = b"".join(visitor.get(path).content for path in paths(token)[:3]) + body_of(visitor.get(paths(token)[3] + "?format=json"))
    assert all(word not in seen.lower() for word in (b"ada", b"author", b"message", b"created_by", b"key test"))


def test_links_stay_out_of_referrers_indexes_caches_and_logs(api: Api, visitor: Client) -> None:
    token = token_of(share(api))
    for path in (f"/share/{token}", *paths(token), "/api/shared/wrong"):
        reply = visitor.get(path)
        assert (reply["Referrer-Policy"], reply["X-Robots-Tag"], reply["Cache-Control"]) == ("no-referrer", "noindex, nofollow", "private, no-store")
    assert visitor.get("/tasksets")["Referrer-Policy"] == "same-origin"
    record = logging.LogRecord("web", logging.ERROR, "", 0, "request failed path=%s request_id=%s", (f"/api/shared/{token}/tasks", "err_1"), None)
    assert MaskingFormatter("%(message)s").format(record) == "request failed path=/api/shared/***/tasks request_id=err_1"
    assert mask(f'GET "/share/{token}?x=1" 200') == 'GET "/share/***?x=1" 200' and mask("/shares/1") == "/shares/1"


def test_an_error_under_a_link_is_logged_without_its_token(api: Api, visitor: Client, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    token = token_of(share(api))

    def broken(*_arguments: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("tasksets.api_shared.open_shared", broken)
    handler = logging.StreamHandler()
    handler.setFormatter(MaskingFormatter("%(message)s"))
    logging.getLogger("web.middleware").addHandler(handler)
    try:
        visitor.raise_request_exception = False
        assert visitor.get(f"/api/shared/{token}/tasks").status_code == 500
    finally:
        logging.getLogger("web.middleware").removeHandler(handler)
    logged = capsys.readouterr().err
    assert "/api/shared/***/tasks" in logged and "RuntimeError: broken" in logged and token not in logged


def test_another_team_neither_makes_lists_nor_revokes_it(api: Api, cy_key: str) -> None:
    made, cy = share(api), Api(cy_key)
    taskset_id = api.get("/api/tasksets/my-zoo").json()["id"]
    for reference in ("my-zoo", taskset_id, "my-zoo@1"):
        assert cy.send("/api/shares", {"kind": "taskset", "reference": reference}).status_code == 404
    assert cy.get("/api/shares").json()["items"] == [] and cy.send(f"/api/shares/{made['id']}/revoke", {}).status_code == 404
    assert Share.objects.get().revoked_at is None


def test_making_and_revoking_need_the_write_scope_and_listing_to_read(api: Api, ada: Caller, ada_person: Any) -> None:
    made = share(api)
    from accounts import actions as accounts

    reader = Api(accounts.create_key(ada, name="reader", scopes=["read"]).secret)
    assert reader.send("/api/shares", {"kind": "taskset", "reference": "my-zoo"}).status_code == 403
    assert reader.send(f"/api/shares/{made['id']}/revoke", {}).status_code == 403
    assert len(reader.get("/api/shares").json()["items"]) == 1 and Api("wrong").get("/api/shares").status_code == 401


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"kind": "run", "reference": "x"}, "kind"),
        ({"kind": "taskset", "reference": ""}, "reference"),
        ({"kind": "taskset", "reference": "my-zoo", "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"kind": "taskset", "reference": "my-zoo", "expires_at": "2099-01-01T00:00:00"}, "expires_at"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_the_rule(api: Api, body: dict[str, Any], path: str) -> None:
    refused = api.send("/api/shares", body)
    assert refused.status_code == 422 and refused.json()["error"]["details"]["problems"][0]["path"] == path


def test_the_list_is_paged_and_costs_no_query_for_each_link(api: Api, ada: Caller, django_assert_max_num_queries: Any) -> None:
    for _index in range(7):
        actions.create_share(ada, kind="taskset", reference="my-zoo")
    with django_assert_max_num_queries(3):
        first = api.get("/api/shares?limit=5").json()
    second = api.get(f"/api/shares?limit=5&cursor={first['next_cursor']}").json()
    assert len({one["id"] for one in [*first["items"], *second["items"]]}) == 7 and second["next_cursor"] is None


def test_the_last_use_is_told(api: Api, visitor: Client) -> None:
    made = share(api)
    assert made["last_used_at"] is None
    visitor.get(f"/api/shared/{token_of(made)}")
    assert api.get("/api/shares").json()["items"][0]["last_used_at"] is not None
