"""Files that break readers, over REST from the upload to the commit: each is imported as it is meant, or refused with a sentence that says why."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from accounts.callers import Caller
from tasksets.imports import sessions
from tasksets.imports.models import Import, Upload, UploadPart
from tasksets.models import TaskContent, Taskset
from tests.support.imports import Imports
from tests.support.tasksets import body_of
from web.errors import AppError

pytestmark = pytest.mark.usefixtures("blobs")

ZOO = {"env": {"column": None, "constant": "zoo"}}
MB = 1_000_000


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


def args_of(api: Imports) -> list[dict[str, Any]]:
    return [task["args"] for task in json.loads(body_of(api.get("/api/tasksets/s/export")))["tasks"]]


def test_five_thousand_columns_go_through_every_step(api: Imports) -> None:
    names = [f"c{number}" for number in range(5_000)]
    body = ",".join(["slug", *names]) + "\n" + "\n".join(",".join([f"t{row}", *("x" for _ in names)]) for row in range(3)) + "\n"
    found = api.begin(body.encode(), "wide.csv")
    assert len(found["columns"]) == 5_001
    checked = api.check(found, **ZOO)
    assert (checked["rows_good"], checked["errors_total"]) == (3, 0)
    assert len(api.get(f"/api/imports/{checked['id']}/rows/2").json()["cells"]) == 5_001
    assert api.commit(checked).status_code == 200 and [len(args) for args in args_of(api)] == [5_000] * 3


def test_a_cell_of_30_mb_is_imported_and_never_sent_whole_to_the_page(api: Imports) -> None:
    found = api.begin(b"slug,q\na,short\nb," + b"x" * (30 * MB) + b"\nc,last\n", "heavy.csv")
    assert max(len(cell) for row in found["preview"] for cell in row["cells"].values()) <= 250
    checked = api.check(found, **ZOO)
    assert (checked["rows_good"], checked["errors_total"]) == (3, 0)
    assert checked["preview"][1]["task"] is None and checked["preview"][1]["errors"] == []
    row = api.get(f"/api/imports/{checked['id']}/rows/3").json()
    assert (row["cut"], len(row["cells"]["q"])) == (["q"], 100_000)
    assert api.commit(checked).json()["tasks_created"] == 3
    assert [len(args["q"]) for args in args_of(api)] == [5, 30 * MB, 4]


def test_bom_mixed_line_ends_cells_over_many_lines_and_nested_json_keep_their_text(api: Imports) -> None:
    body = b'\xef\xbb\xbfslug,text,data\r\na,"one\r\ntwo\nthree","{""a"": [1, {""b"": 1.10}]}"\nb,plain,[]\rc,last,"""1"""\r\n'
    found = api.begin(body, "a.csv")
    assert found["columns"] == ["slug", "text", "data"]
    checked = api.check(found, **ZOO, args={"text": {"column": "text", "kind": "text"}, "data": {"column": "data", "kind": "json"}})
    assert checked["errors_total"] == 0, api.errors(checked)
    api.commit(checked)
    exported = body_of(api.get("/api/tasksets/s/export"))
    assert b'"args":{"text":"one\\r\\ntwo\\nthree","data":{"a":[1,{"b":1.10}]}}' in exported
    assert [args["data"] for args in args_of(api)][1:] == [[], "1"]


def test_the_wrong_delimiter_is_seen_and_put_right(api: Imports) -> None:
    found = api.begin(b"slug;text\na;one, two\nb;three, four\n", "a.csv")
    assert found["columns"] == ["slug", "text"]
    wrong = api.send(f"/api/imports/{found['id']}/preview", {**found["guess"], **ZOO, "options": {"delimiter": "|"}}).json()
    assert wrong["columns"] == ["slug;text"]
    checked = api.check(found, **ZOO, options={"delimiter": ";"})
    assert (checked["errors_total"], api.commit(checked).json()["tasks_created"]) == (0, 2)


@pytest.mark.parametrize(
    ("body", "name", "why"),
    [
        (b"\xef\xbb\xbf", "bom.csv", "no rows"),
        (b" \n\t\n\r\n", "blank.csv", "no rows"),
        (b"\n \n", "blank.jsonl", "no rows"),
        (b"   ", "blank.json", "JSON"),
        (b"\0" * (40 * MB), "zeros.csv", "larger than the limit"),
        (b"\0" * (40 * MB), "zeros.json", "list of rows"),
        (b"\0" * (40 * MB), "zeros", "larger than the limit"),
        (gzip.compress(b"\0" * (40 * MB), 1, mtime=0), "zeros.csv.gz", "larger than the limit"),
        (b"PAR1" + b"\0" * 40 + b"\xff\xff\xff\x7fPAR1", "lies.parquet", "which the file has not"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "picture.csv", ""),
    ],
)  # fmt: skip
def test_a_file_of_nothing_or_of_noise_is_refused_or_full_of_errors_and_stores_nothing(api: Imports, body: bytes, name: str, why: str) -> None:
    found = api.begin(body, name)
    if found["status"] != "failed":
        sent = api.send(f"/api/imports/{found['id']}/mapping", {**found["guess"], **ZOO}, "PUT")
        found = api.check(found, **ZOO) if sent.status_code == 200 else api.seen(found)
    assert found["status"] == "failed" or not found["rows_good"], found
    assert why in (found["error"] or "")
    assert api.commit(found, leave_out_bad=True).status_code == 409
    assert Taskset.objects.count() == TaskContent.objects.count() == 0


def test_a_file_of_more_rows_than_a_taskset_holds_is_refused_in_its_check(api: Imports, settings: Any) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "tasks_per_set": 3}
    checked = api.check(api.begin(b"slug,q\na,1\nb,2\nc,3\nd,4\n", "a.csv"), **ZOO)
    assert (checked["status"], checked["error"]) == ("failed", "The file has more than 3 rows, which is more than a taskset holds; cut it in parts")


def test_a_zip_cut_at_any_byte_is_refused(api: Imports) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("one/task.toml", 'schema_version = "1.0"\n')
        archive.writestr("one/instruction.md", "Do it.\n")
    whole = target.getvalue()
    for length in range(4, len(whole), 7):
        found = api.begin(whole[:length], "tasks.zip")
        assert found["status"] == "failed" and found["error"], length
    assert api.begin(whole, "tasks.zip")["status"] == "ready"


def test_gzip_cut_in_the_middle_of_its_rows_fails_the_check_and_stores_nothing(api: Imports) -> None:
    packed = gzip.compress(b"slug,q\n" + b"".join(b"t%d,%d\n" % (n, n * 7919 % 10007) for n in range(60_000)), mtime=0)
    checked = api.check(api.begin(packed[: len(packed) * 2 // 3], "cut.csv.gz"), **ZOO)
    assert checked["status"] == "failed" and "cut short" in checked["error"]
    assert api.commit(checked, leave_out_bad=True).status_code == 409 and TaskContent.objects.count() == 0


class Line(io.RawIOBase):
    """A body that gives so many bytes and then is dead, as a cut connection."""

    def __init__(self, body: bytes, alive: int) -> None:
        self._body = io.BytesIO(body[:alive])

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._body.read(size)
        if not piece:
            raise OSError("the line is dead")
        return piece


def test_a_connection_cut_at_any_byte_loses_at_most_one_part(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PART_BYTES", 10)
    body = bytes(range(64))
    for alive in range(len(body)):
        upload = sessions.begin_upload(ada, filename="a.csv", size_bytes=len(body))
        with pytest.raises(OSError):
            sessions.receive(ada, upload, Line(body, alive), offset=0, announced=len(body))  # type: ignore[arg-type]
        upload.refresh_from_db()
        there = upload.received_bytes
        assert there == alive // 10 * 10
        assert sessions.receive(ada, upload, io.BytesIO(body[there:]), offset=there, announced=len(body) - there) == len(body)
        with sessions.open_upload(Upload.objects.get(id=upload.id)) as file:
            assert file.read() == body


def test_the_same_part_sent_twice_at_once_is_kept_once(ada: Caller, blobs: Path) -> None:
    upload = sessions.begin_upload(ada, filename="a.csv", size_bytes=4)
    first, second = (Upload.objects.get(id=upload.id) for _ in range(2))
    assert sessions.receive(ada, first, io.BytesIO(b"0123"), offset=0, announced=4) == 4
    with pytest.raises(AppError) as caught:
        sessions.receive(ada, second, io.BytesIO(b"0123"), offset=0, announced=4)
    assert (caught.value.status, caught.value.details) == (409, {"received_bytes": 4})
    assert UploadPart.objects.count() == 1 and len([path for path in blobs.rglob("*") if path.is_file()]) == 1


def test_the_same_upload_retried_makes_one_set_of_tasks(api: Imports) -> None:
    body = b"slug,q\na,1\nb,2\n"
    first = api.bring(body, "a.csv")
    again = api.bring(body, "a.csv", taskset="s")
    assert (again["tasks_unchanged"], again["version"]["number"]) == (2, first["version"]["number"])
    upload = api.file(body, "a.csv")
    made = [api.send("/api/imports", {"upload_id": upload, "taskset": "s"}).json() for _ in range(2)]
    checked = [api.check(one) for one in made]
    assert [api.commit(one).status_code for one in checked] == [200, 200]
    assert Taskset.objects.count() == 1 and Import.objects.filter(status="done").count() == 4
