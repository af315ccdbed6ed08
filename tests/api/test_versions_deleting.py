"""Purge and redaction: what goes is gone, what others hold stays, digests are kept, and only admins may."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import TestCase

from accounts.callers import Caller
from accounts.models import AuditEvent
from runs.models import Job
from tasksets import deleting
from tasksets.models import Chunk, Draft, DraftChange, Export, HeadTask, TaskContent, Taskset, Version
from tests.support.tasksets import Api, body_of, row

pytestmark = pytest.mark.usefixtures("blobs")


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def archive(api: Api, name: str) -> None:
    assert api.send(f"/api/tasksets/{name}", {"archived": True}, "PATCH").status_code == 200


def purge(api: Api, name: str, **body: Any) -> Any:
    return api.send(f"/api/tasksets/{name}/purge", {"confirm": name, **body})


def test_a_purge_takes_what_nothing_else_holds_and_keeps_digests_and_counts(api: Api) -> None:
    api.upload("s", row("only", args={"n": 1}), row("shared", args={"n": 2}))
    api.upload("s", row("only", args={"n": 3}))
    api.upload("other", row("same content", args={"n": 2}))
    api.send("/api/tasksets/s/draft", {"changes": [{"op": "remove", "slug": "only"}]}, "PUT")
    digests = list(Version.objects.filter(taskset__name="s").values_list("number", "digest", "task_count"))
    files = [export.path for export in Export.objects.filter(version__taskset__name="s")]
    archive(api, "s")
    with TestCase.captureOnCommitCallbacks(execute=True):
        done = purge(api, "s").json()
    assert (done["versions"], done["contents"], done["chunks"], done["exports"], done["breaks"]) == (2, 2, 2, 2, {})
    assert [json.loads(text)["args"] for text in TaskContent.objects.values_list("text", flat=True)] == [{"n": 2}]
    assert Chunk.objects.count() == 1 and not Draft.objects.exists() and not HeadTask.objects.filter(taskset__name="s").exists()
    assert files and not any(default_storage.exists(path) for path in files)
    assert list(Version.objects.filter(taskset__name="s").values_list("number", "digest", "task_count")) == digests
    assert api.slugs("other") == ["same content"] and AuditEvent.objects.filter(verb="taskset.purge").count() == 1


def test_a_purged_set_says_so_and_stays_so(api: Api) -> None:
    api.upload("s", row("a"))
    archive(api, "s")
    purge(api, "s")
    for rest in ("tasks", "tasks/a", "export", "diff"):
        reply = api.get(f"/api/tasksets/s/{rest}")
        assert (reply.status_code, reply.json()["error"]["code"]) == (410, "purged"), rest
    assert api.get("/api/tasksets/s").json()["purged_at"] and api.get("/api/tasksets/s/versions/1").json()["task_count"] == 1
    assert api.get("/api/tasksets/s@1/export").status_code == 410
    assert api.send("/api/tasksets/s", {"archived": False}, "PATCH").status_code == 410
    assert (
        api.upload("s", row("b")).status_code == 409 and api.send("/api/tasksets/s/redact", {"slug": "a", "reason": "x"}).status_code == 410
    )
    assert purge(api, "s").json()["contents"] == 0, "once more does no harm"
    assert api.send("/api/tasksets/s", {"name": "t"}, "PATCH").json()["name"] == "t"
    assert api.send("/api/tasksets", {"name": "s"}).status_code == 201, "its name may be taken again"


def test_a_purge_wants_an_archived_set_its_name_and_an_admin(api: Api, bo: Caller, cy_key: str) -> None:
    from accounts.actions import create_key

    api.upload("s", row("a"))
    assert purge(api, "s").status_code == 409
    archive(api, "s")
    assert purge(api, "s", confirm="S").status_code == 422
    assert purge(Api(create_key(bo, name="bo", scopes=["read", "write"]).secret), "s").status_code == 403
    assert purge(Api(cy_key), "s").status_code == 404 and TaskContent.objects.count() == 1


def test_a_purge_names_the_jobs_that_lose_their_tasks(api: Api) -> None:
    api.upload("s", row("a"))
    version = Version.objects.select_related("taskset").get()
    Job.objects.create(team_id=version.taskset.team_id, taskset=version.taskset, version=version, name="j")
    archive(api, "s")
    assert purge(api, "s").json()["breaks"] == {"jobs": 1} and Job.objects.get().version_id == version.id


def test_a_version_made_during_a_purge_keeps_its_contents(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.upload("s", row("a", args={"n": 1}), row("b", args={"n": 2}))
    archive(api, "s")
    mark, marks = deleting._mark, []

    def mark_then_another_uploads(taskset: Taskset) -> Any:
        marks.append(mark(taskset))
        if len(marks) == 1:
            api.upload("other", row("a", args={"n": 1}))
        return marks[-1]

    monkeypatch.setattr(deleting, "_mark", mark_then_another_uploads)
    assert purge(api, "s").json()["contents"] == 1 and len(marks) == 2
    assert api.export("other")["tasks"][0]["args"] == {"n": 1}


def redact(api: Api, name: str, slug: str) -> Any:
    return api.send(f"/api/tasksets/{name}/redact", {"slug": slug, "reason": "a person asked"})


def test_a_redacted_task_shows_the_marker_in_every_version_and_digests_stay(api: Api) -> None:
    api.upload("s", row("a", args={"secret": 1}, columns={"c": "secret"}), row("b"))
    api.upload("s", row("a", args={"secret": 2}, verifier={"env": "v", "id": "t"}))
    api.upload("s", row("z"))
    api.send("/api/tasksets/s/upload?mode=remove", {"tasks": [{"slug": "a"}]})
    api.upload("other", row("copy", args={"secret": 1}, columns={"c": "secret"}))
    api.send("/api/tasksets/other/draft", {"changes": [{"op": "set", "slug": "copy", "position": 0, "columns": '{"x":1}'}]}, "PUT")
    before = list(Version.objects.order_by("id").values_list("digest", "task_count"))
    old = {ref: (body_of(reply), reply["ETag"]) for ref in ("s@1", "other") for reply in [api.get(f"/api/tasksets/{ref}/export")]}
    done = redact(api, "s", "a").json()
    assert (done["contents"], done["versions"], done["also_in"]) == (2, [1, 2, 3], [{"taskset": "other", "slug": "copy"}])
    assert list(Version.objects.order_by("id").values_list("digest", "task_count")) == before
    for ref, at in (("s@1", 0), ("s@2", 0), ("other", 0)):
        task = api.export(ref)["tasks"][at]
        assert (task["env"], task["scenario"], task["args"], task["columns"], task["verifier"]) == ("letters", "count", {"redacted": "a person asked"}, None, None)  # fmt: skip
    for ref, (_body, etag) in old.items():
        assert api.get(f"/api/tasksets/{ref}/export", If_None_Match=etag).status_code == 200, "a client's copy is known to be old"
    assert api.get("/api/tasksets/other/tasks").json()["items"][0]["columns"] is None
    assert (
        not TaskContent.objects.filter(text__contains="secret").exists() and AuditEvent.objects.filter(verb="taskset.redact").count() == 1
    )


def test_sending_a_redacted_task_again_brings_nothing_back(api: Api) -> None:
    api.upload("s", row("a", args={"secret": 1}, columns={"c": "secret"}))
    redact(api, "s", "a")
    assert api.upload("s", row("a", args={"secret": 1}, columns={"c": "secret"})).json()["tasks_updated"] == 0
    api.upload("new", row("n", args={"secret": 1}, columns={"c": "secret"}), row("m"))
    assert api.export("new")["tasks"][0]["args"] == {"redacted": "a person asked"}
    assert not HeadTask.objects.filter(columns__contains="secret").exists()


def test_a_draft_forgets_what_is_redacted(api: Api) -> None:
    api.upload("s", row("a", args={"secret": 1}), row("b"))
    for slug in "ab":
        api.send("/api/tasksets/s/draft", {"changes": [{"op": "set", "slug": slug, "columns": '{"x":1}'}]}, "PUT")
    redact(api, "s", "a")
    assert list(DraftChange.objects.values_list("slug", flat=True)) == ["b"]


def test_only_an_admin_redacts_and_only_what_is_there(api: Api, bo: Caller, cy_key: str) -> None:
    from accounts.actions import create_key

    api.upload("s", row("a"))
    assert redact(api, "s", "none").status_code == 404 and api.send("/api/tasksets/s/redact", {"slug": "a"}).status_code == 422
    assert redact(Api(create_key(bo, name="bo", scopes=["read", "write"]).secret), "s", "a").status_code == 403
    assert redact(Api(cy_key), "s", "a").status_code == 404 and not TaskContent.objects.filter(redacted_at__isnull=False).exists()
