"""Zips of task folders, over the native import and over HUD's own endpoints; and the zips that nobody should send."""

from __future__ import annotations

import io
import json
import stat
import tarfile
import zipfile
from typing import Any

import pytest
from django.core.files.storage import default_storage

from accounts.callers import Caller
from environments import actions as environment_actions
from environments.models import Environment, EnvironmentVersion
from tasksets.imports import committing
from tasksets.imports.models import Import, Upload
from tasksets.imports.worker import process_one
from tests.support.imports import Imports
from tests.support.tasksets import row

pytestmark = pytest.mark.usefixtures("blobs")

TOML = '[task]\nname = "x"\nkeywords = ["a"]\n[metadata]\nlevel = 1.10\n[agent]\ntimeout_sec = 90.0\n[environment]\ncpus = 2\nmemory_mb = 512\n'


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


def folder(name: str, toml: str = TOML, **files: str) -> dict[str, str]:
    return {f"{name}/task.toml": toml, f"{name}/instruction.md": f"Do {name}.\n", f"{name}/tests/test.sh": "exit 0\n", **files}


def zipped(*folders: dict[str, str], **options: Any) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for files in folders:
            for name, text in files.items():
                archive.writestr(name, text)
    return target.getvalue()


def with_entry(body: bytes, name: str, text: str | bytes = "x", mode: int = 0o644) -> bytes:
    target = io.BytesIO(body)
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
        archive.writestr(entry, text)
    return target.getvalue()


def test_each_folder_becomes_a_task_and_a_stored_version_of_an_environment(api: Imports) -> None:
    found = api.begin(zipped(folder("set/One_Task"), folder("set/two")), "tasks.zip", name="folders")
    assert (found["format"], found["layout"], found["columns"][:3]) == ("zip", "tasks", ["path", "slug", "env"])
    checked = api.check(found)
    assert (checked["status"], checked["rows_good"], checked["errors_total"]) == ("checked", 2, 0), api.errors(checked)
    assert Environment.objects.count() == 0
    assert api.commit(checked).json()["tasks_created"] == 2
    first = api.export("folders")["tasks"][0]
    assert (first["name"], first["env"], first["scenario"]) == ("One_Task", "one-task", "run")
    assert first["args"] == {"instruction": "Do set/One_Task.\n"} and first["columns"] == {"level": 1.10, "keywords": ["a"]}
    assert first["agent_config"] == {"timeout_seconds": 90.0} and first["runtime_config"] == {"resources": {"cpu": 2, "memory_mb": 512}}
    version = EnvironmentVersion.objects.get(environment__name="one-task")
    assert (version.environment.kind, version.status, version.source, version.number) == ("folder", "stored", "folder", 1)
    with default_storage.open(version.context_path or "") as file, tarfile.open(fileobj=file) as tar:
        assert sorted(tar.getnames()) == ["instruction.md", "task.toml", "tests/test.sh"]
    shown = api.get("/api/environments/one-task").json()
    assert (shown["kind"], shown["latest"]["status"], shown["ready"]) == ("folder", "stored", None)


def test_the_same_folders_again_change_nothing_and_a_changed_file_makes_one_version(api: Imports) -> None:
    body = zipped(folder("one"), folder("two"))
    api.bring(body, "tasks.zip", name="folders")
    again = api.bring(body, "tasks.zip", taskset="folders")
    assert again["tasks_unchanged"] == 2 and again["version"]["number"] == 1 and EnvironmentVersion.objects.count() == 2
    api.bring(zipped(folder("one"), {**folder("two"), "two/tests/test.sh": "exit 1\n"}), "tasks.zip", taskset="folders")
    assert list(
        EnvironmentVersion.objects.order_by("id").values_list("environment__name", "number").order_by("environment__name", "number")
    ) == [
        ("one", 1),
        ("two", 1),
        ("two", 2),
    ]


def test_the_problems_of_a_folder_are_its_own(api: Imports, ada: Caller) -> None:
    environment_actions.register_image(ada, name="taken", image="x")
    body = zipped(
        folder("good"),
        folder("bad", "not toml ="),
        {"blank/task.toml": "[metadata]\n"},
        folder("taken"),
        folder("linked"),
        folder("zeros"),
        folder("odd", '[task]\n[metadata]\nx = "\\u0000"\n[environment]\ncpus = -1\n'),
    )
    body = with_entry(body, "linked/environment/etc", "/etc/passwd", stat.S_IFLNK | 0o777)
    body = with_entry(body, "zeros/environment/disk.img", b"\0" * 80_000_000)
    checked = api.check(api.begin(body, "tasks.zip", name="folders"))
    rules = {one["line"]: (one["column"], one["rule"]) for one in api.errors(checked)}
    assert checked["rows_good"] == 1 and len(rows := sorted(rules)) == 6 and rows == [1, 2, 4, 5, 6, 7]
    assert rules[1][0] == "task.toml" and rules[2] == ("task.toml", "instruction.md is missing")
    assert "environment/etc is a link" in rules[4][1] and "must be a number above 0" in rules[5][1]
    assert "no task folder" in rules[6][1] and "more than 200 times its size" in rules[7][1]
    assert api.commit(checked, leave_out_bad=True).json()["tasks_created"] == 1


def entries(count: int) -> bytes:
    return zipped({f"a/{index}": "" for index in range(count)})


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (with_entry(zipped(folder("a")), "../outside"), "leads out of its folder"),
        (with_entry(zipped(folder("a")), "a/../../outside"), "leads out of its folder"),
        (with_entry(zipped(folder("a")), "/etc/passwd"), "absolute name"),
        (with_entry(zipped(folder("a")), "a\\..\\b"), "absolute name"),
        (zipped({"readme.md": "x"}), "no task folder"),
        (zipped({"a.csv": "a,b\n1,2\n", "b.csv": "a,b\n1,2\n"}), "2 data files"),
        (zipped(), "no task folder"),
        (zipped(folder("a"))[:-30], "no index"),
    ],
)
def test_a_zip_that_is_unsafe_or_none_is_refused_whole(api: Imports, body: bytes, why: str) -> None:
    found = api.begin(body, "tasks.zip", name="folders")
    assert found["status"] == "failed" and why in found["error"], found["error"]


def test_a_zip_of_100_000_entries_is_refused_by_its_count(api: Imports) -> None:
    found = api.begin(entries(100_001), "tasks.zip", name="folders")
    assert "100,001 entries; the limit is 100,000" in found["error"]


def test_an_index_that_claims_to_be_huge_is_not_read(api: Imports) -> None:
    body = bytearray(zipped(folder("a")))
    at = body.rfind(b"PK\x05\x06")
    body[at + 12 : at + 16] = (2**31).to_bytes(4, "little")
    assert "index says that it has" in api.begin(bytes(body), "tasks.zip", name="folders")["error"]


def test_one_data_file_in_a_zip_is_read_as_it_is(api: Imports) -> None:
    done = api.bring(zipped({"data/rows.csv": "slug,q\na,1\n", "__MACOSX/data/._rows.csv": "x"}), "rows.zip", name="rows")
    assert done["tasks_created"] == 1


# — HUD's own endpoints


def bundle(api: Imports, body: bytes, taskset: str = "harbor") -> dict[str, Any]:
    made = api.send("/v2/tasksets", {"name": taskset})
    taskset_id = made.json()["id"] if made.status_code < 300 else api.get(f"/v2/tasksets/by-name/{taskset}").json()["taskset_id"]
    reserved = api.send(
        "/v2/imports/uploads", {"format": "harbor", "filename": "b.zip", "size_bytes": len(body), "content_type": "application/zip"}
    ).json()
    url = reserved["upload_url"].removeprefix("http://testserver")
    sent = api.client.generic("PUT", url, body, content_type="application/zip", headers={"Authorization": ""})
    assert sent.status_code == 200, sent.content
    assert api.send(f"/v2/data/{reserved['file']['id']}/complete", {}).status_code == 200
    started = api.send("/v2/imports", {"format": "harbor", "file_id": reserved["file"]["id"], "taskset_id": taskset_id})
    assert started.status_code == 200, started.content
    return dict(started.json())


def ended(api: Imports, found: dict[str, Any]) -> dict[str, Any]:
    while process_one("worker-1"):
        pass
    return dict(api.get(f"/v2/imports/{found['id']}").json())


def report(api: Imports, found: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"/v2/imports/{found['id']}/report").json())


def test_a_bundle_is_imported_with_a_report_of_each_folder(api: Imports) -> None:
    body = zipped(folder("one"), folder("bad", "="), {"jobs/j1/result.json": "{}", "jobs/j1/trial/result.json": "{}"})
    queued = bundle(api, body)
    assert queued["status"] == "queued" and api.get(f"/v2/imports/{queued['id']}/report").status_code == 404
    done = ended(api, queued)
    assert (done["status"], done["summary"], done["error"]) == ("completed", "1 imported, 1 failed", None)
    found = report(api, queued)
    assert found["schema_version"] == "harbor_import_report.v5"
    tasks = {task["name"]: task for task in found["tasks"]}
    assert (tasks["one"]["status"], tasks["one"]["build_version"], tasks["bad"]["status"]) == ("imported", 1, "failed")
    assert tasks["one"]["environment_id"] == str(Environment.objects.get().id) and "task.toml" in tasks["bad"]["reason"]
    assert [(job["path"], job["status"]) for job in found["jobs"]] == [("jobs/j1", "skipped")]
    assert "can't run that kind yet" in found["warnings"][0]["reason"]
    assert api.slugs("harbor") == ["one"] and Upload.objects.count() == 0


def test_the_same_bundle_again_is_unchanged_and_a_changed_one_updated(api: Imports) -> None:
    ended(api, bundle(api, zipped(folder("one"), folder("two"))))
    again = bundle(api, zipped(folder("one"), folder("two")))
    assert ended(api, again)["summary"] == "2 unchanged" and {task["status"] for task in report(api, again)["tasks"]} == {"unchanged"}
    changed = bundle(api, zipped(folder("one"), {**folder("two"), "two/tests/test.sh": "exit 1\n"}))
    ended(api, changed)
    assert {task["name"]: (task["status"], task["build_version"]) for task in report(api, changed)["tasks"]} == {
        "one": ("unchanged", 1),
        "two": ("updated", 2),
    }


def test_a_bundle_that_is_none_stops_with_a_report_that_says_why(api: Imports) -> None:
    done = ended(api, queued := bundle(api, zipped({"readme.md": "x"})))
    assert done["status"] == "stopped" and "no task folder" in done["error"]
    assert report(api, queued)["error"]["step"] == "read the bundle" and api.slugs("harbor") == []


def test_a_worker_killed_anywhere_leaves_an_import_that_the_next_one_finishes(api: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    queued = bundle(api, zipped(folder("one"), folder("two")))

    class Killed(BaseException):
        pass

    def die(*_arguments: Any, **_more: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(committing, "_finish", die)
        with pytest.raises(Killed):
            process_one("killed")
    assert api.slugs("harbor") == ["one", "two"] and api.get(f"/v2/imports/{queued['id']}").json()["status"] == "running"
    Import.objects.update(claimed_until=None)
    assert ended(api, queued)["status"] == "completed" and report(api, queued)["tasks"][0]["build_version"] == 1
    assert api.get("/api/tasksets/harbor").json()["head"]["number"] == 1


def test_imports_are_listed_cancelled_and_kept_from_other_teams(api: Imports, cy_key: str) -> None:
    queued, cy = bundle(api, zipped(folder("one"))), Imports(cy_key)
    for path in ("", "/report"):
        assert cy.get(f"/v2/imports/{queued['id']}{path}").status_code == 404
    assert cy.get("/v2/imports?limit=20").json() == {"imports": [], "total": 0}
    listed = api.get(f"/v2/imports?limit=20&format=harbor&taskset_id={queued['taskset_id']}").json()
    assert (listed["total"], listed["imports"][0]["id"]) == (1, queued["id"])
    assert api.get("/v2/imports?format=other").json()["total"] == 0
    assert api.send(f"/v2/imports/{queued['id']}/cancel", {}).json()["status"] == "cancelled"
    assert process_one("worker-1") is False and Upload.objects.count() == 0
    assert api.send(f"/v2/imports/{queued['id']}/cancel", {}).json()["status"] == "cancelled"


def test_a_bundle_upload_is_checked(api: Imports) -> None:
    body = {"format": "harbor", "filename": "b.zip", "size_bytes": 10, "content_type": "application/zip"}
    assert api.send("/v2/imports/uploads", {**body, "format": "other"}).status_code == 422
    assert api.send("/v2/imports/uploads", {**body, "size_bytes": 2**32}).status_code == 413
    reserved = api.send("/v2/imports/uploads", body).json()
    file_id, url = reserved["file"]["id"], reserved["upload_url"].removeprefix("http://testserver")
    assert api.send(f"/v2/data/{file_id}/complete", {}).status_code == 409
    assert api.client.generic("PUT", url + "x", b"0123456789", headers={"Authorization": ""}).status_code == 404
    assert api.client.generic("DELETE", f"/v2/data/{file_id}").status_code == 204 and Upload.objects.count() == 0
    assert json.loads(api.get("/v2/imports/formats").content)["formats"][0]["format"] == "harbor"


def test_a_taskset_of_folders_still_takes_other_rows(api: Imports) -> None:
    ended(api, bundle(api, zipped(folder("one"))))
    assert api.upload("harbor", row("x")).json()["version"] == 2
