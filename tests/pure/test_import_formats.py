"""Readers of files: what each format gives, exact to the digit, and how each kind of broken file is refused."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from typing import Any

import pytest
import zstandard
from msgspec import Raw

from proctor.formats import FileRefused, Limits, ReadOptions, opened
from proctor.formats.base import Row, text_of


def read(body: bytes, name: str, wanted: str | None = None, **options: Any) -> tuple[str, list[Row]]:
    with opened(io.BytesIO(body), name, ReadOptions(**options), wanted) as (found, rows):
        return found.kind, list(rows)


def cells(row: Row) -> dict[str, str]:
    return {name: text_of(cell) for name, cell in row.cells.items()}


def refusal(body: bytes, name: str, **options: Any) -> str:
    with pytest.raises(FileRefused) as caught:
        read(body, name, **options)
    return str(caught.value)


# — delimited


def test_a_spreadsheet_is_read_with_its_bom_mixed_line_ends_and_cells_over_many_lines() -> None:
    body = b'\xef\xbb\xbfslug,question\r\na,"two\nlines, and a ""quote"""\rb,plain\n\r\n\nc,5" pipe\n'
    kind, rows = read(body, "a.csv")
    assert kind == "csv"
    assert [(row.line, cells(row)) for row in rows] == [
        (2, {"slug": "a", "question": 'two\nlines, and a "quote"'}),
        (4, {"slug": "b", "question": "plain"}),
        (7, {"slug": "c", "question": '5" pipe'}),
    ]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found_out(delimiter: str) -> None:
    lines = [["a", "b", "c"], ["1", "x y", "2"], ["3", "z: w", "4"]]
    body = "\n".join(delimiter.join(line) for line in lines).encode()
    assert cells(read(body, "a.csv")[1][1]) == {"a": "3", "b": "z: w", "c": "4"}


def test_a_wrong_delimiter_that_is_asked_for_gives_one_column() -> None:
    assert cells(read(b"a,b\n1,2\n", "a.csv", delimiter=";")[1][0]) == {"a,b": "1,2"}


def test_a_row_of_another_length_is_a_row_with_a_problem_and_the_rest_goes_on() -> None:
    _, rows = read(b"a,b\n1\n1,2,3\n4,5\n", "a.csv")
    assert [[found.rule for found in row.problems] for row in rows] == [
        ["the row has 1 cells, the header 2"],
        ["the row has 3 cells, the header 2"],
        [],
    ]


def test_bytes_of_another_encoding_are_a_problem_of_their_cell() -> None:
    body = "a,b\nx,café\ny,tea\n".encode("latin-1")
    _, rows = read(body, "a.csv")
    assert [(found.column, found.value) for found in rows[0].problems] == [("b", "caf\\udce9")] and rows[1].problems == ()
    assert cells(read(body, "a.csv", encoding="latin-1")[1][0]) == {"a": "x", "b": "café"}


def test_utf_16_is_known_by_its_mark() -> None:
    assert cells(read("a,b\nx,č\n".encode("utf-16"), "a.csv")[1][0]) == {"a": "x", "b": "č"}


def test_five_thousand_columns_are_read() -> None:
    header, row = ",".join(f"c{i}" for i in range(5_000)), ",".join(str(i) for i in range(5_000))
    assert cells(read(f"{header}\n{row}\n".encode(), "a.csv")[1][0])["c4999"] == "4999"


def test_a_cell_of_30_mb_is_read_and_one_over_the_cap_refuses_the_file() -> None:
    body = b'a,b\n1,"' + b"x" * 30_000_000 + b'"\n2,y\n'
    _, rows = read(body, "a.csv")
    assert len(rows[0].cells["b"]) == 30_000_000 and cells(rows[1]) == {"a": "2", "b": "y"}
    assert "line 2 is larger than the limit" in refusal(body, "a.csv", limits=Limits(row_bytes=1_000_000))


def test_a_quote_that_is_never_closed_is_named_by_its_line() -> None:
    assert refusal(b'a,b\n1,2\n"3,4\n5,6\n', "a.csv") == "A quote in the row that begins on line 3 is never closed"


def test_doubled_and_empty_names_in_the_header_become_unique() -> None:
    assert list(read(b"a,,a\n1,2,3\n", "a.csv")[1][0].cells) == ["a", "column 2", "a (2)"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "The file is empty"),
        (b"\n \n\r\n", "The file holds no rows"),
        (b"a,b\n", "The file holds no rows"),
        (b"\xef\xbb\xbf", "The file holds no rows"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_file_without_rows_is_refused(body: bytes, why: str, name: str) -> None:
    assert refusal(body, name) == why


# — JSON


def test_json_rows_keep_their_digits_and_lines() -> None:
    body = b'{"n": 1.10, "big": 12345678901234567890123}\n\n{"n": -0.0}\r\n'
    kind, rows = read(body, "a.jsonl")
    assert kind == "jsonl"
    assert [(row.line, cells(row)) for row in rows] == [(1, {"n": "1.10", "big": "12345678901234567890123"}), (3, {"n": "-0.0"})]


@pytest.mark.parametrize(
    ("line", "column", "rule"),
    [
        (b"[1]", None, "must be a JSON object"),
        (b'{"a": NaN}', "a", "NaN and infinities are not JSON"),
        (b'{"a": 1, "a": 2}', "a", "the key stands more than once in its object"),
        (b'{"a": "\\ud800"}', "a", "must hold no lone surrogate"),
        (b'{"a": "\xff"}', None, "must be JSON in UTF-8"),
        (b'{"a": 1', None, "must be JSON in UTF-8"),
        (b'{"a":' + b"[" * 2000 + b"]" * 2000 + b"}", None, "nested deeper"),
    ],
)
def test_a_bad_line_is_one_row_with_a_problem(line: bytes, column: str | None, rule: str) -> None:
    _, rows = read(b'{"a": 1}\n' + line + b'\n{"a": 3}\n', "a.jsonl")
    assert [row.line for row in rows] == [1, 2, 3] and rows[0].problems == rows[2].problems == ()
    found = rows[1].problems[0]
    assert found.column == column and rule in found.rule


def test_a_line_over_the_cap_is_one_bad_row() -> None:
    _, rows = read(b'{"a": 1}\n{"a": "' + b"x" * 500 + b'"}\n{"a": 3}\n', "a.jsonl", limits=Limits(row_bytes=100))
    assert [bool(row.problems) for row in rows] == [False, True, False]


@pytest.mark.parametrize(
    "body",
    [
        b'[{"n": 1.10},\n {"n": 2}]',
        b'{"name": "x", "tasks": [{"n": 1.10},\n {"n": 2}], "more": {"a": [1]}}',
        b'{"features": [], "rows": [{"row_idx": 0, "row": {"n": 1.10}},\n{"row_idx": 1, "row": {"n": 2}}]}',
        b'\xef\xbb\xbf [\n{"n": 1.10}\n,{"n":2} ] \n',
    ],
)
@pytest.mark.parametrize("name", ["a.json", "upload"])
def test_a_json_document_gives_the_rows_of_its_list(body: bytes, name: str) -> None:
    kind, rows = read(body, name)
    assert kind == "json" and [cells(row) for row in rows] == [{"n": "1.10"}, {"n": "2"}]


def test_lines_called_json_are_read_as_lines() -> None:
    assert read(b'{"n": 1}\n{"n": 2}\n', "a.json")[0] == "jsonl"


def test_rows_of_a_document_are_found_wherever_the_blocks_of_reading_end() -> None:
    rows = [{"n": index, "text": "é" * (index * 37 % 5000)} for index in range(300)]
    _, found = read(json.dumps(rows, ensure_ascii=False, indent=1).encode(), "a.json")
    assert [json.loads(row.whole or b"") for row in found] == rows


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'[{"a": 1}', "cut short"),
        (b'[{"a": 1},\n{"a": ]', "line 2"),
        (b'[{"a": 1}] x', "Something follows the end"),
        (b'{"a": 1}', "holds no list of rows"),
        (b'"text"', "must be a list of rows"),
        (b"[]", "holds no rows"),
        (b'[{"a": "\xff"}]', "not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_a_broken_document_is_refused_with_its_place(body: bytes, why: str) -> None:
    assert why in refusal(body, "a.json")


# — compressed


def packed(kind: str, body: bytes) -> bytes:
    return gzip.compress(body, 6) if kind == "gz" else zstandard.compress(body)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_compressed_files_are_read_as_what_they_hold(kind: str, name: str) -> None:
    body = b"".join(b'{"n": %d}\n' % index for index in range(50_000))
    found, rows = read(packed(kind, body), f"{name}.{kind}")
    assert found == "jsonl" and len(rows) == 50_000 and cells(rows[-1]) == {"n": "49999"}


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_several_members_one_after_another_are_one_file(kind: str) -> None:
    body = packed(kind, b'{"n": 1}\n') + packed(kind, b'{"n": 2}\n')
    assert [cells(row) for row in read(body, f"a.jsonl.{kind}")[1]] == [{"n": "1"}, {"n": "2"}]


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_compressed_data_cut_at_any_byte_is_refused(kind: str) -> None:
    body = packed(kind, b"".join(b'{"n": %d, "text": "%d"}\n' % (index, index**5) for index in range(60)))
    for end in range(4, len(body)):
        assert refusal(body[:end], f"a.jsonl.{kind}")


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_bomb_is_stopped_by_its_ratio_in_flat_memory(kind: str) -> None:
    bomb = packed(kind, b"[" + b" " * 100_000_000 + b"]")
    tracemalloc.start()
    assert "200 times its size" in refusal(bomb, f"a.json.{kind}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_file_that_unpacks_to_more_than_the_cap_is_refused(kind: str) -> None:
    body = packed(kind, b"".join(b'{"n": %d}\n' % index for index in range(10_000)))
    assert "unpacks to more than 50,000 bytes" in refusal(body, f"a.jsonl.{kind}", limits=Limits(unpacked_bytes=50_000))


# — Parquet


def parquet_of(**columns: Any) -> bytes:
    import pyarrow
    from pyarrow import parquet

    target = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), target)
    return target.getvalue()


def test_parquet_gives_exact_json() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from datetime import datetime
    from decimal import Decimal

    body = parquet_of(
        n=[2**63 - 1, None],
        d=pyarrow.array([Decimal("1.10"), None]),
        f=[0.1, 1e300],
        t=["é\n", ""],
        s=[{"a": [1]}, None],
        w=[datetime(2026, 1, 2), None],
    )
    kind, rows = read(body, "a.parquet")
    assert kind == "parquet" and all(isinstance(cell, Raw) for cell in rows[0].cells.values())
    assert cells(rows[0]) == {
        "n": "9223372036854775807",
        "d": "1.10",
        "f": "0.1",
        "t": '"é\\n"',
        "s": '{"a":[1]}',
        "w": '"2026-01-02T00:00:00"',
    }
    assert cells(rows[1]) == {"n": "null", "d": "null", "f": "1e300", "t": '""', "s": "null", "w": "null"}


def test_what_parquet_has_and_json_has_not_is_a_problem_of_its_cell() -> None:
    pytest.importorskip("pyarrow")
    _, rows = read(parquet_of(f=[float("nan"), 1.0], b=[b"\xff", b"ok"]), "a.parquet")
    assert [found.column for found in rows[0].problems] == ["f", "b"]
    assert cells(rows[1]) == {"f": "1.0", "b": '"ok"'}


def test_a_parquet_file_with_a_lying_footer_is_refused() -> None:
    pytest.importorskip("pyarrow")
    body = parquet_of(n=list(range(1000)))
    size = int.from_bytes(body[-8:-4], "little")
    assert "which the file has not" in refusal(body[:-8] + (2**31).to_bytes(4, "little") + b"PAR1", "a.parquet")
    assert "broken" in refusal(body[:-8] + (size - 7).to_bytes(4, "little") + b"PAR1", "a.parquet")
    assert "does not begin and end as one" in refusal(body[:-1], "a.parquet")
    assert "broken after row 0" in refusal(body[: -8 - size] + b"\xff" * size + body[-8:], "a.parquet")
    assert "does not begin as one" in refusal(b"a,b\n1,2\n", "a.parquet")


def test_parquet_inside_gzip_is_read_too() -> None:
    pytest.importorskip("pyarrow")
    assert [cells(row) for row in read(gzip.compress(parquet_of(n=[1, 2])), "a.parquet.gz")[1]] == [{"n": "1"}, {"n": "2"}]
