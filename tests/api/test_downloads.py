"""A version as a file over REST, and back in by the real import: what Proctor exports it imports to an equal digest."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import zstandard

from environments.models import EnvironmentVersion
from proctor.formats import Limits
from tasksets.downloads import serving
from tests.api.test_imports_folders import folder, zipped
from tests.support.imports import Imports
from tests.support.tasksets import body_of, row

pytestmark = pytest.mark.usefixtures("blobs")

FORMATS = ["json", "jsonl", "csv", "parquet", "zip"]
ROWS = [
    row("=1+1", args={"z": 1, "a": {"n": 2}}),
    row("b", env="-x", columns={"tag": "é\n"}, validation=[{"name": "t", "arguments": {}}], agent_config={}),
    row("'=c", runtime_config={"limits": {"run_timeout_s": 5}}, verifier={"env": "v", "id": "w", "args": {}}),
]


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


@pytest.fixture
def cy_api(cy_key: str) -> Imports:
    return Imports(cy_key)


def exact(api: Imports, name: str = "zoo") -> str:
    """A set with numbers that no float keeps; its digest."""
    body = json.dumps({"taskset_name": name, "tasks": [*ROWS, row("exact", args={"n": "NUMBERS"})]})
    digits = '{"big": 123456789012345678901234567890, "tail": 1.10, "minus": -0}'
    done = api.send("/v2/tasks/upload", body.replace('"NUMBERS"', digits).encode())
    assert done.status_code == 200, done.content
    return str(done.json()["digest"])


def fetch(api: Imports, query: str, ref: str = "zoo") -> tuple[Any, bytes]:
    reply = api.get(f"/api/tasksets/{ref}/download?{query}")
    assert reply.status_code == 200, reply.content
    return reply, body_of(reply)


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_exported_is_imported_to_an_equal_digest(api: Imports, cy_api: Imports, name: str) -> None:
    digest = exact(api)
    reply, body = fetch(api, f"format={name}")
    assert (reply["Proctor-Digest"], reply["Proctor-Task-Count"], reply["Proctor-Version"]) == (digest, "4", "1")
    assert reply["Content-Disposition"] == f'attachment; filename="zoo-v1.{name}"' and "history" in reply["Proctor-Not-Carried"]
    brought = cy_api.bring(body, f"zoo-v1.{name}", name="copy")
    assert (brought["version"]["digest"], brought["tasks_created"]) == (digest, 4)
    again = api.bring(body, f"zoo-v1.{name}", taskset="zoo", mode="replace")
    assert (again["version"]["number"], again["tasks_unchanged"]) == (1, 4)


@pytest.mark.parametrize(("compress", "ending"), [("gzip", "gz"), ("zstd", "zst")])
@pytest.mark.parametrize("name", ["json", "jsonl", "csv"])
def test_a_packed_file_holds_the_same_and_is_imported(api: Imports, cy_api: Imports, name: str, compress: str, ending: str) -> None:
    digest = exact(api)
    reply, body = fetch(api, f"format={name}&compress={compress}")
    plain = gzip.decompress(body) if compress == "gzip" else zstandard.decompress(body, max_output_size=10**6)
    assert plain == fetch(api, f"format={name}")[1] and f'filename="zoo-v1.{name}.{ending}"' in reply["Content-Disposition"]
    assert not reply.has_header("Content-Encoding")
    assert cy_api.bring(body, f"zoo-v1.{name}.{ending}", name="copy")["version"]["digest"] == digest


def test_any_version_is_to_be_had_by_number_tag_and_digest(api: Imports) -> None:
    first = exact(api)
    api.upload("zoo", row("later"))
    api.send("/api/tasksets/zoo/tags/prod", {"version": 1}, "PUT")
    one = fetch(api, "format=jsonl", "zoo@1")[1]
    assert one.count(b"\n") == 4 and fetch(api, "format=jsonl")[1].count(b"\n") == 5
    assert fetch(api, "", "zoo@prod")[1] == fetch(api, "", f"zoo@{first}")[1] == one
    assert api.get("/api/tasksets/zoo@9/download").status_code == 404


def test_a_part_of_a_version_has_no_digest(api: Imports) -> None:
    exact(api)
    reply, body = fetch(api, "format=json&q=exact")
    assert not reply.has_header("Proctor-Digest") and "zoo-v1-part.json" in reply["Content-Disposition"]
    found = json.loads(body)
    assert found["digest"] is None and [task["slug"] for task in found["tasks"]] == ["exact"]


@pytest.mark.parametrize(
    ("query", "path"), [("format=xlsx", "format"), ("compress=rar", "compress"), ("format=zip&compress=gzip", "compress"), ("format=parquet&compress=zstd", "compress")]
)
def test_what_cannot_be_had_is_refused_with_the_rule(api: Imports, query: str, path: str) -> None:
    exact(api)
    refused = api.get(f"/api/tasksets/zoo/download?{query}")
    assert refused.status_code == 422 and refused.json()["error"]["details"]["problems"][0]["path"] == path


def test_head_tells_the_digest_without_a_body(api: Imports) -> None:
    digest = exact(api)
    reply = api.head("/api/tasksets/zoo/download?format=csv")
    assert (reply["Proctor-Digest"], reply.content) == (digest, b"")


def test_an_empty_set_is_an_empty_file(api: Imports) -> None:
    api.send("/api/tasksets", {"name": "Empty"})
    assert fetch(api, "format=jsonl", "empty")[1] == b"" and json.loads(fetch(api, "format=json", "empty")[1])["tasks"] == []


def test_another_team_gets_nothing(api: Imports, cy_api: Imports) -> None:
    exact(api)
    taskset_id = api.get("/api/tasksets/zoo").json()["id"]
    for ref in ("zoo", taskset_id, "zoo@1"):
        assert cy_api.get(f"/api/tasksets/{ref}/download").status_code == 404
    assert Imports("wrong").get("/api/tasksets/zoo/download").status_code == 401


def test_a_purged_set_is_gone_and_a_redacted_task_is_told(api: Imports) -> None:
    exact(api)
    assert api.send("/api/tasksets/zoo/redact", {"slug": "b", "reason": "private"}).status_code == 200
    reply, body = fetch(api, "format=jsonl")
    assert "1 redacted tasks" in reply["Proctor-Not-Carried"] and b'"redacted":"private"' in body
    assert "1 of them redacted" in zip_readme(fetch(api, "format=zip")[1])
    api.send("/api/tasksets/zoo", {"archived": True}, "PATCH")
    assert api.send("/api/tasksets/zoo/purge", {"confirm": "zoo"}).status_code == 200
    assert api.get("/api/tasksets/zoo/download").status_code == 410


def zip_readme(body: bytes) -> str:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return archive.read("README.md").decode()


def test_task_folders_go_out_and_come_in_with_their_environments(api: Imports, cy_api: Imports) -> None:
    body = zipped(folder("one"), folder("two", **{"two/environment/run.sh": "#!/bin/sh\n"}))
    digest = api.bring(body, "tasks.zip", name="folders")["version"]["digest"]
    out = fetch(api, "format=zip", "folders")[1]
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(out)) as archive, zipfile.ZipFile(io.BytesIO(body)) as given:
        assert {name: archive.read(name) for name in given.namelist()} == {name: given.read(name) for name in given.namelist()}
    assert cy_api.bring(out, "folders-v1.zip", name="copy")["version"]["digest"] == digest
    mine, theirs = (EnvironmentVersion.objects.filter(environment__team_id=team) for team in EnvironmentVersion.objects.values_list("environment__team_id", flat=True).distinct())  # fmt: skip
    assert {one.manifest["content"] for one in mine} == {one.manifest["content"] for one in theirs} and len(mine) == 2
    assert api.bring(out, "folders-v1.zip", taskset="folders", mode="replace")["tasks_unchanged"] == 2 and EnvironmentVersion.objects.count() == 4


def test_rows_beside_folders_make_no_environment_and_may_share_a_name_with_another_kind(api: Imports, cy_api: Imports) -> None:
    api.bring(zipped(folder("one")), "tasks.zip", name="mixed")
    api.upload("mixed", row("plain", env="letters"))
    out = fetch(api, "format=zip", "mixed")[1]
    cy_api.send("/api/environments", {"name": "letters", "image": "letters:1"})
    brought = cy_api.bring(out, "mixed-v2.zip", name="mixed")
    assert brought["version"]["digest"] == api.get("/api/tasksets/mixed").json()["head"]["digest"]
    assert [one["name"] for one in cy_api.get("/api/environments").json()["items"]] == ["letters", "one"]


def test_a_zip_that_the_importer_would_refuse_is_not_begun(api: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    exact(api)
    monkeypatch.setattr(serving, "Limits", lambda: Limits(entries=5))
    refused = api.get("/api/tasksets/zoo/download?format=zip")
    assert refused.status_code == 422 and "take jsonl" in refused.json()["detail"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_mapping_saved_for_other_files_does_not_come_between(api: Imports, name: str) -> None:
    api.bring(b'{"slug":"q1","env":"e","id":"t"}\n', "rows.jsonl", name="zoo")
    api.bring(b"slug,args\nq2,x\n", "sheet.csv", taskset="zoo")
    head = api.get("/api/tasksets/zoo").json()["head"]
    brought = api.bring(fetch(api, f"format={name}")[1], f"zoo.{name}", taskset="zoo", mode="replace")
    assert (brought["version"]["digest"], brought["tasks_unchanged"]) == (head["digest"], 2)
