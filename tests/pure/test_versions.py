"""Versions: entries, chunks and digests by the documented formula, and what an upload makes of a head."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksets import versions

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "versions.md"


def line(slug: str, content: str = "x") -> bytes:
    return versions.entry(hashlib.sha256(content.encode()).hexdigest(), slug)


def slugs(entries: list[bytes]) -> list[str]:
    return [versions.slug_of(entry) for entry in entries]


def test_the_worked_example_of_the_page_is_right() -> None:
    text = PAGE.read_text()
    contents = re.findall(r"```json\n(.*?)\n```", text, re.S)[0].splitlines()
    entries = re.findall(r"```entries\n(.*?)\n```", text, re.S)[0].splitlines()
    names = [entry.split(" ", 1)[1] for entry in entries]
    assert [hashlib.sha256(content.encode()).hexdigest() for content in contents] == [entry[:64] for entry in entries]
    made = [versions.entry(entry[:64], json.loads(name)) for entry, name in zip(entries, names, strict=True)]
    assert made == [f"{entry}\n".encode() for entry in entries]
    chunks = versions.cut(made)
    assert [chunk.id for chunk in chunks] == re.findall(r"chunk `([0-9a-f]{64})`", text)
    assert versions.digest([chunk.id for chunk in chunks]) == re.findall(r"digest `(sha256:[0-9a-f]{64})`", text)[0]


def test_an_entry_is_the_content_id_a_space_the_slug_as_json_and_a_line_feed() -> None:
    assert line('a"é😀').endswith(' "a\\"é😀"\n'.encode()) and line("a")[64:] == b' "a"\n'
    assert versions.slug_of(line('a"é😀')) == 'a"é😀' and versions.content_id_of(line("a", "y")) == hashlib.sha256(b"y").hexdigest()


def test_an_empty_set_has_a_digest_too() -> None:
    assert versions.digest([]) == "sha256:" + hashlib.sha256(b"proctor-taskset-1").hexdigest()


def test_chunks_join_to_the_entries_and_are_cut_where_the_hash_says() -> None:
    entries = [line(f"task-{i}") for i in range(20_000)]
    chunks = versions.cut(entries)
    assert versions.lines_of(chunk.text for chunk in chunks) == entries
    for chunk in chunks[:-1]:
        last = versions.lines_of([chunk.text])[-1]
        assert int(hashlib.sha256(last).hexdigest(), 16) % 1024 == 0 or chunk.text.count(b"\n") == 4096
    assert all(chunk.text.count(b"\n") <= 4096 and chunk.id == hashlib.sha256(chunk.text).hexdigest() for chunk in chunks)
    assert 8 < len(chunks) < 40


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_known_chunks_change_nothing_about_the_cut(data: st.DataObject) -> None:
    before = [line(f"task-{i}") for i in range(data.draw(st.integers(0, 6_000)))]
    after = list(before)
    for _ in range(data.draw(st.integers(0, 4))):
        at, size = data.draw(st.integers(0, len(after))), data.draw(st.sampled_from([0, 1, 1_000]))
        after[at : at + size] = [line(f"new-{at}-{i}") for i in range(data.draw(st.sampled_from([0, 1, 5])))]
    assert versions.cut(after, versions.cut(before)) == versions.cut(after)


def test_the_last_chunk_of_a_version_goes_on_when_more_follows() -> None:
    entries = [line(f"task-{i}") for i in range(50)]
    assert len(versions.cut(entries[:20])) == 1 and versions.cut(entries, versions.cut(entries[:20])) == versions.cut(entries)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 12), unique=True), st.lists(st.integers(0, 12), unique=True), st.sets(st.integers(0, 12)))
def test_replacing_tells_new_changed_removed_and_moved_apart(old: list[int], new: list[int], changed: set[int]) -> None:
    head, sent = [line(f"t{i}") for i in old], [line(f"t{i}", "y" if i in changed else "x") for i in new]
    plan = versions.plan(head, sent, "replace")
    assert plan.entries == sent and plan.is_change == (head != sent)
    assert sorted(slugs(plan.created)) == sorted(f"t{i}" for i in {*new} - {*old}) and sorted(slugs(plan.removed)) == sorted(f"t{i}" for i in {*old} - {*new})
    assert sorted(slugs(plan.updated)) == sorted(f"t{i}" for i in {*new} & {*old} & changed)
    assert plan.unchanged == len({*new} & {*old} - changed)
    places = {old.index(i): new.index(i) for i in {*new} & {*old} if old.index(i) != new.index(i)}
    assert {at: at + move.by for move in versions.moves(head, sent) for at in range(move.first, move.last + 1)} == places


def test_a_chunk_ends_at_4096_entries_even_without_a_cut() -> None:
    never = [entry for entry in (line(f"t{i}") for i in range(5_100)) if not versions.is_cut(entry)][:5_000]
    assert [chunk.text.count(b"\n") for chunk in versions.cut(never)] == [4096, 904]


def test_editing_three_of_many_rows_makes_few_new_chunks() -> None:
    head = [line(f"task-{i}") for i in range(30_000)]
    edited = versions.plan(head, [line(f"task-{i}", "new") for i in (5, 15_000, 29_999)])
    before, after = ({chunk.id for chunk in versions.cut(entries)} for entries in (head, edited.entries))
    assert 1 <= len(after - before) <= 3 and len(after & before) > 10


def test_a_merge_keeps_places_and_appends_in_the_order_sent() -> None:
    plan = versions.plan([line("a"), line("b"), line("c")], [line("z"), line("b", "new"), line("a"), line("d")])
    assert slugs(plan.entries) == ["a", "b", "c", "z", "d"]
    assert (slugs(plan.created), slugs(plan.updated), plan.removed, plan.unchanged, plan.is_change) == (["z", "d"], ["b"], [], 1, True)


def test_merging_what_is_there_changes_nothing() -> None:
    head = [line("a"), line("b")]
    plan = versions.plan(head, [line("b"), line("a")])
    assert (plan.entries, plan.unchanged, plan.is_change) == (head, 2, False)
    assert not versions.plan(head, []).is_change


def test_a_replacement_is_exactly_what_was_sent() -> None:
    plan = versions.plan([line("a"), line("b"), line("c")], [line("c"), line("a", "new"), line("d")], "replace")
    assert slugs(plan.entries) == ["c", "a", "d"]
    assert (slugs(plan.created), slugs(plan.updated), slugs(plan.removed), plan.unchanged) == (["d"], ["a"], ["b"], 1)
    assert versions.plan([line("a"), line("b")], [line("b"), line("a")], "replace").is_change, "another order is a change"


def test_a_removal_takes_what_is_there_and_passes_over_the_rest() -> None:
    plan = versions.plan([line("a"), line("b"), line("c")], [line("b", "whatever"), line("gone")], "remove")
    assert (slugs(plan.entries), slugs(plan.removed), plan.unchanged, plan.is_change) == (["a", "c"], ["b"], 1, True)
    assert not versions.plan([line("a")], [line("gone")], "remove").is_change


def test_neighbours_move_together() -> None:
    head = [line(name) for name in "abcdefg"]
    kept = [entry for entry in head if versions.slug_of(entry) not in "ad"]
    assert versions.moves(head, kept) == [versions.Move(1, 2, -1), versions.Move(4, 6, -2)]
    assert versions.moves(head, [*head, line("h")]) == []


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.sampled_from(["merge", "replace", "remove"])
)
def test_moves_and_changes_lead_from_the_head_to_the_plan(old: list[int], sent: list[int], mode: versions.Mode) -> None:
    head, incoming = [line(f"s{i}") for i in old], [line(f"s{i}", f"v{i % 2}") for i in sent]
    plan = versions.plan(head, incoming, mode)
    gone = {versions.slug_key(entry) for entry in plan.removed}
    places = {index: entry for index, entry in enumerate(head) if versions.slug_key(entry) not in gone}
    moved = dict(places)
    for move in versions.moves(head, plan.entries):
        for index in range(move.first, move.last + 1):
            del moved[index]
    for move in versions.moves(head, plan.entries):
        moved.update({index + move.by: places[index] for index in range(move.first, move.last + 1)})
    changed = {versions.slug_key(entry): entry for entry in [*plan.created, *plan.updated]}
    result = {index: changed.get(versions.slug_key(entry), entry) for index, entry in enumerate(plan.entries)}
    assert [result[index] for index in sorted(result)] == plan.entries
    kept = {index: versions.slug_key(entry) for index, entry in enumerate(plan.entries) if entry not in plan.created}
    assert {index: versions.slug_key(entry) for index, entry in moved.items()} == kept


@pytest.mark.parametrize("slug", ["\u2028", "\x85", "a\u2029b", "\U0010ffff"])
def test_only_a_line_feed_ends_an_entry(slug: str) -> None:
    assert slugs(versions.lines_of([line(slug) + line("b")])) == [slug, "b"]
