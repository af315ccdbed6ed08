"""What differs between two versions, and between two tasks. Pure.

Versions: a task is added, removed or changed by its slug; it *moved* when it is not in the longest run of tasks that kept their
order, so that a row put in at the top moves nothing. Tasks: one change per place, every number compared and shown as its own
text. Applying a difference to the old side gives the new one (tests/pure/test_diffs.py does). May not import Django.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import msgspec
from msgspec import Raw

from proctor import content
from tasksets.versions import lines_of, slug_key, slug_of

SHOWN_BYTES = 2_000
Kind = Literal["added", "removed", "moved", "changed"]
FieldKind = Literal["added", "removed", "changed"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """`before` and `after` are entry lines. A changed row may have moved as well."""

    kind: Kind
    before: bytes | None
    after: bytes | None
    from_position: int | None
    to_position: int | None
    moved: bool

    @property
    def slug(self) -> str:
        return slug_of(self.after or self.before or b"")

    @property
    def place(self) -> tuple[int, bool]:
        """Orders rows as one reads both versions side by side."""
        return (self.from_position or 0, False) if self.to_position is None else (self.to_position, True)


@dataclass(frozen=True)
class Difference:
    rows: list[RowChange]
    unchanged: int

    def count(self, kind: Kind) -> int:
        return sum(row.kind == kind for row in self.rows)


def diff(before: Sequence[bytes], after: Sequence[bytes]) -> Difference:
    """Between two versions, given as the texts of their chunks. Chunks and lines that both have are passed over whole."""
    simple = _edited_in_place(lines_of(before), lines_of(after))
    if simple:
        return simple
    shared = {*before} & {*after}
    old_units, new_units = _units(before, shared), _units(after, shared)
    common = {*old_units} & {*new_units}
    old, new = _rest(old_units, common), _rest(new_units, common)
    same_order = [unit for unit in old_units if unit in common] == [unit for unit in new_units if unit in common]
    moved = {} if same_order and _in_place(old, new) else _moved(lines_of(before), lines_of(after))
    rows = [RowChange("removed", one.line, None, one.at, None, False) for key, one in old.items() if key not in new]
    for key, one in new.items():
        was = old.get(key)
        if was:
            rows.append(RowChange("changed", was.line, one.line, was.at, one.at, one.at in moved))
        else:
            rows.append(RowChange("added", None, one.line, None, one.at, False))
    rows += [RowChange("moved", line, line, at, to, True) for to, (at, line) in moved.items() if slug_key(line) not in new]
    rows.sort(key=lambda row: row.place)
    total = sum(text.count(b"\n") for text in after)
    return Difference(rows, total - sum(row.kind != "removed" for row in rows))


def _edited_in_place(before: Sequence[bytes], after: Sequence[bytes]) -> Difference | None:
    """What a merge makes: tasks keep their places, new ones stand behind. None for everything else."""
    differing = [(at, old, new) for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
    if len(after) < len(before) or any(slug_key(old) != slug_key(new) for _at, old, new in differing):
        return None
    rows = [RowChange("changed", old, new, at, at, False) for at, old, new in differing]
    rows += [RowChange("added", None, line, None, at, False) for at, line in enumerate(after[len(before) :], len(before))]
    return Difference(rows, len(before) - len(differing))


@dataclass(frozen=True, slots=True)
class _Line:
    """`before` counts the common tasks that stand before it."""

    at: int
    before: int
    line: bytes


def _units(chunks: Sequence[bytes], shared: set[bytes]) -> list[bytes]:
    """The lines in order; a chunk that both sides have stays one piece."""
    units: list[bytes] = []
    for text in chunks:
        units += [text] if text in shared else lines_of([text])
    return units


def _rest(units: Sequence[bytes], common: set[bytes]) -> dict[bytes, _Line]:
    """What only this side has, by slug."""
    found: dict[bytes, _Line] = {}
    at = 0
    for unit in units:
        if unit in common:
            at += unit.count(b"\n")
        else:
            found[slug_key(unit)] = _Line(at, at - len(found), unit)
            at += 1
    return found


def _in_place(old: dict[bytes, _Line], new: dict[bytes, _Line]) -> bool:
    """True when changed tasks stand where they stood, among the others and among each other."""
    pairs = [(old[key], one) for key, one in new.items() if key in old]
    rising = all(left[0].at < right[0].at for left, right in pairwise(pairs))
    return rising and all(was.before == one.before for was, one in pairs)


def _moved(before: Sequence[bytes], after: Sequence[bytes]) -> dict[int, tuple[int, bytes]]:
    """New position → old position and line, of the tasks that changed places."""
    places = {slug_key(line): at for at, line in enumerate(before)}
    kept = [(to, places[slug_key(line)], line) for to, line in enumerate(after) if slug_key(line) in places]
    stay = {*_longest_rise([at for _to, at, _line in kept])}
    return {to: (at, line) for index, (to, at, line) in enumerate(kept) if index not in stay}


def _longest_rise(values: Sequence[int]) -> Iterator[int]:
    """The indexes of a longest increasing subsequence, last first."""
    tops: list[int] = []
    top_index: list[int] = []
    previous: list[int] = []
    for index, value in enumerate(values):
        length = bisect_left(tops, value)
        previous.append(top_index[length - 1] if length else -1)
        tops[length : length + 1], top_index[length : length + 1] = [value], [index]
    index = top_index[-1] if top_index else -1
    while index >= 0:
        yield index
        index = previous[index]


@dataclass(frozen=True)
class FieldChange:
    """One place. `before` and `after` are JSON texts; None where there is nothing."""

    path: Path
    kind: FieldKind
    before: bytes | None
    after: bytes | None
    note: str | None


_NOTHING = object()


def field_changes(before: str, after: str) -> list[FieldChange]:
    """Between two stored task texts, in the order of the old one's keys, new keys behind."""
    return list(_changes((), content.read_exact(before.encode()), content.read_exact(after.encode())))


def _changes(path: Path, before: Any, after: Any) -> Iterator[FieldChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _changes((*path, key), before.get(key, _NOTHING), after.get(key, _NOTHING))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(path, before, after)
    elif (old := _json(before)) != (new := _json(after)):
        kind: FieldKind = "added" if old is None else "removed" if new is None else "changed"
        yield FieldChange(path, kind, old, new, _type_note(before, after))


def _list_changes(path: Path, before: list[Any], after: list[Any]) -> Iterator[FieldChange]:
    """Equal ends apart, by index; what is too many on one side was added or removed there."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for index in range(max(len(old), len(new))):
        left = old[index] if index < len(old) else _NOTHING
        right = new[index] if index < len(new) else _NOTHING
        yield from _changes((*path, start + index), left, right)


def _alike(before: Iterable[Any], after: Iterable[Any]) -> int:
    count = 0
    for left, right in zip(before, after, strict=False):
        if _json(left) != _json(right):
            break
        count += 1
    return count


def _json(value: Any) -> bytes | None:
    """The value's canonical text: 1 is not true, 1.0 is not 1.00, the order of keys counts for nothing."""
    return None if value is _NOTHING else msgspec.json.encode(value, order="deterministic")


def _type_note(before: Any, after: Any) -> str | None:
    if before is _NOTHING or after is _NOTHING or _type_name(before) == _type_name(after):
        return None
    return f"{_type_name(before)} became {_type_name(after)}"


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names: list[tuple[Any, str]] = [(str, "string"), (int | Raw, "number"), (list, "list")]
    return next((name for kind, name in names if isinstance(value, kind)), "object")


_PLAIN_KEY = re.compile(r"[^\s.\[\]\"]+")


def path_text(path: Path) -> str:
    """`args.items[3]`; a key with dots, brackets, quotes or spaces in it stands as `["a.b"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{msgspec.json.encode(part).decode()}]"
    return text


def shown(text: bytes | None) -> tuple[str | None, str | None]:
    """What a page shows of a value: at most 2 kB of it, and the size when that was more."""
    if text is None or len(text) <= SHOWN_BYTES:
        return (None if text is None else text.decode()), None
    return text[:SHOWN_BYTES].decode(errors="ignore"), f"{len(text):,} bytes, cut"
