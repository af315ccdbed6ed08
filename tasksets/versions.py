"""Versions of a taskset: which entries they hold, how these are cut into chunks, and what an upload changes. Pure.

An entry is the line `content-id SP slug-as-JSON LF`, in bytes. Chunks are cut where an entry's own hash says so, so that a change
moves the cuts around itself only: editing 3 of 100,000 rows makes a few new chunks. docs/reference/versions.md has the formula
with a worked example. May not import Django.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
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
    """The entries of chunk texts in order. Nothing but LF ends a line: slugs hold no control characters, and JSON escapes what is left."""
    return [line for text in chunks for line in text.splitlines(keepends=True)]


def cut(entries: Sequence[bytes], known: Iterable[Chunk] = ()) -> list[Chunk]:
    """`known` chunks are taken over where they stand again, so that an edit hashes little more than it changes. Where two of them begin
    alike, the later is tried."""
    by_first = {chunk.text[: chunk.text.index(b"\n") + 1]: chunk for chunk in known}
    chunks: list[Chunk] = []
    start = 0
    while start < len(entries):
        chunk = _again(entries, start, by_first.get(entries[start])) or _chunk(b"".join(entries[start : _end(entries, start)]))
        chunks.append(chunk)
        start += chunk.text.count(b"\n")
    return chunks


def _again(entries: Sequence[bytes], start: int, chunk: Chunk | None) -> Chunk | None:
    """The chunk when it stands here whole: the last one of a version may end where no cut is, and goes on when more follows."""
    if chunk is None:
        return None
    end = start + chunk.text.count(b"\n")
    if b"".join(entries[start:end]) != chunk.text:
        return None
    return chunk if end == len(entries) or end - start == MAX_CHUNK or is_cut(entries[end - 1]) else None


def _end(entries: Sequence[bytes], start: int) -> int:
    last = min(start + MAX_CHUNK, len(entries))
    return next((end for end in range(start + 1, last) if is_cut(entries[end - 1])), last)


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
    if mode == "replace":
        return _replace(head, incoming)
    known = {slug_key(line): line for line in head}
    created = [line for line in incoming if slug_key(line) not in known]
    updated = [line for line in incoming if known.get(slug_key(line), line) != line]
    unchanged = len(incoming) - len(created) - len(updated)
    changed = {slug_key(line): line for line in updated}
    kept = [changed.get(slug_key(line), line) for line in head] if changed else list(head)
    return Plan(kept + created, created, updated, [], unchanged, bool(created or updated))


def _replace(head: Sequence[bytes], incoming: Sequence[bytes]) -> Plan:
    """What stands where it stood needs no look-up: only the rest is found by its slug."""
    differing = [pair for pair in zip(head, incoming, strict=False) if pair[0] != pair[1]]
    old = [line for line, _new in differing] + list(head[len(incoming) :])
    new = [line for _old, line in differing] + list(incoming[len(head) :])
    before, after = {slug_key(line): line for line in old}, {slug_key(line) for line in new}
    created = [line for line in new if slug_key(line) not in before]
    updated = [line for line in new if before.get(slug_key(line), line) != line]
    removed = [line for line in old if slug_key(line) not in after]
    unchanged = len(incoming) - len(created) - len(updated)
    return Plan(list(incoming), created, updated, removed, unchanged, bool(old or new))


def _remove(head: Sequence[bytes], slugs: set[bytes]) -> Plan:
    removed = [line for line in head if slug_key(line) in slugs]
    kept = [line for line in head if slug_key(line) not in slugs]
    return Plan(kept, [], [], removed, len(slugs) - len(removed), bool(removed))


def moves(head: Sequence[bytes], entries: Sequence[bytes]) -> list[Move]:
    """How the entries that stay change places, neighbours that move alike in one `Move`."""
    common = min(len(head), len(entries))
    apart = [at for at in range(common) if head[at] != entries[at] and slug_key(head[at]) != slug_key(entries[at])]
    old_place = {slug_key(head[at]): at for at in chain(apart, range(common, len(head)))}
    found: list[Move] = []
    for new in chain(apart, range(common, len(entries))):
        old = old_place.get(slug_key(entries[new]))
        if old is None:
            continue
        last = found[-1] if found else None
        if last and last.last == old - 1 and last.by == new - old:
            found[-1] = Move(last.first, old, last.by)
        else:
            found.append(Move(old, old, new - old))
    return found
