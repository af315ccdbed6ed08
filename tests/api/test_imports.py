"""Getting data in over REST: parts, guess, check with all errors, edits, plan, commit; and what becomes of broken and abandoned ones."""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db.models import F
from django.utils import timezone

from accounts.callers import Caller
from tasksets.imports import actions, claims, sessions
from tasksets.imports.models import Import, ImportEdit, ImportProblem, Upload, UploadPart
from tasksets.imports.worker import process_one
from tasksets.models import TaskContent, Taskset, Version
from tests.support.imports import Imports, lines
from tests.support.tasksets import body_of, row
from web.errors import AppError

pytestmark = pytest.mark.usefixtures("blobs")

GSM8K = Path(__file__).parents[1] / "data" / "gsm8k" / "model_solutions.jsonl"
ZOO = {"env": {"column": None, "constant": "zoo"}}


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


def files(folder: Path) -> list[Path]:
    return [path for path in (folder / "imports").rglob("*") if path.is_file()]


# — parts


def test_a_file_comes_in_parts_and_goes_on_where_it_was_cut(api: Imports) -> None:
    made = api.send("/api/uploads", {"filename": "a.csv", "size_bytes": 10}).json()
    path = f"/api/uploads/{made['id']}"
    assert (made["received_bytes"], made["part_bytes"]) == (0, 8 * 1024**2)
    assert api.put(path, b"0123", offset=0).json() == {"received_bytes": 4}
    assert api.put(path, b"0123", offset=0).json() == {"received_bytes": 4}
    wrong = api.put(path, b"89", offset=8)
    assert wrong.status_code == 409 and wrong.json()["error"]["details"] == {"received_bytes": 4}
    assert api.put(path, b"2345", offset=2).status_code == 409
    assert api.put(path, b"456789", offset=4).json() == {"received_bytes": 10}
    assert api.put(path, b"x", offset=10).status_code == 413
    assert api.get(path).json()["received_bytes"] == 10
    with sessions.open_upload(Upload.objects.get()) as file:
        assert file.read() == b"0123456789" and file.seek(3) == 3 and file.read(4) == b"3456" and file.seek(-2, 2) == 8


def test_a_part_that_ends_early_is_not_kept(ada: Caller) -> None:
    upload = sessions.begin_upload(ada, filename="a.csv", size_bytes=10)
    with pytest.raises(AppError) as caught:
        sessions.receive(ada, upload, io.BytesIO(b"0123"), offset=0, announced=8)
    assert (caught.value.status, caught.value.details) == (400, {"received_bytes": 0})
    upload.refresh_from_db()
    assert upload.received_bytes == 0 and UploadPart.objects.count() == 0


def test_one_large_body_is_kept_in_parts_of_bounded_size(api: Imports) -> None:
    body = bytes(range(256)) * 65_536 + b"end"
    upload = Upload.objects.get(id=api.file(body, "a.bin", part=len(body)))
    assert list(upload.parts.order_by("offset").values_list("size_bytes", flat=True)) == [sessions.PART_BYTES, sessions.PART_BYTES, 3]
    with sessions.open_upload(upload) as file:
        file.seek(sessions.PART_BYTES - 2)
        assert file.read(4) == bytes([254, 255, 0, 1])


def test_uploads_are_checked_for_size_and_name_and_belong_to_their_team(api: Imports, cy_key: str) -> None:
    assert api.send("/api/uploads", {"filename": "a", "size_bytes": 2**40}).status_code == 413
    assert api.send("/api/uploads", {"filename": "a\nb", "size_bytes": 1}).status_code == 422
    upload_id = api.file(b"a,b\n1,2\n", "a.csv")
    cy = Imports(cy_key)
    assert (
        cy.get(f"/api/uploads/{upload_id}").status_code == cy.send("/api/imports", {"upload_id": upload_id, "name": "s"}).status_code == 404
    )
    found = api.begin(b"a,b\n1,2\n", "a.csv")
    for method, path in (
        ("GET", ""),
        ("GET", "/errors"),
        ("GET", "/errors.csv"),
        ("POST", "/commit"),
        ("POST", "/cancel"),
        ("PUT", "/rows/2"),
    ):
        assert cy.send(f"/api/imports/{found['id']}{path}", {"values": {"a": "1"}} if "rows" in path else {}, method).status_code == 404, (
            path
        )


def test_an_upload_that_is_not_whole_is_not_imported(api: Imports) -> None:
    made = api.send("/api/uploads", {"filename": "a.csv", "size_bytes": 10}).json()
    refused = api.send("/api/imports", {"upload_id": made["id"], "name": "s"})
    assert refused.status_code == 409 and refused.json()["error"]["details"] == {"received_bytes": 0}


# — from file to version


def test_a_spreadsheet_becomes_a_version_with_its_digits(api: Imports) -> None:
    body = b'\xef\xbb\xbfslug,question,data,level\r\na,"two\nlines","{""n"": 1.10}",1\r\nb,plain,{},2\r\n'
    found = api.begin(body, "sums.csv", name="Sums")
    assert (found["status"], found["format"], found["layout"], found["columns"]) == (
        "ready",
        "csv",
        "columns",
        ["slug", "question", "data", "level"],
    )
    assert [one["rule"] for one in found["preview"][0]["errors"]] == ["env: is missing"]
    checked = api.check(found, **ZOO)
    assert (checked["status"], checked["rows_total"], checked["rows_good"], checked["errors_total"]) == ("checked", 2, 2, 0)
    assert checked["preview"][0]["task"] == (
        '{"slug":"a","env":"zoo","id":"run","args":{"question":"two\\nlines","data":{"n":1.10}},"columns":{"level":"1"}}'
    )
    assert checked["plan"] == {"create": 2, "update": 0, "unchanged": 0, "remove": 0, "refused": None, "against": None}
    done = api.commit(checked, mode="create", message="from a spreadsheet", tag="first").json()
    assert (done["tasks_created"], done["version"]["number"], done["version"]["message"]) == (2, 1, "from a spreadsheet")
    assert b'"args":{"question":"two\\nlines","data":{"n":1.10}}' in body_of(api.get("/api/tasksets/sums/export"))
    assert api.slugs("sums@first") == ["a", "b"]


def test_all_errors_of_the_whole_file_are_listed_with_line_column_value_and_rule(api: Imports) -> None:
    body = (
        b"slug,n\n"
        + b"".join(b"t%d,%s\n" % (index, b"{}" if index % 2 else b"oops") for index in range(40))
        + b"t1,{}\n short,{}x\nlong,1,2\n"
    )
    checked = api.check(api.begin(body, "a.csv"), **ZOO, args={"n": {"column": "n", "kind": "json"}})
    assert (checked["rows_total"], checked["rows_good"], checked["errors_total"]) == (43, 20, 23)
    found = api.errors(checked)
    assert [one["line"] for one in found] == [*range(2, 42, 2), 42, 43, 44]
    assert {key: found[0][key] for key in ("line", "column", "value")} == {"line": 2, "column": "n", "value": "oops"}
    assert (found[20]["column"], found[20]["rule"]) == ("slug", "the slug stands on line 3 already")
    assert found[22]["rule"] == "the row has 3 cells, the header 2"
    listed = list(csv.DictReader(io.StringIO(body_of(api.get(f"/api/imports/{checked['id']}/errors.csv")).decode())))
    assert len(listed) == 23 and listed[0]["value"] == "oops" and listed[0]["line"] == "2"
    refused = api.commit(checked)
    assert refused.status_code == 409 and Taskset.objects.count() == 0 and TaskContent.objects.count() == 0
    done = api.commit(checked, leave_out_bad=True).json()
    assert done["tasks_created"] == 20 and len(api.slugs("s")) == 20


def test_a_bad_row_is_mended_in_place(api: Imports) -> None:
    checked = api.check(api.begin(b"slug,n\na,oops\nb,2\nb,3\n", "a.csv"), **ZOO, args={"n": {"column": "n", "kind": "json"}})
    assert [(one["line"], one["column"]) for one in api.errors(checked)] == [(2, "n"), (4, "slug")]
    path = f"/api/imports/{checked['id']}/rows"
    assert api.send(f"{path}/2", {"values": {"gone": "1"}}, "PUT").status_code == 422
    assert api.send(f"{path}/2", {"values": {"n": "1.10"}}, "PUT").json()["errors_total"] == 1
    mended = api.send(f"{path}/4", {"values": {"slug": "c"}}, "PUT").json()
    assert (mended["status"], mended["errors_total"], mended["rows_good"]) == ("checked", 0, 3)
    assert api.commit(checked).json()["tasks_created"] == 3
    assert [task["args"] for task in api.export("s")["tasks"]] == [{"n": 1.10}, {"n": 2}, {"n": 3}]
    assert ImportProblem.objects.count() == ImportEdit.objects.count() == 0


def test_a_broken_json_line_is_mended_as_a_whole(api: Imports) -> None:
    checked = api.check(api.begin(b'{"slug": "a", "q": 1}\n{"slug": "b", "q": \n', "a.jsonl"), **ZOO)
    assert [one["line"] for one in api.errors(checked)] == [2]
    mended = api.send(f"/api/imports/{checked['id']}/rows/2", {"values": {"": '{"slug": "b", "q": 2.50}'}}, "PUT").json()
    assert (mended["errors_total"], mended["rows_good"]) == (0, 2)


def test_the_plan_says_what_each_mode_would_do_and_the_commit_does_it(api: Imports) -> None:
    api.upload(
        "s", row("a", env="zoo", task_id="run", args={"q": "1"}), row("b", env="zoo", task_id="run"), row("c", env="zoo", task_id="run")
    )
    body = b"slug,q\na,1\nb,2\nd,3\n"
    found = api.begin(body, "a.csv", taskset="s")
    assert found["guess"]["env"]["constant"] == "zoo"
    checked = api.check(found)
    plans = {mode: [plan[name] for name in ("create", "update", "unchanged", "remove")] for mode, plan in checked["plans"].items()}
    assert plans == {"create": [3, 0, 0, 0], "merge": [1, 1, 1, 0], "replace": [1, 1, 1, 1], "remove": [0, 0, 1, 2]}
    assert "holds 3 tasks" in checked["plans"]["create"]["refused"]
    assert api.commit(checked, mode="create").status_code == 409
    done = api.commit(checked, mode="replace").json()
    assert [done[f"tasks_{name}"] for name in ("created", "updated", "unchanged", "removed")] == [1, 1, 1, 1]
    assert api.slugs("s") == ["a", "b", "d"]
    removed = api.begin(body, "a.csv", taskset="s")
    assert api.commit(api.check(removed), mode="remove").json()["tasks_removed"] == 3 and api.slugs("s") == []


def test_a_commit_that_is_repeated_answers_the_same_and_makes_no_second_version(api: Imports) -> None:
    checked = api.check(api.begin(b"slug,q\na,1\n", "a.csv"), **ZOO)
    first, second = api.commit(checked, mode="create"), api.commit(checked, mode="create")
    assert first.json() == second.json() and Version.objects.count() == 1
    assert api.seen(checked)["status"] == "done" and api.seen(checked)["version_number"] == 1


def test_a_commit_that_was_killed_behind_its_version_can_be_repeated(api: Imports) -> None:
    checked = api.check(api.begin(b"slug,q\na,1\n", "a.csv"), **ZOO)
    before = Import.objects.get().__dict__.copy()
    upload = Upload.objects.get()
    part = upload.parts.get()
    text = default_storage.open(part.path).read()
    assert api.commit(checked, mode="create").status_code == 200
    upload.save(force_insert=True)
    part.path = default_storage.save(part.path, io.BytesIO(text))
    part.save(force_insert=True)
    stale = {name: before[name] for name in ("upload_id", "rows_good", "errors_total", "attempts")}
    past = timezone.now() - timedelta(minutes=5)
    Import.objects.update(status="committing", claimed_by="gone", claimed_until=past, taskset=None, result=None, **stale)
    assert api.seen(checked)["status"] == "checked"
    again = api.commit(checked, mode="create")
    assert again.status_code == 200 and again.json()["version"]["number"] == 1 and Version.objects.count() == 1


def test_two_imports_into_one_new_name_are_serial(api: Imports) -> None:
    first, second = (api.check(api.begin(b"slug,q\n%s,1\n" % slug, "a.csv", name="Same"), **ZOO) for slug in (b"a", b"b"))
    assert api.commit(first, mode="create").status_code == 200
    assert api.commit(second, mode="create").status_code == 409
    assert api.commit(second, mode="merge").json()["version"]["number"] == 2 and api.slugs("same") == ["a", "b"]


def test_the_mapping_is_kept_for_the_next_file_with_the_same_columns(api: Imports) -> None:
    found = api.begin(b"slug,q\na,1\n", "a.csv", name="s")
    api.commit(api.check(found, **ZOO, args={"question": {"column": "q", "kind": "json"}}))
    again = api.begin(b"q,slug,more\n2,b,x\n", "b.csv", taskset="s")
    assert again["guess"]["args"] == {"question": {"column": "q", "kind": "json"}}
    other = api.begin(b"name,r\nb,2\n", "b.csv", taskset="s")
    assert other["guess"]["args"] == {"r": {"column": "r", "kind": "text"}}
    listed = api.get("/api/tasksets/s/imports?limit=2").json()
    assert [item["id"] for item in listed["items"]] == [other["id"], again["id"]]
    rest = api.get(f"/api/tasksets/s/imports?limit=2&cursor={listed['next_cursor']}").json()
    assert [item["id"] for item in rest["items"]] == [found["id"]]


def test_a_mapping_is_refused_for_columns_that_the_file_has_not(api: Imports) -> None:
    found = api.begin(b"slug;q\na;1\n", "a.csv")
    wrong = {**found["guess"], **ZOO, "args": {"q": {"column": "gone", "kind": "text"}}}
    refused = api.send(f"/api/imports/{found['id']}/mapping", wrong, "PUT")
    assert refused.status_code == 422 and refused.json()["error"]["details"]["problems"][0]["path"] == "args.q"
    comma = {**found["guess"], **ZOO, "options": {"delimiter": ","}}
    assert "it has slug;q" in api.send(f"/api/imports/{found['id']}/mapping", comma, "PUT").json()["detail"]
    nameless = api.send(f"/api/imports/{found['id']}/mapping", found["guess"], "PUT")
    assert nameless.status_code == 422 and "env" in nameless.json()["detail"]


def test_a_preview_shows_a_mapping_without_keeping_it(api: Imports) -> None:
    found = api.begin(b"slug,q\na,1\n", "a.csv")
    mapped = {**found["guess"], **ZOO, "args": {"x": {"column": "q", "kind": "json"}}}
    shown = api.send(f"/api/imports/{found['id']}/preview", mapped).json()["preview"]
    assert shown == [
        {"line": 2, "cells": {"slug": "a", "q": "1"}, "task": '{"slug":"a","env":"zoo","id":"run","args":{"x":1}}', "errors": []}
    ]
    assert api.seen(found)["mapping"] is None


def test_a_file_in_another_encoding_is_read_once_it_is_told(api: Imports) -> None:
    found = api.begin("slug,q\na,café\n".encode("latin-1"), "a.csv")
    assert api.check(found, **ZOO)["errors_total"] == 1
    told = api.check(found, **ZOO, options={"encoding": "latin-1"})
    assert (told["errors_total"], told["preview"][0]["cells"]["q"]) == (0, "café")


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        (b"", "a.csv", "empty"),
        (b"\n\n", "a.csv", "no rows"),
        (b"a,b\n", "a.csv", "no rows"),
        (b"PAR1" + b"\xff" * 20 + b"PAR1", "a.parquet", "which the file has not"),
        (b"PK\x03\x04" + b"x" * 30, "a.zip", "no index"),
        (gzip.compress(b"", mtime=0), "a.csv.gz", "empty"),
        (b'[{"a": ', "a.json", "JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_failed_import_with_its_reason(api: Imports, body: bytes, name: str, why: str) -> None:
    found = api.begin(body, name)
    assert found["status"] == "failed" and why in found["error"] and found["preview"] == []
    assert found["format"] == name.partition(".")[2].removesuffix(".gz")
    assert api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT").status_code == 422
    assert api.commit(found).status_code == 409 and Taskset.objects.count() == 0


def test_a_file_that_breaks_in_the_middle_fails_its_check_and_loads_nothing(api: Imports) -> None:
    body = b"slug,q\n" + b"".join(b"t%d,1\n" % index for index in range(300)) + b'bad,"never closed\n1,2\n'
    checked = api.check(api.begin(body, "a.csv"), **ZOO)
    assert checked["status"] == "failed" and "line 302 is never closed" in checked["error"] and checked["rows_good"] == 300
    assert api.commit(checked, leave_out_bad=True).status_code == 409 and TaskContent.objects.count() == 0


def test_rows_of_an_export_come_back_to_an_equal_digest(api: Imports) -> None:
    made = api.upload("s", row("a", env="zoo", args={"n": 1}, columns={"x": "y"}), row("b", env="zoo")).json()
    exported = body_of(api.get("/api/tasksets/s/export"))
    assert api.bring(exported, "s.json", "create", name="t")["version"]["digest"] == made["digest"]


# — workers, cancelling, abandoned files


def big_csv(rows: int = 20_000) -> bytes:
    return b"slug,q\n" + b"".join(b"t%d,%s\n" % (index, b"x" * 60) for index in range(rows))


def test_a_large_file_is_checked_by_a_worker(api: Imports) -> None:
    found = api.begin(big_csv(), "a.csv")
    sent = api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT").json()
    assert sent["status"] == "checking" and api.commit(sent).status_code == 409
    assert process_one("worker-1") is True and process_one("worker-1") is False
    checked = api.seen(found)
    assert (checked["status"], checked["rows_good"], checked["progress"]) == ("checked", 20_000, 1)
    assert api.commit(checked).json()["tasks_created"] == 20_000


def test_a_check_whose_worker_was_killed_is_begun_again_and_given_up_after_three(api: Imports) -> None:
    found = api.begin(big_csv(), "a.csv")
    api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT")
    assert claims.claim_waiting("killed") is not None and claims.claim_waiting("other") is None
    lapse = timezone.now() - timedelta(seconds=1)
    Import.objects.update(claimed_until=lapse)
    assert process_one("other") is True and api.seen(found)["status"] == "checked"
    api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT")
    for _time in range(10):
        if claims.claim_waiting("killed") is None:
            break
        Import.objects.update(claimed_until=lapse)
    assert api.seen(found)["status"] == "failed" and "stopped 3 times" in api.seen(found)["error"]


def test_a_check_that_was_cancelled_or_overtaken_writes_nothing(api: Imports) -> None:
    found = api.begin(b"slug,q\na,1\n", "a.csv")
    Import.objects.update(status="checking", mapping={**found["guess"], **ZOO})
    held = claims.claim_waiting("slow")
    assert held is not None
    Import.objects.update(attempts=F("attempts") + 1)
    from tasksets.imports.check import run_check

    run_check(held)
    assert Import.objects.get().rows_total is None and Import.objects.get().status == "checking"


def test_a_worker_that_stops_gives_its_check_back(api: Imports) -> None:
    found = api.begin(big_csv(), "a.csv")
    api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT")
    held = claims.claim_waiting("leaving", lambda: True)
    assert held is not None
    with pytest.raises(claims.Lost):
        held.keep()
    assert process_one("next") is True and api.seen(found)["status"] == "checked"


def test_a_cancelled_import_leaves_no_file(api: Imports, blobs: Path) -> None:
    found = api.check(api.begin(b"slug,n\na,oops\n", "a.csv"), **ZOO, args={"n": {"column": "n", "kind": "json"}})
    assert len(files(blobs)) == 1
    assert api.send(f"/api/imports/{found['id']}/cancel", {}).json()["status"] == "cancelled"
    assert files(blobs) == [] and Upload.objects.count() == ImportProblem.objects.count() == 0
    assert api.send(f"/api/imports/{found['id']}/cancel", {}).json()["status"] == "cancelled" and api.commit(found).status_code == 409


def test_a_committed_import_leaves_no_file(api: Imports, blobs: Path) -> None:
    api.bring(b"slug,q\na,1\n", "a.csv")
    assert files(blobs) == [] and Upload.objects.count() == 0 and Import.objects.get().status == "done"


def test_what_was_abandoned_is_gone_after_a_day(api: Imports, blobs: Path) -> None:
    kept = api.file(b"kept", "kept.csv")
    abandoned = api.check(api.begin(b"slug,n\na,oops\n", "a.csv"), **ZOO, args={"n": {"column": "n", "kind": "json"}})
    api.file(b"never imported", "b.csv")
    default_storage.save("imports/6d5f1c1e-0000-4000-8000-000000000000/stray", io.BytesIO(b"of a killed process"))
    assert sessions.drop_expired() == 0 and len(files(blobs)) == 3
    Upload.objects.exclude(id=kept).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sessions.drop_expired() == 2
    assert len(files(blobs)) == 1 and Import.objects.count() == ImportProblem.objects.count() == 0
    assert api.get(f"/api/imports/{abandoned['id']}").status_code == 404 and api.get(f"/api/uploads/{kept}").status_code == 200


def test_an_import_that_somebody_works_on_is_not_dropped(api: Imports) -> None:
    api.begin(b"slug,n\na,1\n", "a.csv")
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    Import.objects.update(status="checking")
    assert claims.claim_waiting("busy") is not None and sessions.drop_expired() == 0


# — real files and templates


@pytest.mark.parametrize("name", ["csv", "tsv", "json", "jsonl", "parquet", "openai_evals", "inspect"])
def test_each_template_can_be_imported_as_it_is(api: Imports, name: str) -> None:
    response = api.get(f"/api/imports/templates/{name}")
    assert response.status_code == 200
    filename = response["Content-Disposition"].partition('filename="')[2].rstrip('"')
    found = api.begin(response.content, filename)
    assert found["layout"] == (name if name in ("openai_evals", "inspect") else "tasks")
    checked = api.check(found, **({} if found["layout"] == "tasks" else ZOO))
    assert checked["errors_total"] == 0 and checked["rows_good"] >= 1


def test_an_unknown_template_is_not_found(api: Imports) -> None:
    assert api.get("/api/imports/templates/xlsx").status_code == 404


def in_five_formats() -> dict[str, bytes]:
    """GSM8K's questions and answers, as people pass them on."""
    import pyarrow
    import zstandard
    from pyarrow import parquet

    rows = [json.loads(line) for line in GSM8K.read_text().splitlines()]
    pairs = [{"question": one["question"], "answer": one["ground_truth"]} for one in rows]
    text, table = io.StringIO(), io.BytesIO()
    writer = csv.DictWriter(text, ["question", "answer"])
    writer.writeheader()
    writer.writerows(pairs)
    parquet.write_table(pyarrow.Table.from_pylist(pairs), table)
    tabs = io.StringIO()
    csv.writer(tabs, delimiter="\t").writerows([["question", "answer"], *([one["question"], one["answer"]] for one in pairs)])
    return {
        "gsm8k.csv": text.getvalue().encode(), "gsm8k.tsv": tabs.getvalue().encode(), "gsm8k.json": json.dumps(pairs).encode(),
        "gsm8k.jsonl.gz": gzip.compress(lines(*pairs)), "gsm8k.jsonl.zst": zstandard.compress(lines(*pairs)), "gsm8k.parquet": table.getvalue(),
    }  # fmt: skip


def test_gsm8k_gives_the_same_digest_from_every_format(api: Imports) -> None:
    pytest.importorskip("pyarrow")
    digests = {}
    for number, (name, body) in enumerate(in_five_formats().items()):
        done = api.bring(body, name, "create", name=f"gsm {number}", changes={**ZOO, "slug": {"constant": "gsm8k-{n}"}})
        assert done["tasks_created"] == 1319
        digests[name] = done["version"]["digest"]
    assert len(set(digests.values())) == 1, digests


def test_the_guess_takes_the_rows_of_gsm8k_as_they_are(api: Imports) -> None:
    done = api.bring(GSM8K.read_bytes(), "model_solutions.jsonl", name="gsm8k")
    assert done["tasks_created"] == 1319 and done["taskset"]["environments"] == ["zoo"]
    assert GSM8K.stat().st_size > actions.SMALL_BYTES
