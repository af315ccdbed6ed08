"""Versions of a taskset: which entries they hold, how these are cut into chunks, and what an upload changes. Pure.

An entry is the line `content-id SP slug-as-JSON LF`, in bytes. Chunks are cut where an entry's own hash says so, so that a change
moves the cuts around itself only: editing 3 of 100,000 rows makes a few new chunks. docs/reference/versions.md has the formula
with a worked example. May not import Django.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

FORMAT = "proctor-taskset-1"
MAX_CHUNK = 4096
ID_LENGTH = 64

Mode = Literal["merge", "replace", "remove"]


@dataclass(frozen=True)
class Chunk:
    id: str
    text: bytes


@dataclass(frozen=True)
class Plan:
    """What an upload makes of a head. `created` and `updated` are new lines, `removed` old ones; `unchanged` counts what was sent in vain."""

    entries: list[bytes]
    created: list[bytes]
    updated: list[bytes]
    removed: list[bytes]
    unchanged: int
    is_change: bool


@dataclass(frozen=True)
class Move:
    """Entries `first` to `last` of the old order, which now stand `by` places further (back, when negative)."""

    first: int
    last: int
    by: int


def entry(content_id: str, slug: str) -> bytes:
    return b"%s %s\n" % (content_id.encode(), slug_json(slug))


def slug_json(slug: str) -> bytes:
    return msgspec.json.encode(slug)


def slug_key(line: bytes) -> bytes:
    """The slug as JSON: equal for equal slugs."""
    return line[ID_LENGTH + 1 : -1]


def slug_of(line: bytes) -> str:
    return msgspec.json.decode(line[ID_LENGTH + 1 :], type=str)


def content_id_of(line: bytes) -> str:
    return line[:ID_LENGTH].decode()


def lines_of(chunks: Iterable[bytes]) -> list[bytes]:
    """The entries of chunk texts in order. Only LF ends a line: slugs hold no control characters, and JSON escapes what is left."""
    return [line + b"\n" for text in chunks for line in text.split(b"\n")[:-1]]


def cut(entries: Sequence[bytes]) -> list[Chunk]:
    return [_chunk(b"".join(part)) for part in _parts(entries)]


def _parts(entries: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    start = 0
    for index, line in enumerate(entries, 1):
        if index - start == MAX_CHUNK or is_cut(line):
            yield entries[start:index]
            start = index
    if start < len(entries):
        yield entries[start:]


def is_cut(line: bytes) -> bool:
    """True when the line's SHA-256 ends in 10 zero bits: about one in 1,024."""
    tail = hashlib.sha256(line).digest()
    return tail[31] == 0 and not tail[30] & 3


def _chunk(text: bytes) -> Chunk:
    return Chunk(hashlib.sha256(text).hexdigest(), text)


def digest(chunk_ids: Sequence[str]) -> str:
    return "sha256:" + hashlib.sha256("\n".join([FORMAT, *chunk_ids]).encode()).hexdigest()


def plan(head: Sequence[bytes], incoming: Sequence[bytes], mode: Mode = "merge") -> Plan:
    """`merge`: rows not sent stay, known ones keep their place, new ones follow in the order sent. `replace`: exactly what was sent.
    `remove`: without the slugs sent (their content ids count for nothing). The slugs of `incoming` are unique."""
    if mode == "remove":
        return _remove(head, {slug_key(line) for line in incoming})
    known = {slug_key(line): line for line in head}
    created = [line for line in incoming if slug_key(line) not in known]
    updated = [line for line in incoming if known.get(slug_key(line), line) != line]
    unchanged = len(incoming) - len(created) - len(updated)
    if mode == "replace":
        sent = {slug_key(line) for line in incoming}
        removed = [line for line in head if slug_key(line) not in sent]
        return Plan(list(incoming), created, updated, removed, unchanged, list(incoming) != list(head))
    changed = {slug_key(line): line for line in updated}
    kept = [changed.get(slug_key(line), line) for line in head] if changed else list(head)
    return Plan(kept + created, created, updated, [], unchanged, bool(created or updated))


def _remove(head: Sequence[bytes], slugs: set[bytes]) -> Plan:
    removed = [line for line in head if slug_key(line) in slugs]
    kept = [line for line in head if slug_key(line) not in slugs]
    return Plan(kept, [], [], removed, len(slugs) - len(removed), bool(removed))


def moves(head: Sequence[bytes], entries: Sequence[bytes]) -> list[Move]:
    """How the entries that stay change places, neighbours that move alike in one `Move`."""
    old_place = {slug_key(line): index for index, line in enumerate(head)}
    found: list[Move] = []
    for new, line in enumerate(entries):
        old = old_place.get(slug_key(line))
        if old is None or old == new:
            continue
        last = found[-1] if found else None
        if last and last.last == old - 1 and last.by == new - old:
            found[-1] = Move(last.first, old, last.by)
        else:
            found.append(Move(old, old, new - old))
    return found
