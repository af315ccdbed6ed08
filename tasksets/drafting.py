"""What a draft makes of a version, and where it clashes with another one. Pure. May not import Django."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tasksets.versions import slug_json, slug_key

Op = Literal["set", "add", "remove"]


@dataclass(frozen=True)
class Edit:
    """`line` is the entry to be; None for a removal, and for a `set` that only moves. `position` is the place in the result."""

    slug: str
    op: Op
    line: bytes | None
    position: int | None = None

    @property
    def key(self) -> bytes:
        return slug_json(self.slug)

    @property
    def only_moves(self) -> bool:
        return self.op == "set" and self.line is None


@dataclass(frozen=True)
class Conflict:
    """The entry lines of a slug on the three sides; None where it is not there."""

    slug: str
    base: bytes | None
    mine: bytes | None
    theirs: bytes | None


def conflicts(base: Sequence[bytes], head: Sequence[bytes], edits: Iterable[Edit]) -> list[Conflict]:
    """Edits of tasks that the head has otherwise than the base, and not as the edit has them. A move alone clashes with nothing."""
    if base == head:
        return []
    old, now = _by_slug(base), _by_slug(head)
    found = (Conflict(edit.slug, old.get(edit.key), edit.line, now.get(edit.key)) for edit in edits if not edit.only_moves)
    return [one for one in found if one.theirs not in (one.base, one.mine)]


def apply(head: Sequence[bytes], edits: Iterable[Edit]) -> list[bytes]:
    """The head with the edits: in place, at their positions (the later edit first where two want one), else behind."""
    by_key = {edit.key: edit for edit in edits}
    now = _by_slug(head)
    kept = [edit.line or line if (edit := by_key.get(key)) else line for key, line in now.items() if not _leaves(by_key.get(key))]
    new = [edit.line for key, edit in by_key.items() if key not in now and edit.position is None and edit.line]
    placed = [
        (edit.position, -at, line) for at, edit in enumerate(by_key.values()) if edit.position is not None and (line := _moving(edit, now))
    ]
    return _merged([*kept, *new], [(place, line) for place, _at, line in sorted(placed)])


def _by_slug(lines: Sequence[bytes]) -> Mapping[bytes, bytes]:
    return {slug_key(line): line for line in lines}


def _leaves(edit: Edit | None) -> bool:
    """True for a task that does not stay where it is."""
    return edit is not None and (edit.op == "remove" or edit.position is not None)


def _moving(edit: Edit, now: Mapping[bytes, bytes]) -> bytes | None:
    return None if edit.op == "remove" else edit.line or now.get(edit.key)


def _merged(lines: Sequence[bytes], placed: Sequence[tuple[int, bytes]]) -> list[bytes]:
    result: list[bytes] = []
    waiting = iter([*placed, (len(lines) + len(placed), b"")])
    place, new = next(waiting)
    for line in lines:
        while place <= len(result) and new:
            result.append(new)
            place, new = next(waiting)
        result.append(line)
    while new:
        result.append(new)
        place, new = next(waiting)
    return result
