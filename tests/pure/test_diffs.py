"""Differences: what they say of rows and fields, and that applying one to the old side gives the new."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor import content
from tasksets import diffs, versions
from tasksets.diffs import FieldChange, RowChange


def line(slug: str, text: str = "x") -> bytes:
    return versions.entry(hashlib.sha256(text.encode()).hexdigest(), slug)


def difference(before: list[bytes], after: list[bytes], size: int = 3) -> diffs.Difference:
    return diffs.diff(*([b"".join(side[i : i + size]) for i in range(0, len(side), size)] for side in (before, after)))


def told(rows: list[RowChange]) -> list[tuple[str, str, int | None, int | None]]:
    return [(row.slug, row.kind, row.from_position, row.to_position) for row in rows]


def applied(before: list[bytes], rows: list[RowChange]) -> list[bytes]:
    """The old entries, with the difference worked into them and nothing else known."""
    gone = {row.from_position for row in rows if row.kind == "removed" or row.moved}
    changed = {row.from_position: row.after for row in rows if row.kind == "changed" and not row.moved}
    entries = [changed.get(at, entry) for at, entry in enumerate(before) if at not in gone]
    for row in sorted((row for row in rows if row.kind == "added" or row.moved), key=lambda row: row.to_position or 0):
        entries.insert(row.to_position or 0, row.after)
    return [entry for entry in entries if entry]


def test_added_removed_changed_and_moved_are_told_apart() -> None:
    before = [line(slug) for slug in "abcdefgh"]
    after = [line("new"), line("a"), line("c", "other"), line("d"), line("h"), line("e"), line("f"), line("g")]
    found = difference(before, after)
    assert told(found.rows) == [("new", "added", None, 0), ("b", "removed", 1, None), ("c", "changed", 2, 2), ("h", "moved", 7, 4)]
    assert found.unchanged == 5 and not found.rows[2].moved


def test_a_row_at_the_top_moves_nothing() -> None:
    before = [line(f"t{i}") for i in range(50)]
    assert told(difference(before, [line("first"), *before]).rows) == [("first", "added", None, 0)]
    assert told(difference([line("first"), *before], before).rows) == [("first", "removed", 0, None)]


def test_a_row_may_change_and_move_at_once() -> None:
    before = [line(slug) for slug in "abcdef"]
    found = difference(before, [line("f", "other"), *before[:5]])
    assert told(found.rows) == [("f", "changed", 5, 0)] and found.rows[0].moved and found.unchanged == 5


def test_whole_chunks_that_change_places_have_moved() -> None:
    before = [line(f"t{i}") for i in range(9)]
    found = difference(before, before[3:] + before[:3])
    assert {row.slug for row in found.rows} == {"t0", "t1", "t2"} and found.count("moved") == 3 and found.unchanged == 6


def test_nothing_differs_from_itself() -> None:
    entries = [line(f"t{i}") for i in range(20)]
    assert difference(entries, entries) == diffs.Difference([], 20)
    assert difference([], []) == diffs.Difference([], 0)


sides = st.lists(st.tuples(st.integers(0, 25), st.integers(0, 1)), unique_by=lambda item: item[0])


@settings(max_examples=400, deadline=None)
@given(sides, sides, st.integers(1, 5))
def test_a_difference_applied_to_the_old_version_gives_the_new(old: Any, new: Any, size: int) -> None:
    before, after = ([line(f"s{i}", f"v{version}") for i, version in side] for side in (old, new))
    found = difference(before, after, size)
    assert applied(before, found.rows) == after
    assert found.unchanged == len(after) - found.count("added") - found.count("changed") - found.count("moved")
    assert [row.place for row in found.rows] == sorted(row.place for row in found.rows)


def fields(before: Any, after: Any) -> list[tuple[str, str, str | None, str | None, str | None]]:
    texts = (f'{{"env":"e","id":"t","args":{side if isinstance(side, str) else json.dumps(side)}}}' for side in (before, after))
    return [
        (diffs.path_text(one.path), one.kind, one.before and one.before.decode(), one.after and one.after.decode(), one.note)
        for one in diffs.field_changes(*texts)
    ]


@pytest.mark.parametrize(
    ("before", "after", "path", "kind", "note"),
    [
        ({"question": "a"}, {"question": "b"}, "args.question", "changed", None), ({"n": "1"}, {"n": 1}, "args.n", "changed", "string became number"),
        ({"n": 1}, {"n": True}, "args.n", "changed", "number became boolean"), ('{"n":1.0}', '{"n":1.00}', "args.n", "changed", None),
        ('{"n":0}', '{"n":-0}', "args.n", "changed", None), ({"n": None}, {"n": []}, "args.n", "changed", "null became list"), ({}, {"x": {"y": 1}}, "args.x", "added", None),
        ({"a.b": 1}, {}, 'args["a.b"]', "removed", None), ({"items": [1, 2, 3, 4]}, {"items": [1, 2, 3, 5]}, "args.items[3]", "changed", None),
        ({"items": [{"k": 1}, 2]}, {"items": [{"k": 2}, 2]}, "args.items[0].k", "changed", None), ({"items": [1, 2, 3]}, {"items": [1, 9, 2, 3]}, "args.items[1]", "added", None),
        ({"items": [1, 2, 3]}, {"items": [1, 3]}, "args.items[1]", "removed", None), (None, {}, "args", "changed", "null became object"),
    ],
)  # fmt: skip
def test_a_field_change_names_its_place(before: Any, after: Any, path: str, kind: str, note: str | None) -> None:
    found = fields(before, after)
    assert [(one[0], one[1], one[4]) for one in found] == [(path, kind, note)]


def test_the_order_of_keys_is_no_change_and_numbers_keep_their_text() -> None:
    assert fields('{"a":1,"b":{"x":1,"y":2}}', '{"b":{"y":2,"x":1},"a":1}') == []
    assert fields('{"n":1.10}', '{"n":123456789012345678901234567890}')[0][2:4] == ("1.10", "123456789012345678901234567890")


def test_long_values_are_cut_with_their_size() -> None:
    assert diffs.shown(b'"' + b"x" * 3_000 + b'"') == ('"' + "x" * 1_999, "3,002 bytes, cut") and diffs.shown(None) == (None, None)
    assert diffs.shown("é".encode() * 1_500)[0] == "é" * 1_000


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=15,
)


def applied_fields(value: Any, changes: list[FieldChange]) -> Any:
    for change in sorted((c for c in changes if c.kind == "removed"), key=lambda c: str(c.path[-1:]), reverse=True):
        holder = _holder(value, change)
        del holder[change.path[-1]]
    for change in (c for c in changes if c.kind != "removed"):
        holder, last, new = _holder(value, change), change.path[-1], content.read_exact(change.after or b"")
        if isinstance(holder, list) and change.kind == "added":
            holder.insert(last, new)  # type: ignore[arg-type]
        else:
            holder[last] = new
    return value


def _holder(value: Any, change: FieldChange) -> Any:
    for part in change.path[:-1]:
        value = value[part]
    return value


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.text(max_size=3), trees, max_size=4), st.dictionaries(st.text(max_size=3), trees, max_size=4))
def test_field_changes_applied_to_the_old_task_give_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    before, after = (msgspec.json.encode({"env": "e", "id": "t", "args": side}).decode() for side in (old, new))
    made = applied_fields(content.read_exact(before.encode()), diffs.field_changes(before, after))
    assert msgspec.json.encode(made, order="deterministic") == msgspec.json.encode(
        content.read_exact(after.encode()), order="deterministic"
    )
