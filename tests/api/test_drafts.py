"""Drafts: edits gathered and committed as one version, exact, checked, and never over another's work unasked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.callers import Caller
from tasksets.models import Draft, Version
from tests.support.tasksets import Api, row


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Api:
    made = Api(ada_key)
    made.upload("s", row("a", args={"n": 1}, columns={"level": "hard", "ops": 3}), row("b", env="zoo"), row("c"), row("d"))
    return made


def text(**more: Any) -> str:
    return json.dumps({"env": "letters", "id": "count", **more})


def edit(api: Api, *changes: dict[str, Any]) -> Any:
    return api.send("/api/tasksets/s/draft", {"changes": list(changes)}, "PUT")


def commit(api: Api, **body: Any) -> Any:
    return api.send("/api/tasksets/s/draft/commit", {"message": "why", **body})


def counts(draft: dict[str, Any]) -> list[int]:
    return [draft[what] for what in ("changed", "added", "removed", "moved")]


def test_edits_are_gathered_and_committed_as_one_version(api: Api) -> None:
    assert api.get("/api/tasksets/s/draft").status_code == 404
    assert edit(api, {"op": "set", "slug": "a", "text": text(args={"n": 2})}).status_code == 200
    edit(api, {"op": "remove", "slug": "b"}, {"op": "add", "slug": "new", "text": text(), "position": 1})
    draft = edit(api, {"op": "set", "slug": "d", "position": 0}).json()
    assert counts(draft) == [1, 1, 1, 1] and (draft["base_number"], draft["head_number"], draft["conflicts"]) == (1, 1, [])
    assert [(one["op"], one["slug"], one["position"]) for one in draft["changes"]] == [("set", "a", None), ("remove", "b", None), ("add", "new", 1), ("set", "d", 0)]  # fmt: skip
    assert api.get("/api/tasksets/s/draft").json() == draft and Version.objects.count() == 1
    done = commit(api).json()
    assert (done["version"]["number"], done["version"]["message"]) == (2, "why")
    assert [done[f"tasks_{what}"] for what in ("created", "updated", "removed")] == [1, 1, 1]
    assert api.slugs("s") == ["d", "new", "a", "c"] and api.export("s")["tasks"][2]["args"] == {"n": 2}
    assert Version.objects.get(number=2).environments == {"letters": 4} and not Draft.objects.exists()
    assert commit(api).status_code == 404


def test_a_draft_is_read_for_one_task_or_for_its_counts_alone(api: Api) -> None:
    edit(api, {"op": "set", "slug": "a", "text": text(args={"n": 2})}, {"op": "remove", "slug": "b"}, {"op": "remove", "slug": "c"})
    one = api.get("/api/tasksets/s/draft?slug=b").json()
    assert (counts(one), [change["slug"] for change in one["changes"]]) == ([1, 0, 2, 0], ["b"])
    few = api.get("/api/tasksets/s/draft?limit=1").json()
    assert (counts(few), [change["slug"] for change in few["changes"]]) == ([1, 0, 2, 0], ["a"])
    assert api.get("/api/tasksets/s/draft?slug=none").json()["changes"] == []


def test_digits_and_key_order_survive_a_draft(api: Api) -> None:
    exact = '{"z":1.10,"a":-0,"big":123456789012345678901234567890}'
    edit(api, {"op": "set", "slug": "a", "text": f'{{"env":"letters","id":"count","args":{exact},"columns":{{"p":1.50}}}}'})
    edit(api, {"op": "set", "slug": "a", "columns": '{"q":2.0}'})
    commit(api)
    task = api.get("/api/tasksets/s/tasks/a").json()
    assert (task["args"], task["columns"]) == (exact, '{"p":1.50,"q":2.0}')


def test_columns_are_merged_and_null_takes_one_away(api: Api) -> None:
    edit(api, {"op": "set", "slug": "a", "columns": '{"level":null,"split":"test"}'}, {"op": "set", "slug": "b", "columns": '{"x":1}'})
    commit(api)
    tasks = api.export("s")["tasks"]
    assert tasks[0]["columns"] == {"ops": 3, "split": "test"} and tasks[0]["args"] == {"n": 1} and tasks[1]["columns"] == {"x": 1}


def test_what_is_put_back_as_it_was_is_no_change(api: Api) -> None:
    edit(api, {"op": "set", "slug": "a", "columns": '{"ops":4}'}, {"op": "remove", "slug": "b"}, {"op": "add", "slug": "n", "text": text()})
    draft = edit(
        api, {"op": "set", "slug": "a", "columns": '{"ops":3}'}, {"op": "reset", "slug": "b"}, {"op": "remove", "slug": "n"}
    ).json()
    assert counts(draft) == [0, 0, 0, 0]
    done = commit(api).json()
    assert done["version"]["number"] == 1 and Version.objects.count() == 1 and not Draft.objects.exists()


def test_a_new_slug_keeps_the_place(api: Api) -> None:
    assert counts(edit(api, {"op": "set", "slug": "b", "new_slug": "beta"}).json()) == [0, 1, 1, 0]
    edit(api, {"op": "set", "slug": "beta", "new_slug": "gamma", "columns": '{"x":1}'})
    commit(api)
    assert api.slugs("s") == ["a", "gamma", "c", "d"] and api.export("s")["tasks"][1]["env"] == "zoo"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"op": "set", "slug": "a", "text": '{"env":"e","id":"t","args":{"n":NaN}}'}, "changes[0].text.args.n"),
        ({"op": "set", "slug": "a", "text": '{"env":"e","id":"t","args":{"n":1,"n":2}}'}, "changes[0].text.args.n"),
        ({"op": "set", "slug": "a", "text": '{"env":"e","id":"t","odd":1}'}, "changes[0].text.odd"), ({"op": "set", "slug": "a", "text": "{"}, "changes[0].text"),
        ({"op": "set", "slug": "a", "text": "[]"}, "changes[0].text"), ({"op": "set", "slug": "a", "text": '{"env":"e","id":"t","slug":"z"}'}, "changes[0].text.slug"),
        ({"op": "set", "slug": "a", "columns": "[]"}, "changes[0].columns"), ({"op": "set", "slug": "none", "columns": "{}"}, "changes[0].slug"),
        ({"op": "set", "slug": "none", "text": '{"env":"e","id":"t"}'}, "changes[0].slug"), ({"op": "remove", "slug": "none"}, "changes[0].slug"),
        ({"op": "add", "slug": "a", "text": '{"env":"e","id":"t"}'}, "changes[0].slug"), ({"op": "add", "slug": "n"}, "changes[0].text"),
        ({"op": "add", "slug": " n", "text": '{"env":"e","id":"t"}'}, "changes[0].text.slug"), ({"op": "set", "slug": "a", "new_slug": "b"}, "changes[0].new_slug"),
        ({"op": "odd", "slug": "a"}, "changes[0].op"), ({"op": "set", "slug": "a", "position": -1}, "changes[0].position"),
    ],
)  # fmt: skip
def test_a_bad_edit_is_422_with_its_place_and_nothing_is_kept(api: Api, change: dict[str, Any], path: str) -> None:
    reply = edit(api, change, {"op": "remove", "slug": "b"})
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == path, reply.json()
    found = api.get("/api/tasksets/s/draft")
    assert found.status_code == 404 or counts(found.json()) == [0, 0, 0, 0]


def test_conflicts_that_are_not_named_go_the_way_of_the_others(api: Api) -> None:
    edit(api, *({"op": "set", "slug": slug, "text": text(args={"mine": 1})} for slug in "abcd"))
    api.upload("s", *(row(slug, args={"theirs": 1}) for slug in "abc"))
    assert commit(api, others="ours").status_code == 422
    assert commit(api, resolve={"b": "mine"}, others="theirs").status_code == 200
    assert [task["args"] for task in api.export("s")["tasks"]] == [{"theirs": 1}, {"mine": 1}, {"theirs": 1}, {"mine": 1}]


def test_a_head_that_moved_elsewhere_is_no_conflict(api: Api) -> None:
    edit(api, {"op": "set", "slug": "a", "columns": '{"x":1}'}, {"op": "set", "slug": "c", "position": 0}, {"op": "remove", "slug": "d"})
    api.upload("s", row("b", args={"n": 9}), row("c", args={"n": 9}), row("e"))
    api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [{"slug": "d"}]})
    draft = api.get("/api/tasksets/s/draft").json()
    assert (draft["base_number"], draft["head_number"], draft["conflicts"]) == (1, 3, [])
    assert commit(api).json()["version"]["number"] == 4
    assert api.slugs("s") == ["c", "a", "b", "e"] and [task["args"] for task in api.export("s")["tasks"]] == [{"n": 9}, {"n": 1}, {"n": 9}, None]  # fmt: skip


def test_tasks_that_both_changed_are_conflicts_until_resolved(api: Api) -> None:
    edit(api, *({"op": "set", "slug": slug, "text": text(args={"mine": 1})} for slug in "abd"), {"op": "remove", "slug": "c"})
    edit(api, {"op": "add", "slug": "n", "text": text(args={"mine": 1})})
    api.upload("s", *(row(slug, args={"theirs": 1}) for slug in "abcn"))
    api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [{"slug": "d"}]})
    found = api.get("/api/tasksets/s/draft").json()
    shown = found["conflicts"]
    assert found["conflict_count"] == 5
    refused = commit(api)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["details"]["conflict_count"]) == (409, "draft_conflict", 5)
    assert sorted(error["details"]["conflicts"], key=lambda one: one["slug"]) == sorted(shown, key=lambda one: one["slug"])
    sides = {one["slug"]: [side and json.loads(side)["args"] for side in (one["base"], one["mine"], one["theirs"])] for one in shown}
    assert sides == {
        "a": [{"n": 1}, {"mine": 1}, {"theirs": 1}],
        "b": [None, {"mine": 1}, {"theirs": 1}],
        "c": [None, None, {"theirs": 1}],
        "d": [None, {"mine": 1}, None],
        "n": [None, {"mine": 1}, {"theirs": 1}],
    }
    assert commit(api, resolve={"a": "mine", "b": "theirs"}).status_code == 409 and Version.objects.count() == 3
    done = commit(api, resolve={"a": "mine", "b": "theirs", "c": "mine", "d": "mine", "n": "theirs"})
    assert done.status_code == 200
    assert [(task["name"], task["args"]) for task in api.export("s")["tasks"]] == [("a", {"mine": 1}), ("b", {"theirs": 1}), ("n", {"theirs": 1}), ("d", {"mine": 1})]  # fmt: skip


def test_the_same_change_on_both_sides_is_no_conflict(api: Api) -> None:
    edit(api, {"op": "set", "slug": "c", "text": text(args={"n": 5})}, {"op": "remove", "slug": "d"})
    api.upload("s", row("c", args={"n": 5}))
    api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [{"slug": "d"}]})
    assert commit(api).json()["version"]["number"] == 3, "all is there already"


def bulk(api: Api, **body: Any) -> Any:
    return api.send("/api/tasksets/s/draft/bulk", body)


def test_many_tasks_are_edited_at_once(api: Api) -> None:
    assert counts(bulk(api, q="", set_columns='{"split":"test"}').json()) == [4, 0, 0, 0]
    assert counts(bulk(api, slugs=["b", "c"], remove=True).json()) == [2, 0, 2, 0]
    assert counts(bulk(api, filter={"level": ["hard"], "ops": ["3"]}, duplicate=True).json()) == [2, 1, 2, 0]
    assert counts(bulk(api, slugs=["a", "d"], duplicate=True).json()) == [2, 3, 2, 0]
    commit(api)
    tasks = api.export("s")["tasks"]
    assert [task["name"] for task in tasks] == ["a", "a-copy-2", "a-copy", "d", "d-copy"]
    assert tasks[0]["columns"] == {"level": "hard", "ops": 3, "split": "test"} == tasks[1]["columns"]


def test_a_bulk_edit_says_what_it_lacks(api: Api) -> None:
    for body in ({}, {"slugs": ["a"]}, {"slugs": ["a"], "remove": True, "duplicate": True}):
        assert bulk(api, **body).status_code == 422
    for body in ({"slugs": ["none"], "remove": True}, {"slugs": ["none"], "duplicate": True}, {"slugs": ["a"], "set_columns": "[]"}):
        assert bulk(api, **body).status_code == 422
    assert counts(bulk(api, q="none", remove=True).json()) == [0, 0, 0, 0]


def test_a_draft_of_an_empty_set_makes_its_first_version(api: Api) -> None:
    api.send("/api/tasksets", {"name": "empty"})
    draft = api.send("/api/tasksets/empty/draft", {"changes": [{"op": "add", "slug": "a", "text": text()}]}, "PUT").json()
    assert (draft["base_number"], draft["added"]) == (None, 1)
    assert api.send("/api/tasksets/empty/draft/commit", {}).json()["version"]["number"] == 1 and api.slugs("empty") == ["a"]


def test_a_draft_is_its_persons_own(api: Api, bo: Caller, cy_key: str, ada: Caller) -> None:
    from accounts.actions import create_key

    edit(api, {"op": "remove", "slug": "a"})
    bos = Api(create_key(bo, name="bo", scopes=["read", "write"]).secret)
    assert bos.get("/api/tasksets/s/draft").status_code == 404
    assert counts(edit(bos, {"op": "remove", "slug": "b"}).json()) == [0, 0, 1, 0]
    assert commit(bos).status_code == 200 and commit(api).status_code == 200 and api.slugs("s") == ["c", "d"]
    reader, stranger = Api(create_key(ada, name="reader", scopes=["read"]).secret), Api(cy_key)
    for somebody, status in ((reader, 403), (stranger, 404)):
        assert edit(somebody, {"op": "remove", "slug": "c"}).status_code == status
        assert bulk(somebody, slugs=["c"], remove=True).status_code == status and commit(somebody).status_code == status
        assert somebody.get("/api/tasksets/s/draft").status_code == status


def test_an_archived_set_takes_no_edits(api: Api) -> None:
    edit(api, {"op": "remove", "slug": "a"})
    api.send("/api/tasksets/s", {"archived": True}, "PATCH")
    assert edit(api, {"op": "remove", "slug": "b"}).status_code == 409 and commit(api).status_code == 409
    assert api.send("/api/tasksets/s/draft", b"", "DELETE").status_code == 204 and not Draft.objects.exists()
    assert api.send("/api/tasksets/s/draft", b"", "DELETE").status_code == 404
