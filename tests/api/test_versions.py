"""What is done with versions: tags, differences, restore and undo, a task's history."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.callers import Caller
from accounts.models import AuditEvent
from tasksets import commits
from tasksets.models import HeadTask, Taskset, Version
from tests.support.tasksets import Api, row


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def tag(api: Api, name: str, version: int) -> Any:
    return api.send(f"/api/tasksets/s/tags/{name}", {"version": version}, "PUT")


def replace(api: Api, *rows: Any) -> Any:
    return api.send("/api/tasksets/s/upload?mode=replace", {"tasks": list(rows)}).json()


def test_a_tag_names_a_version_everywhere_and_moves_with_its_history(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}))
    api.upload("s", row("a", args={"n": 2}))
    made = tag(api, "prod", 1)
    assert made.status_code == 200 and (made.json()["version_number"], made.json()["moved_by"]) == (1, "key test")
    first = Version.objects.get(number=1)
    assert api.get("/v2/tasksets/by-name/s@prod").json()["taskset_id"] == str(first.id)
    assert api.export("s@prod")["tasks"][0]["args"] == {"n": 1} and api.get("/api/tasksets/s@prod/tasks/a").json()["version_number"] == 1
    assert tag(api, "prod", 2).json()["digest"] == Version.objects.get(number=2).digest
    tag(api, "prod", 2)
    tag(api, "2026-q4", 1)
    listed = api.get("/api/tasksets/s/tags").json()["items"]
    assert [(one["name"], one["version_number"], [move["version_number"] for move in one["history"]]) for one in listed] == [
        ("2026-q4", 1, [1]),
        ("prod", 2, [2, 1]),
    ]
    assert AuditEvent.objects.filter(verb="taskset.tag").count() == 3, "a tag that stays where it is did not move"


def test_a_tag_taken_off_names_nothing_and_keeps_its_history(api: Api) -> None:
    api.upload("s", row("a"))
    tag(api, "prod", 1)
    assert api.send("/api/tasksets/s/tags/prod", b"", "DELETE").status_code == 204
    assert api.get("/api/tasksets/s/tags").json()["items"] == [] and api.get("/api/tasksets/s@prod").status_code == 404
    assert api.send("/api/tasksets/s/tags/prod", b"", "DELETE").status_code == 404
    assert [move["version_number"] for move in tag(api, "prod", 1).json()["history"]] == [1, None, 1]


def test_an_unknown_tag_is_404_and_lists_the_newest_ten(api: Api) -> None:
    for number in range(12):
        api.upload("s", row("a", args={"n": number}))
    for path in ("/v2/tasksets/by-name/s@gone", "/api/tasksets/s@gone", "/api/tasksets/s@gone/export", "/api/tasksets/s/diff?from=gone"):
        reply = api.get(path)
        assert reply.status_code == 404 and "gone" in reply.json()["detail"]
        assert [version["number"] for version in reply.json()["error"]["details"]["versions"]] == list(range(12, 2, -1)), path
    assert tag(api, "prod", 99).status_code == 404


@pytest.mark.parametrize("name", ["12", "sha256", "sha256-x", "Prod", "-a", ".a", "a b", "ä", "x" * 65])
def test_a_tag_that_reads_as_something_else_is_refused(api: Api, name: str) -> None:
    api.upload("s", row("a"))
    reply = tag(api, name, 1)
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == "tag"


def test_tags_cost_the_same_queries_however_many(api: Api) -> None:
    api.upload("s", row("a"))
    tag(api, "t0", 1)

    def count() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get("/api/tasksets/s/tags").status_code == 200
        return len(caught)

    before = count()
    for n in range(1, 6):
        tag(api, f"t{n}", 1)
    assert count() == before
    page = api.get("/api/tasksets/s/tags?limit=4").json()
    rest = api.get(f"/api/tasksets/s/tags?limit=4&cursor={page['next_cursor']}").json()
    assert [one["name"] for one in [*page["items"], *rest["items"]]] == [f"t{n}" for n in range(6)] and rest["next_cursor"] is None


def test_a_diff_tells_rows_and_fields(api: Api) -> None:
    api.upload("s", row("a", args={"question": "q", "n": 1}), row("b"), row("c"), row("d", columns={"ops": "1"}), row("e"), row("f"))
    replace(api, row("new"), row("a", args={"question": "Q", "n": 1}), row("f"), row("d", columns={"ops": 1}), row("c"), row("e"))
    page = api.get("/api/tasksets/s/diff?from=1&to=2").json()
    assert (page["from"]["number"], page["to"]["number"]) == (1, 2)
    assert page["counts"] == {"added": 1, "removed": 1, "moved": 1, "changed": 2, "unchanged": 2}
    assert [(one["slug"], one["kind"], one["from_position"], one["to_position"], one["moved"]) for one in page["items"]] == [
        ("new", "added", None, 0, False),
        ("b", "removed", 1, None, False),
        ("a", "changed", 0, 1, False),
        ("f", "moved", 5, 2, True),
        ("d", "changed", 3, 3, True),
    ]
    assert page["items"][2]["fields"] == [{"path": "args.question", "kind": "changed", "before": '"q"', "after": '"Q"', "note": None}]
    assert page["items"][4]["fields"][0] == {"path": "columns.ops", "kind": "changed", "before": '"1"', "after": "1", "note": "string became number"}  # fmt: skip
    assert api.get("/api/tasksets/s/diff").json() == page, "the head against its parent"
    assert [one["slug"] for one in api.get("/api/tasksets/s/diff?kind=changed,removed&q=A").json()["items"]] == ["a"]
    assert api.get("/api/tasksets/s/diff?kind=odd").status_code == 422
    back = api.get("/api/tasksets/s/diff?from=2&to=1").json()["counts"]
    assert (back["added"], back["removed"], back["changed"]) == (1, 1, 2)


def test_a_diff_of_a_first_version_has_everything_added_and_of_one_with_itself_nothing(api: Api) -> None:
    api.upload("s", row("a"), row("b"))
    first = api.get("/api/tasksets/s/diff").json()
    assert first["from"] is None and first["counts"]["added"] == 2
    assert api.get("/api/tasksets/s/diff?from=1&to=1").json()["counts"] == {"added": 0, "removed": 0, "moved": 0, "changed": 0, "unchanged": 2}  # fmt: skip
    api.send("/api/tasksets", {"name": "empty"})
    assert api.get("/api/tasksets/empty/diff").json()["to"] is None


def test_a_diff_is_paged_without_gap_or_repeat(api: Api) -> None:
    api.upload("s", *(row(f"t{i:02}", args={"n": i}) for i in range(40)))
    api.upload("s", *(row(f"t{i:02}", args={"n": -i - 1}) for i in range(0, 40, 3)))
    slugs, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/api/tasksets/s/diff?limit=4&cursor={cursor}").json()
        slugs += [one["slug"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert slugs == [f"t{i:02}" for i in range(0, 40, 3)]


def test_a_diff_costs_the_same_queries_however_many_rows(api: Api) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as caught:
            assert api.get("/api/tasksets/s/diff").status_code == 200
        return len(caught)

    api.upload("s", *(row(f"t{i}") for i in range(30)))
    for n in range(2):
        api.upload("s", row("t1", args={"n": n}))
    before = count()
    api.upload("s", *(row(f"t{i}", args={"n": 2}) for i in range(30)))
    assert count() == before


def test_both_sides_of_a_task_are_given_whole(api: Api) -> None:
    api.upload("s", row("a", args={"text": "x" * 3_000}), row("b"))
    replace(api, row("a", args={"text": "y" * 3_000}), row("c"))
    both = api.get("/api/tasksets/s/diff/task?slug=a").json()
    assert (both["kind"], both["before"]["version_number"], both["after"]["version_number"]) == ("changed", 1, 2)
    assert len(both["after"]["args"]) > 3_000 and both["fields"][0]["note"] == "before: 3,002 bytes, cut; after: 3,002 bytes, cut"
    assert [api.get(f"/api/tasksets/s/diff/task?slug={slug}").json()["kind"] for slug in "bc"] == ["removed", "added"]
    assert api.get("/api/tasksets/s/diff/task?slug=none").status_code == 404
    assert api.get("/api/tasksets/s/diff/task").status_code == 422


def test_a_restored_version_equals_the_old_one(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}), row("b"), row("c", env="zoo"))
    replace(api, row("c", env="zoo"), row("d"), row("a", args={"n": 2}))
    tag(api, "good", 1)
    done = api.send("/api/tasksets/s/restore", {"version": "good"}).json()
    first, third = Version.objects.get(number=1), Version.objects.get(number=3)
    assert (third.digest, third.environments, third.message) == (first.digest, first.environments, "Restore version 1")
    assert (done["tasks_created"], done["tasks_updated"], done["tasks_removed"]) == (1, 1, 1)
    assert [(one.position, one.slug) for one in HeadTask.objects.order_by("position")] == [(0, "a"), (1, "b"), (2, "c")]
    assert api.export("s") == api.export("s@1") and api.get("/api/tasksets/s/tasks/a").json()["args"] == '{"n":1}'
    again = api.send("/api/tasksets/s/restore", {"version": 1, "message": "once more"}).json()
    assert again["version"]["number"] == 3 and Version.objects.count() == 3
    assert api.send("/api/tasksets/s/restore", {"version": 9}).status_code == 404
    assert api.send("/api/tasksets/s@1/restore", {"version": 1}).status_code == 409


def test_a_wholly_new_order_takes_few_statements(api: Api) -> None:
    rows = [row(f"t{i}", args={"n": i}) for i in range(600)]
    api.upload("s", *rows)
    with CaptureQueriesContext(connection) as caught:
        replace(api, *rows[::-2], row("new"), *rows[:10:2])
    assert len(caught) < 40
    listed = HeadTask.objects.order_by("position").values_list("position", "slug")
    assert list(listed) == list(enumerate(api.slugs("s"))) and len(listed) == 306


def test_undo_goes_back_one_version_and_undo_again_forward(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}))
    assert api.send("/api/tasksets/s/undo", {}).status_code == 409
    api.upload("s", row("b"))
    undone = api.send("/api/tasksets/s/undo", {}).json()
    assert (undone["version"]["number"], undone["version"]["message"], api.slugs("s")) == (3, "Undo version 2", ["a"])
    api.send("/api/tasksets/s/undo", {})
    assert api.slugs("s") == ["a", "b"] and AuditEvent.objects.filter(verb="taskset.undo").count() == 2


def test_undo_of_a_head_that_is_no_longer_the_head_is_refused(api: Api) -> None:
    api.upload("s", row("a"))
    api.upload("s", row("b"))
    assert api.send("/api/tasksets/s/undo", {"version": 1}).status_code == 409 and api.slugs("s") == ["a", "b"]
    assert api.send("/api/tasksets/s/undo", {"version": 2}).status_code == 200 and api.slugs("s") == ["a"]


def test_undo_takes_back_no_version_that_came_in_between(api: Api, ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    api.upload("s", row("a"))
    api.upload("s", row("b"))
    prepare, overtaken = commits._prepare, []

    def other_first(*args: Any) -> Any:
        if not overtaken:
            overtaken.append(True)
            api.upload("s", row("c"))
        return prepare(*args)

    monkeypatch.setattr(commits, "_prepare", other_first)
    assert api.send("/api/tasksets/s/undo", {}).status_code == 409
    assert api.slugs("s") == ["a", "b", "c"]


def test_a_tasks_history_names_the_versions_that_touched_it(api: Api) -> None:
    api.upload("s", row("a", args={"n": 1}), row("history"))
    api.upload("s", row('quo"te é'))
    api.upload("s", row("a", args={"n": 2}))
    api.send("/api/tasksets/s/upload?mode=remove&message=why", {"tasks": [{"slug": "a"}]})
    api.upload("s", row("a", args={"n": 1}))
    items = api.get("/api/tasksets/s/tasks/history?slug=a").json()["items"]
    assert [(one["version_number"], one["kind"]) for one in items] == [(5, "added"), (4, "removed"), (3, "changed"), (1, "added")]
    assert items[0]["content_id"] == items[3]["content_id"] and items[1]["content_id"] is None and items[1]["message"] == "why"
    first = api.get("/api/tasksets/s/tasks/history?slug=a&limit=2").json()
    rest = api.get(f"/api/tasksets/s/tasks/history?slug=a&limit=2&cursor={first['next_cursor']}").json()
    assert [*first["items"], *rest["items"]] == items and rest["next_cursor"] is None
    assert [one["version_number"] for one in api.get("/api/tasksets/s/tasks/history?slug=quo%22te%20%C3%A9").json()["items"]] == [2]
    assert api.get("/api/tasksets/s/tasks/history?slug=none").status_code == 404
    assert api.get("/api/tasksets/s/tasks/history").json()["slug"] == "history", "a task may be called so"


def test_another_team_and_a_reader_change_nothing(api: Api, cy_key: str, ada: Caller) -> None:
    from accounts.actions import create_key

    api.upload("s", row("a"))
    api.upload("s", row("b"))
    tag(api, "prod", 1)
    writes = [("tags/x", {"version": 1}, "PUT"), ("tags/prod", b"", "DELETE"), ("restore", {"version": 1}, "POST"), ("undo", {}, "POST")]
    stranger, reader = Api(cy_key), Api(create_key(ada, name="reader", scopes=["read"]).secret)
    for ref in ("s", str(Taskset.objects.get().id)):
        for rest in ("tags", "diff", "diff/task?slug=a", "tasks/history?slug=a"):
            assert reader.get(f"/api/tasksets/{ref}/{rest}").status_code == 200
            assert stranger.get(f"/api/tasksets/{ref}/{rest}").status_code == 404, rest
        for rest, body, method in writes:
            assert reader.send(f"/api/tasksets/{ref}/{rest}", body, method).status_code == 403
            assert stranger.send(f"/api/tasksets/{ref}/{rest}", body, method).status_code == 404
    assert stranger.get("/api/tasksets/s@prod").status_code == 404
