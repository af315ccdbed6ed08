"""What is written is read back: any tasks, through each format, with equal text, order and digest; and no more is undone than was done."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.content import parse_row
from proctor.formats import ReadOptions, guess, opened
from proctor.formats.base import Row, text_of
from proctor.formats.mapping import Mapper
from proctor.formats.ours import COLUMNS, INDEX, MARK, README, ROW, guard, unguard
from tasksets import versions
from tasksets.downloads.folders import write_zip
from tasksets.downloads.packing import packed
from tasksets.downloads.parquet import write_parquet
from tasksets.downloads.rows import Facts, Outgoing, blocks, write_csv, write_json, write_lines

FACTS = Facts("zoo", 3, "sha256:" + "0" * 64, 2)
FORMATS = ["json", "jsonl", "csv", "parquet", "zip"]
OPTIONS = ReadOptions()
TOML = "[metadata]\nlevel = 1.10\n[agent]\ntimeout_sec = 90.0\n"


def no_folder(_name: str) -> None:
    return None


def written(name: str, tasks: list[Outgoing], open_folder: Any = no_folder) -> bytes:
    if name == "zip":
        return b"".join(write_zip(tasks, FACTS, open_folder, OPTIONS))
    writers = {"json": write_json, "jsonl": write_lines, "csv": write_csv, "parquet": write_parquet}
    return b"".join(writers[name](tasks, FACTS))


def rows_of(body: bytes, filename: str) -> list[Row]:
    with opened(io.BytesIO(body), filename, OPTIONS) as (_found, rows):
        return list(rows)


def read(body: bytes, filename: str) -> list[Outgoing]:
    """As an import without any mapping work does: the guess, from the first rows only."""
    rows = rows_of(body, filename)
    layout = guess.layout_of(rows[:2])
    assert layout == "tasks"
    mapper = Mapper(guess.guess_mapping(rows[:2], layout, prefix="x"))
    made = [mapper.make(row, number) for number, row in enumerate(rows, 1)]
    assert [one.problems for one in made if one.problems] == []
    return [Outgoing(one.task.slug, one.task.text) for one in made if one.task is not None]


def digest(tasks: list[Outgoing]) -> str:
    entries = [versions.entry(parse_row(b'{"slug":"x",' + task.text[1:].encode()).content_id, task.slug) for task in tasks]
    return versions.digest([chunk.id for chunk in versions.cut(entries)])


def task(slug: str, **fields: Any) -> Outgoing:
    return Outgoing(slug, parse_row(json.dumps({"slug": slug, "env": "e", "id": "t", **fields}).encode()).text)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
trees = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8)  # fmt: skip
objects = st.dictionaries(texts, trees, max_size=3)
names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8) | st.sampled_from(["=1+1", "'=x", "''@", "'plain", "+a", "-b", "@c", "README.md", "con", "__MACOSX", "..", "a/b", "path"])  # fmt: skip
verifiers = st.fixed_dictionaries({"env": names, "id": names}, optional={"args": objects})
fields = st.fixed_dictionaries(
    {"slug": names, "env": names, "id": names},
    optional={
        "args": objects, "columns": objects, "agent_config": objects, "validation": st.lists(objects, max_size=2),
        "runtime_config": st.just({"limits": {"run_timeout_s": 9.50}}), "verifier": verifiers,
    },
)  # fmt: skip
tasksets = st.lists(fields, min_size=1, max_size=6, unique_by=lambda row: row["slug"])


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(rows=tasksets)
def test_any_tasks_survive_each_format_with_equal_digest(name: str, rows: list[dict[str, Any]]) -> None:
    tasks = [Outgoing(row["slug"], parse_row(json.dumps(row).encode()).text) for row in rows]
    found = read(written(name, tasks), f"tasks.{name}")
    assert found == tasks and digest(found) == digest(tasks)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("args", ['{"n":1.10,"a":-0}', '{"n":1E30,"big":123456789012345678901234567890}', '{"z":{"b":1,"a":2},"nul":"\\u0000\\r\\n\u2028"}', "{}"])
def test_digits_key_order_and_empty_objects_stay(name: str, args: str) -> None:
    tasks = [Outgoing("a", f'{{"env":"e","id":"t","args":{args}}}'), Outgoing("b", '{"env":"e","id":"t"}')]
    assert read(written(name, tasks), f"tasks.{name}") == tasks


@pytest.mark.parametrize("name", FORMATS)
def test_a_field_that_only_a_late_task_has_is_kept(name: str) -> None:
    tasks = [*(task(f"t{index}") for index in range(5)), task("late", verifier={"env": "v", "id": "w"}, columns={"a": 1})]
    assert read(written(name, tasks), f"tasks.{name}") == tasks


@pytest.mark.parametrize(("kind", "ending"), [("gzip", "gz"), ("zstd", "zst")])
@pytest.mark.parametrize("name", ["json", "jsonl", "csv"])
def test_packed_files_are_one_member_and_read_back(name: str, kind: str, ending: str) -> None:
    tasks = [task(f"t{index}", args={"n": index}) for index in range(50)]
    body = b"".join(packed(blocks([written(name, tasks)]), kind))
    plain = gzip.decompress(body) if kind == "gzip" else zstandard.decompress(body, max_output_size=10**6)
    assert plain == written(name, tasks) and read(body, f"tasks.{name}.{ending}") == tasks


def test_blocks_hold_the_same_bytes() -> None:
    pieces = [bytes([index]) * index for index in range(50)]
    made = list(blocks(pieces, size=100))
    assert b"".join(made) == b"".join(pieces) and all(len(block) >= 100 for block in made[:-1])


# — CSV and spreadsheets


@given(st.text(max_size=6) | st.text("'=+-@\t\rx", max_size=6))
def test_a_guarded_cell_comes_back_and_begins_like_no_formula(cell: str) -> None:
    assert unguard(guard(cell)) == cell and guard(cell)[:1] not in tuple("=+-@\t\r")


@given(st.text("'=+-@x", max_size=6))
def test_a_cell_that_somebody_typed_without_a_guard_is_left_as_it_is(cell: str) -> None:
    assert unguard(cell) == cell or (unguard(cell) == cell[1:] and guard(unguard(cell)) == cell)


def test_cells_that_begin_like_a_formula_are_guarded_in_the_file() -> None:
    body = written("csv", [task("=cmd()"), task("plain")]).decode()
    header, first, second = csv.reader(io.StringIO(body))
    assert header == [*COLUMNS, MARK] and first[0] == "'=cmd()" and second[0] == "plain" and first[-1] == ""


def test_a_foreign_file_keeps_its_leading_apostrophes() -> None:
    rows = rows_of(b"slug,env,id\n'=a,e,t\n'plain,e,t\n", "foreign.csv")
    assert [text_of(row.cells["slug"]) for row in rows] == ["'=a", "'plain"]


def test_our_file_is_known_after_a_spreadsheet_has_moved_its_columns_and_added_a_row() -> None:
    body = f"{MARK};env;slug;id\n;e;'=a;t\n;e;'new;t\n".encode()
    assert [one.slug for one in read(body, "edited.csv")] == ["=a", "'new"]


# — zips of task folders


def tar_of(**files: str) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, text in files.items():
            record = tarfile.TarInfo(name.replace("__", "/").replace("_", "."))
            record.size, record.mode = len(text.encode()), 0o755 if text.startswith("#!") else 0o644
            tar.addfile(record, io.BytesIO(text.encode()))
    return target.getvalue()


FOLDER = tar_of(task_toml=TOML, instruction_md="Do it.\n", tests__test_sh="#!/bin/sh\n")
FROM_FOLDER = {"args": {"instruction": "Do it.\n"}, "columns": {"level": 1.1}, "agent_config": {"timeout_seconds": 90.0}}


def open_folder(name: str) -> IO[bytes] | None:
    return io.BytesIO(FOLDER) if name == "one" else None


def plain_folder_task(slug: str = "one") -> Outgoing:
    return Outgoing(slug, '{"env":"one","id":"run","args":{"instruction":"Do it.\\n"},"agent_config":{"timeout_seconds":90.0},"columns":{"level":1.10}}')


def names_in(body: bytes) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        yield from archive.namelist()


def test_a_folder_that_says_all_of_its_task_goes_out_without_a_row() -> None:
    body = written("zip", [plain_folder_task()], open_folder)
    assert list(names_in(body)) == [README, "one/task.toml", "one/instruction.md", "one/tests/test.sh", INDEX]
    assert read(body, "tasks.zip") == [plain_folder_task()]


def test_a_folder_whose_task_was_edited_has_its_own_row_too() -> None:
    edited, copied = Outgoing("one", plain_folder_task().text.replace("90.0", "60")), plain_folder_task("Copy of it")
    body = written("zip", [edited, copied, task("row only")], open_folder)
    assert {f"one/{ROW}", f"Copy-of-it/{ROW}", f"row-only/{ROW}", "Copy-of-it/task.toml"} <= {*names_in(body)} and "row-only/task.toml" not in {*names_in(body)}
    assert read(body, "tasks.zip") == [edited, copied, task("row only")]


def test_a_folder_edited_outside_counts_as_it_is_then() -> None:
    with zipfile.ZipFile(io.BytesIO(written("zip", [plain_folder_task()], open_folder))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["one/instruction.md"] = b"Do more.\n"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in sorted(files):
            archive.writestr(name, files[name])
    assert '"Do more.\\n"' in read(target.getvalue(), "tasks.zip")[0].text


def test_the_order_survives_a_zip_that_was_packed_again_by_name() -> None:
    tasks = [task("z"), task("a"), task("m")]
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written("zip", tasks))) as archive, zipfile.ZipFile(target, "w") as again:
        for name in sorted(archive.namelist()):
            again.writestr(name, archive.read(name))
    assert read(target.getvalue(), "tasks.zip") == tasks


def test_folders_have_safe_names_that_differ_on_every_system() -> None:
    tasks = [task(slug) for slug in ("A", "a", "../../etc", "README.md", "con", "ü", "ö", "a-2")]
    folders = {name.split("/")[0] for name in names_in(written("zip", tasks)) if "/" in name}
    assert len({name.lower() for name in folders}) == len(tasks) and all(name.isascii() and name.strip(".") == name for name in folders)
    assert read(written("zip", tasks), "tasks.zip") == tasks


def test_a_row_file_in_a_foreign_zip_is_a_file_like_any_other() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, text in {"one/task.toml": TOML, "one/instruction.md": "Do it.\n", f"one/{ROW}": '{"slug":"evil","env":"x","id":"y"}'}.items():
            archive.writestr(name, text)
    assert read(target.getvalue(), "tasks.zip") == [plain_folder_task()]


@pytest.mark.parametrize(("row", "rule"), [('{"slug":"a","env":"e","id":"t","extra":1}', "is not a field"), ("[1]", "must be a JSON object"), ('{"a":NaN}', "NaN")])
def test_a_bad_row_file_is_a_problem_of_its_folder(row: str, rule: str) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(INDEX, json.dumps({"format": MARK, "folders": ["one"]}))
        archive.writestr(f"one/{ROW}", row)
    assert rule in rows_of(target.getvalue(), "tasks.zip")[0].problems[0].rule
