"""The native taskset endpoints: lists, versions, tasks, the three upload modes, rename and archive."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.callers import Caller
from tasksets import actions, commits
from tasksets.models import HeadTask, Taskset, Version
from tests.support.tasksets import Api, body_of, row


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def pages(api: Api, path: str, limit: int) -> list[dict[str, Any]]:
    items, cursor = [], ""
    while True:
        page = api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}&cursor={cursor}").json()
        items += page["items"]
        cursor = page["next_cursor"]
        if not cursor:
            return items


def upload(api: Api, ref: str, mode: str, *rows: Any) -> Any:
    return api.send(f"/api/tasksets/{ref}/upload?mode={mode}&message=why", {"tasks": list(rows)})


def test_a_set_is_made_and_found_by_id_and_name(api: Api) -> None:
    made = api.send("/api/tasksets", {"name": "Long Name ✓"})
    assert made.status_code == 201
    body = made.json()
    assert (body["name"], body["title"], body["head"], body["environments"]) == ("long-name", "Long Name ✓", None, [])
    for ref in (body["id"], body["id"].replace("-", ""), "long-name", "Long%20Name"):
        assert api.get(f"/api/tasksets/{ref}").json() == body
    assert api.send("/api/tasksets", {"name": "long name"}).status_code == 409
    assert api.send("/api/tasksets", {"name": "x", "colour": 1}).status_code == 422
    assert api.get("/api/tasksets/nope").status_code == 404


def test_an_upload_answers_what_it_did(api: Api) -> None:
    api.send("/api/tasksets", {"name": "s"})
    done = upload(
        api,
        "s",
        "merge",
        row("a", env="zoo"),
        {"slug": "b", "env": "letters", "id": "count"},
        {"name": "c", "env": "letters", "scenario": "count"},
    )
    assert done.status_code == 200
    body = done.json()
    assert {key: body[key] for key in body if key.startswith("tasks_")} == {
        "tasks_created": 3,
        "tasks_updated": 0,
        "tasks_removed": 0,
        "tasks_unchanged": 0,
    }
    assert (body["version"]["number"], body["version"]["parent_number"], body["version"]["message"], body["version"]["author"]) == (
        1,
        None,
        "why",
        "key test",
    )
    assert body["taskset"]["environments"] == ["letters", "zoo"] and body["taskset"]["head"] == body["version"]
    again = upload(api, "s", "merge", row("a", env="zoo")).json()
    assert again["version"]["number"] == 1 and again["tasks_unchanged"] == 1


def test_an_exported_file_uploads_as_it_is(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}), row("b"))
    exported = body_of(api.get("/api/tasksets/s/export"))
    assert upload(api, "s", "merge", *json.loads(exported)["tasks"]).json()["tasks_unchanged"] == 2
    assert api.send("/api/tasksets/s/upload?mode=replace", exported).json()["version"]["number"] == 1


def test_a_replacement_reorders_removes_and_adds(api: Api) -> None:
    api.upload("s", *(row(slug) for slug in "abcdef"))
    done = upload(api, "s", "replace", row("f"), row("b", args={"n": 1}), row("x", env="zoo"), row("a")).json()
    assert [done[f"tasks_{what}"] for what in ("created", "updated", "removed", "unchanged")] == [1, 1, 3, 2]
    assert api.slugs("s") == ["f", "b", "x", "a"] == [item["slug"] for item in pages(api, "/api/tasksets/s/tasks", 3)]
    assert Version.objects.get(number=2).environments == {"letters": 3, "zoo": 1}


def test_a_removal_closes_the_gaps_and_repeats_quietly(api: Api) -> None:
    api.upload("s", *(row(slug) for slug in "abcdef"))
    done = upload(api, "s", "remove", {"slug": "b"}, {"name": "e"}, {"slug": "gone"}).json()
    assert (done["tasks_removed"], done["tasks_unchanged"], done["version"]["number"]) == (2, 1, 2)
    assert list(HeadTask.objects.order_by("position").values_list("position", "slug")) == [(0, "a"), (1, "c"), (2, "d"), (3, "f")]
    again = upload(api, "s", "remove", {"slug": "b"}).json()
    assert (again["tasks_removed"], again["version"]["number"]) == (0, 2)
    assert api.slugs("s") == ["a", "c", "d", "f"] and api.slugs("s@1") == list("abcdef")
    emptied = upload(api, "s", "replace").json()
    assert emptied["version"]["task_count"] == 0 and api.slugs("s") == []


def test_the_heads_own_rows_follow_every_change(api: Api) -> None:
    api.upload("s", *(row(f"t{i}", args={"n": i}) for i in range(50)))
    for mode, rows in (("remove", range(0, 50, 7)), ("replace", range(60, 10, -3)), ("merge", range(0, 80, 5)), ("replace", range(20, 70))):
        assert upload(api, "s", mode, *(row(f"t{i}", args={"n": i * 2}) for i in rows)).status_code == 200
        listed = [(item["position"], item["slug"], item["args_preview"]) for item in pages(api, "/api/tasksets/s/tasks", 7)]
        exported = [
            (index, task["name"], json.dumps(task["args"], separators=(",", ":"))) for index, task in enumerate(api.export("s")["tasks"])
        ]
        assert listed == exported


def test_a_wrong_mode_is_refused(api: Api) -> None:
    api.send("/api/tasksets", {"name": "s"})
    reply = upload(api, "s", "append", row("a"))
    assert reply.status_code == 422 and "merge, replace or remove" in reply.json()["detail"]
    assert upload(api, "s@1", "merge", row("a")).status_code == 404
    upload(api, "s", "merge", row("a"))
    assert upload(api, "s@1", "merge", row("a")).status_code == 409


def test_versions_are_listed_newest_first_and_stay(api: Api) -> None:
    for n in range(5):
        api.upload("s", row("a", args={"n": n}))
    assert [item["number"] for item in pages(api, "/api/tasksets/s/versions", 2)] == [5, 4, 3, 2, 1]
    second = api.get("/api/tasksets/s/versions/2").json()
    assert (second["parent_number"], second["created"], second["updated"], second["task_count"]) == (1, 0, 1, 1)
    assert api.export(f"s@{second['digest']}")["tasks"][0]["args"] == {"n": 1}
    assert api.get("/api/tasksets/s/versions/9").status_code == 404


def test_tasks_are_paged_searched_and_shown_whole(api: Api) -> None:
    api.upload("s", *(row(f"task-{i}", args={"word": 'say "hi"' if i == 7 else "x" * 400, "n": i}) for i in range(25)))
    api.upload("s", row("task-3", args={"n": 1.5}, columns={"level": "hard"}, runtime_config={"image": "i"}))
    for ref in ("s", "s@2"):
        found = pages(api, f"/api/tasksets/{ref}/tasks", 4)
        assert [item["position"] for item in found] == list(range(25)) and found[3]["columns"] == '{"level":"hard"}'
        assert len(found[4]["args_preview"]) == 300
    for ref in ("s", "s@1"):
        assert [item["slug"] for item in pages(api, f"/api/tasksets/{ref}/tasks?q=say+%22HI%22", 4)] == ["task-7"]
        assert [item["slug"] for item in pages(api, f"/api/tasksets/{ref}/tasks?q=TASK-1", 4)] == [
            "task-1",
            *(f"task-{i}" for i in range(10, 20)),
        ]
    assert api.get("/api/tasksets/s/tasks").json()["total"] == 25
    task = api.get("/api/tasksets/s/tasks/task-3").json()
    assert (task["args"], task["runtime_config"], task["verifier"], task["version_number"], task["position"]) == (
        '{"n":1.5}',
        '{"image":"i"}',
        None,
        2,
        3,
    )
    assert api.get("/api/tasksets/s@1/tasks/task-3").json()["version_number"] == 1
    assert api.get("/api/tasksets/s/tasks/none").status_code == 404


def test_a_slug_with_a_slash_has_a_page(api: Api) -> None:
    api.upload("s", row("a/b é"))
    assert api.get("/api/tasksets/s/tasks/a%2Fb%20%C3%A9").json()["slug"] == "a/b é"


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJhIl0", "WzEuNV0", "Wy0xXQ", "WzEsMl0", "!!"])
def test_a_foreign_cursor_is_refused(api: Api, cursor: str) -> None:
    api.upload("s", row("a"))
    for path in ("/api/tasksets", "/api/tasksets/s/versions", "/api/tasksets/s/tasks"):
        assert api.get(f"{path}?cursor={cursor}").status_code == 422, path


def test_a_rename_keeps_the_old_handle_until_another_takes_it(api: Api) -> None:
    made = api.upload("old", row("a")).json()
    changed = api.send("/api/tasksets/old", {"name": "New Name"}, "PATCH").json()
    assert (changed["name"], changed["title"]) == ("new-name", "New Name")
    assert api.get("/v2/tasksets/by-name/old").json() == {"taskset_id": made["taskset_id"], "name": "new-name"}
    assert api.upload("old", row("b")).json()["taskset_id"] == made["taskset_id"]
    taken = api.send("/api/tasksets", {"name": "Old"})
    assert taken.status_code == 201 and api.get("/v2/tasksets/by-name/old").json()["taskset_id"] == taken.json()["id"]
    assert api.send("/api/tasksets/new-name", {"name": "old"}, "PATCH").status_code == 409
    assert api.send("/api/tasksets/new-name", {"name": str(uuid.uuid4())}, "PATCH").status_code == 422
    assert api.send("/api/tasksets/new-name", {"name": "Other"}, "PATCH").status_code == 200
    assert api.send("/api/tasksets/other", {"name": "New name"}, "PATCH").json()["name"] == "new-name", "back to its own old one"


def test_an_archived_set_is_hidden_readable_and_restorable(api: Api) -> None:
    api.upload("s", row("a"))
    assert api.send("/api/tasksets/s", {"archived": True}, "PATCH").json()["archived_at"]
    assert api.get("/api/tasksets").json()["items"] == [] and len(api.get("/api/tasksets?archived=1").json()["items"]) == 1
    assert api.slugs("s") == ["a"] and api.upload("s", row("b")).status_code == 409
    assert api.send("/api/tasksets/s", {"archived": False}, "PATCH").json()["archived_at"] is None
    assert api.upload("s", row("b")).status_code == 200


def test_sets_are_listed_by_change_and_searched(api: Api) -> None:
    for name in ("One", "Two", "Three", "Four"):
        api.upload(name, row("a"))
    api.upload("One", row("b"))
    assert [item["name"] for item in pages(api, "/api/tasksets", 3)] == ["one", "four", "three", "two"]
    assert [item["name"] for item in pages(api, "/api/tasksets?q=T", 1)] == ["three", "two"]


@pytest.mark.parametrize("path", ["/api/tasksets", "/api/tasksets/s0/tasks", "/api/tasksets/s0/versions"])
def test_a_list_costs_the_same_queries_however_long(api: Api, path: str) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get(path).status_code == 200
        return len(caught)

    api.upload("s0", row("a"))
    api.get(path)
    before = count()
    for n in range(6):
        api.upload(f"s{n}", *(row(f"t{i}", args={"n": n}) for i in range(n + 3)))
        api.upload("s0", row("a", args={"n": n}))
    assert count() == before <= 6


def test_another_team_sees_nothing(api: Api, cy_key: str) -> None:
    api.upload("s", row("a"))
    taskset, version = Taskset.objects.get(), Version.objects.get()
    theirs = Api(cy_key)
    assert theirs.get("/api/tasksets").json()["items"] == []
    for ref in ("s", "s@1", str(taskset.id), str(version.id)):
        for rest in ("", "/versions", "/versions/1", "/tasks", "/tasks/a", "/export"):
            assert api.get(f"/api/tasksets/{ref}{rest}").status_code == 200
            assert theirs.get(f"/api/tasksets/{ref}{rest}").status_code == 404, (ref, rest)
        assert upload(theirs, ref, "merge", row("x")).status_code == 404
        assert theirs.send(f"/api/tasksets/{ref}", {"archived": True}, "PATCH").status_code == 404


def test_a_viewers_key_may_read_but_not_write(api: Api, ada: Any) -> None:
    from accounts.actions import create_key

    api.upload("s", row("a"))
    reader = Api(create_key(ada, name="reader", scopes=["read"]).secret)
    assert reader.slugs("s") == ["a"] and reader.get(f"/v2/tasksets/{Taskset.objects.get().id}").json()["can_edit"] is False
    for reply in (
        reader.upload("s", row("b")),
        upload(reader, "s", "merge", row("b")),
        reader.send("/api/tasksets", {"name": "n"}),
        reader.send("/api/tasksets/s", {"archived": True}, "PATCH"),
    ):
        assert reply.status_code == 403


@pytest.mark.parametrize("new", [True, False])
def test_an_upload_that_another_overtakes_is_planned_again(api: Api, ada: Caller, monkeypatch: pytest.MonkeyPatch, new: bool) -> None:
    if not new:
        api.upload("s", row("a"))
    write_contents, overtaken = commits._write_contents, []

    def other_upload_first(*args: Any) -> None:
        if not overtaken:
            overtaken.append(True)
            actions.upload(ada, name="s", body=json.dumps({"tasks": [row("b"), row("c", args={"n": 1})]}).encode())
        write_contents(*args)

    monkeypatch.setattr(commits, "_write_contents", other_upload_first)
    done = actions.upload(ada, name="s", body=json.dumps({"tasks": [row("c", args={"n": 2}), row("d")]}).encode())
    assert (done.created, done.updated) == (1, 1), "counted against what the other one left"
    assert api.slugs("s") == (["b", "c", "d"] if new else ["a", "b", "c", "d"])
    assert [version.number for version in Version.objects.order_by("number")] == ([1, 2] if new else [1, 2, 3])
