"""Reads across versions: what differs between two of them, and what became of one task. Pure rules in `tasksets.diffs`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import F, Value
from django.db.models.functions import StrIndex, Substr

from tasksets import diffs, queries, versions
from tasksets.bulk import batches
from tasksets.diffs import Difference, RowChange
from tasksets.models import Chunk, Taskset, Version
from tasksets.tables.pieces import pieces

VERSIONS_AT_ONCE = 50
CHUNKS_AT_ONCE = 500
ROW_BYTES = 400


@dataclass(frozen=True)
class Texts:
    """The stored texts of both sides of a row; None on the side where it is not."""

    before: str | None
    after: str | None


@dataclass(frozen=True)
class Event:
    """A version that touched the task; `content_id` is what it had then, None when removed."""

    version: Version
    kind: Literal["added", "changed", "removed"]
    content_id: str | None


def compare(before: Version | None, after: Version | None) -> Difference:
    """None is the empty set. Kept in this process: who pages, filters or opens tasks asks again. Raises AppError 410."""
    for side in (before, after):
        if side:
            queries.check_there(side.taskset)
    key = ("difference", before and before.id, after and after.id)
    return pieces.get(key, lambda: _compare(before, after), lambda found: ROW_BYTES * (len(found.rows) + 1))


def _compare(before: Version | None, after: Version | None) -> Difference:
    same = before is not None and after is not None and before.chunk_ids == after.chunk_ids
    if same and after:
        return Difference([], after.task_count)
    return diffs.diff(*(list(queries.chunk_texts(side)) if side else [] for side in (before, after)))


def texts_of(taskset: Taskset, rows: Sequence[RowChange]) -> list[Texts]:
    """In the rows' order; at most a page of them."""
    keys = [
        [line and queries.content_key(taskset.team_id, versions.content_id_of(line)) for line in (row.before, row.after)] for row in rows
    ]
    texts = queries.content_texts(key for pair in keys for key in pair if key)
    return [Texts(*(texts[key] if key else None for key in pair)) for pair in keys]


def task_history(taskset: Taskset, slug: str, below: int | None, limit: int) -> list[Event]:
    """The versions under number `below` that added, changed or removed the task, newest first."""
    found = queries.find_versions(taskset)
    events: list[Event] = []
    for part in batches(found.filter(number__lt=below) if below else found, VERSIONS_AT_ONCE):
        parents = {parent.number: parent for parent in [*part, *found.filter(number=part[-1].number - 1)]}
        events += _events(slug, part, parents)
        if len(events) >= limit:
            break
    return events[:limit]


def _events(slug: str, newest_first: Iterable[Version], parents: dict[int, Version]) -> Iterator[Event]:
    held = content_ids(slug, parents.values())
    for version in newest_first:
        now, before = held[version.number], held.get(version.number - 1)
        if now != before:
            yield Event(version, "removed" if now is None else "added" if before is None else "changed", now)


def content_ids(slug: str, found: Iterable[Version]) -> dict[int, str | None]:
    """By version number, what content the task had. The database looks into the chunks, so that no chunk is sent."""
    found = list(found)
    by_chunk: dict[str, str] = {}
    line_end = f" {versions.slug_json(slug).decode()}\n"
    for part in batches({chunk_id: None for version in found for chunk_id in version.chunk_ids}, CHUNKS_AT_ONCE):
        chunks = Chunk.objects.filter(team_id=found[0].taskset.team_id, chunk_id__in=part).annotate(at=StrIndex("text", Value(line_end)))
        hits = chunks.filter(at__gt=0).annotate(found_id=Substr("text", F("at") - versions.ID_LENGTH, versions.ID_LENGTH))
        by_chunk.update(hits.values_list("chunk_id", "found_id"))
    return {version.number: next((by_chunk[id] for id in version.chunk_ids if id in by_chunk), None) for version in found}
