"""What a draft makes of a version, and what it clashes with."""

from __future__ import annotations

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from tasksets import drafting, versions
from tasksets.drafting import Edit


def line(slug: str, text: str = "x") -> bytes:
    return versions.entry(hashlib.sha256(text.encode()).hexdigest(), slug)


def slugs(lines: list[bytes]) -> str:
    return "".join(versions.slug_of(one) for one in lines)


HEAD = [line(slug) for slug in "abcdef"]


def test_edits_stand_in_place_at_their_positions_or_behind() -> None:
    edits = [
        Edit("b", "remove", None),
        Edit("x", "add", line("x")),
        Edit("y", "add", line("y"), 1),
        Edit("f", "set", None, 0),
        Edit("c", "set", line("c", "new")),
    ]
    made = drafting.apply(HEAD, edits)
    assert slugs(made) == "fyacdex" and made[3] == line("c", "new")


def test_a_position_behind_the_end_is_the_end_and_the_later_of_two_comes_first() -> None:
    edits = [Edit("x", "add", line("x"), 99), Edit("y", "add", line("y"), 2), Edit("z", "add", line("z"), 2)]
    assert slugs(drafting.apply(HEAD, edits)) == "abzycdefx"


def test_moving_what_is_gone_is_nothing() -> None:
    assert slugs(drafting.apply(HEAD[1:], [Edit("a", "set", None, 3)])) == "bcdef"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefuvwxyz"), st.none() | st.integers(0, 12)), unique_by=lambda item: item[0]))
def test_every_task_is_there_once_and_where_it_was_put(wanted: list[tuple[str, int | None]]) -> None:
    edits = [Edit(slug, "set" if slug in "abcdef" else "add", line(slug, "new"), position) for slug, position in wanted]
    made = drafting.apply(HEAD, edits)
    assert sorted(made) == sorted({versions.slug_key(one): one for one in [*HEAD, *(edit.line for edit in edits if edit.line)]}.values())
    places = {versions.slug_of(one): at for at, one in enumerate(made)}
    taken = [position for _slug, position in wanted if position is not None]
    inside = [(slug, position) for slug, position in wanted if position is not None and position <= len(made) - len(taken)]
    assert len(set(taken)) < len(taken) or all(places[slug] == position for slug, position in inside)


def test_only_what_both_changed_differently_clashes() -> None:
    head = [line("a", "theirs"), line("b"), line("c", "same"), line("e"), line("f", "theirs")]
    edits = [
        Edit("a", "set", line("a", "mine")), Edit("b", "set", line("b", "mine")), Edit("c", "set", line("c", "same")),
        Edit("d", "set", line("d", "mine")), Edit("e", "remove", None), Edit("f", "set", None, 0),
    ]  # fmt: skip
    assert [(one.slug, one.mine, one.theirs) for one in drafting.conflicts(HEAD, head, edits)] == [
        ("a", line("a", "mine"), line("a", "theirs")),
        ("d", line("d", "mine"), None),
    ]
    assert drafting.conflicts(HEAD, HEAD, edits) == []
