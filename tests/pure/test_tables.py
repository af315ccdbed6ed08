"""What a table is asked in its address, and how a column sorts, filters and counts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksets.tables.asking import BadQuestion, Sort, column_name, filter_of, parse, split, unescaped
from tasksets.tables.columns import NONE, Column, Filter, Writer, both, counted, joined, mask_of, sorted_rows, summary_of, value_of
from tasksets.tables.pieces import Pieces
from tasksets.tables.reading import hits


def column(*values: str) -> Column:
    """Of JSON texts, `` for a row without the column."""
    writer = Writer(len(values))
    for row, value in enumerate(values):
        if value:
            writer.put(row, "x", value_of(value.encode()))
    return writer.done().get("x") or joined([(len(values), None)])


def stays(held: Column, *tokens: str) -> list[int]:
    return [row for row, stay in enumerate(mask_of(held, filter_of("x", tokens))) if stay]


def test_values_keep_their_digits_and_null_is_no_value() -> None:
    assert [value_of(raw) for raw in (b"1.10", b'"a\\n"', b"true", b"null", b'{"a": 1}')] == ["n1.10", "sa\n", "jtrue", NONE, 'j{"a": 1}']
    assert len(value_of(b'"' + b"\xc3\xa9" * 500 + b'"')) == 201


def test_numbers_come_before_texts_and_no_value_is_last_both_ways() -> None:
    held = column('"b"', "10", "", "9", '"a"', "9.0", "true")
    assert sorted_rows(held, range(7), descending=False) == [3, 5, 1, 4, 0, 6, 2]
    assert sorted_rows(held, range(7), descending=True) == [6, 0, 4, 1, 3, 5, 2]


def test_a_filter_leaves_what_it_names_or_what_it_does_not() -> None:
    held = column('"a"', '"b"', "", '"a,b"', '"!a"', "5", '"5"', '""')
    assert stays(held, "a", "b") == [0, 1] and stays(held, "!a") == [1, 2, 3, 4, 5, 6, 7]
    assert stays(held, "\\-") == [2] and stays(held, "!\\-", "!5") == [0, 1, 3, 4, 7]
    assert stays(held, *split("a\\,b,\\!a")) == [3, 4] and stays(held, "5") == [5, 6] and stays(held, "") == [7]


def test_a_range_takes_numbers_alone() -> None:
    held = column("1", "2", "2.5", '"2"', "", "30")
    assert stays(held, ">=2", "<=5") == [1, 2] and stays(held, ">=2") == [1, 2, 5] and stays(held, ">=20", "1") == [0, 5]


@given(st.lists(st.text(), min_size=1))
def test_any_texts_survive_the_commas_of_an_address(texts: list[str]) -> None:
    def escaped(text: str) -> str:
        return "".join("\\" + char if char in "\\,!<>-" else char for char in text)

    assert [unescaped(token) for token in split(",".join(escaped(text) for text in texts))] == texts


def test_a_question_is_read_whole_or_refused_with_each_problem() -> None:
    asked = parse("q", "-columns.ops,slug", {"ops": ["1"], "env": ["a"], "columns.env": ["b"]})
    assert asked.sort == (Sort("columns.ops", True), Sort("slug"))
    assert [one.name for one in asked.filters] == ["columns.env", "env", "columns.ops"]
    assert column_name("task_id") == "task_id" and not asked.is_all_in_order and parse("", "position", {}).is_all_in_order
    with pytest.raises(BadQuestion) as caught:
        parse("", "args.x,-columns.", {"ops": [">=many"], "n": ["<=nan"]})
    assert [one.path for one in caught.value.problems] == ["f.n", "f.ops", "sort", "sort"]


def test_blocks_with_other_values_and_without_the_column_join() -> None:
    held = joined([(2, column("1", '"a"')), (1, None), (2, column('"a"', "2"))])
    assert [held.values[code] for code in held.codes] == ["n1", "sa", NONE, "sa", "n2"]


def test_masks_meet() -> None:
    assert both(b"\x01\x00\x01", b"\x01\x01\x00") == b"\x01\x00\x00" and both(None, b"\x01") == b"\x01" and both(None, None) is None


def test_counts_are_of_the_rows_that_stay_and_bins_span_them_all() -> None:
    held = column("0", "10", "10", "", "5")
    summary = summary_of(held, shown=9)
    assert (summary.distinct, summary.texts, summary.totals) == (4, ["10", "0", "5", None], [2, 1, 1, 1])
    assert counted(held, summary.slots, 3, b"\x01\x01\x00\x01\x00") == [1, 1, 0]
    heights = counted(held, summary.bin_of, len(summary.edges) - 1, None)
    assert (summary.edges[0], summary.edges[-1], sum(heights), heights[0], heights[-1]) == (0, 10, 4, 1, 2)
    assert summary_of(held, shown=1, first=["5"]).texts == ["5"] and summary_of(held, shown=9, holds="0").texts == ["10", "0"]


def test_a_column_of_one_number_has_one_bin_and_of_texts_none() -> None:
    summary = summary_of(column("7", "7.0"), shown=9)
    assert (summary.edges, counted(column("7", "7.0"), summary.bin_of, 1, None)) == ([7, 7], [2])
    assert summary_of(column("7", '"a"'), shown=9).edges == [] and summary_of(column("", ""), shown=9).texts == [None]


@given(st.lists(st.text("abA", max_size=5)), st.text("ab", min_size=1, max_size=2))
def test_a_row_is_found_once_however_often_it_holds_the_needle(rows: list[str], needle: str) -> None:
    ends, size = [], 0
    for row in rows:
        size += len(row) + 1
        ends.append(size)
    body = "".join(row + "\n" for row in rows).encode()
    assert list(hits(body, ends, needle.encode())) == [at for at, row in enumerate(rows) if needle in row]


def test_pieces_stay_below_their_limit_and_the_one_not_asked_for_goes_first() -> None:
    kept = Pieces(100)
    for name in "abcd":
        kept.keep(name, name, 25)
    assert kept.find("a") == "a"
    kept.keep("e", "e", 25)
    assert (kept.find("b"), kept.find("a"), kept.size_bytes) == (None, "a", 100)
    kept.keep("huge", "huge", 26)
    assert kept.find("huge") is None and kept.get("huge", lambda: "made", len) == "made"


def test_a_filter_may_have_everything_at_once() -> None:
    wanted = Filter("x", frozenset({"a"}), frozenset({"7", None}), 5, 9)
    told = {value: wanted.lets(value) for value in ("sa", "sb", "n6", "n7", NONE, "s6")}
    assert told == {"sa": True, "sb": False, "n6": True, "n7": False, NONE: False, "s6": False}
    assert all(Filter("x").lets(kind + text) for kind, text in product("snj", "1"))
