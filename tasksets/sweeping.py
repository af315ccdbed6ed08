"""What nothing holds any more goes: contents and chunks of no version, files of no row. For a quiet process, once a day.

By marking, never by counters: each sweep works out anew what versions hold, and what two sweeps a day apart (`GRACE`) found held by nothing goes.
So what an import has stored and not yet committed is left alone. Contents and chunks go under the team's lock, only while there is no version
that the marks do not know. A commit that needs a content in that very moment fails on its foreign key and is planned again, contents included.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.models import Team
from environments.models import ContextUpload, EnvironmentVersion
from tasksets import bulk, versions
from tasksets.commits import hold_contents
from tasksets.imports.models import Import
from tasksets.models import Chunk, Export, Mark, TaskContent, Version

logger = logging.getLogger(__name__)
GRACE = timedelta(days=1)
BATCH, CHUNKS_AT_ONCE = 500, 50
MOST_AT_ONCE = 100_000


class Moved(Exception):
    """The team made a version since the marks were set."""


@dataclass
class Swept:
    contents: int = 0
    chunks: int = 0
    files: int = 0


def sweep() -> Swept:
    """All teams, and the files of exports and build contexts."""
    done = Swept()
    for team_id in Team.objects.values_list("id", flat=True):
        try:
            _sweep_team(team_id, done)
        except Moved:
            logger.info("sweep left to the next time team=%s", team_id)
    done.files += sweep_files("exports", lambda paths: Export.objects.filter(path__in=paths).values_list("path", flat=True))
    done.files += sweep_files("contexts", _held_contexts)
    logger.info("storage swept contents=%d chunks=%d files=%d", done.contents, done.chunks, done.files)
    return done


def _sweep_team(team_id: uuid.UUID, done: Swept) -> None:
    count = version_count(team_id)
    held = chunk_ids(Version.objects.filter(taskset__team_id=team_id))
    loose_chunks = [
        chunk_id for chunk_id in Chunk.objects.filter(team_id=team_id).values_list("chunk_id", flat=True).iterator() if chunk_id not in held
    ]
    contents = _due(team_id, "content", _loose_contents(team_id, held))
    chunks = _due(team_id, "chunk", loose_chunks)
    busy = Import.objects.filter(team_id=team_id, status__in=("pulling", "committing"), claimed_until__gt=timezone.now())
    if not busy.exists():
        done.contents += delete_checked(team_id, count, TaskContent, "content_id", contents)
        done.chunks += delete_checked(team_id, count, Chunk, "chunk_id", chunks)


def _loose_contents(team_id: uuid.UUID, held: set[str]) -> list[str]:
    """Content ids that no chunk names, at most 100,000; redacted ones stay for good. 8 bytes of memory for each that is held: the first 64
    bits of ids are compared, and one that shares them with another stays."""
    import numpy as np

    known = np.fromiter((int(found[:16], 16) for text in chunk_texts(team_id, held) for found in content_ids(text)), np.uint64)
    known = np.unique(known)
    loose: list[str] = []
    stored = TaskContent.objects.filter(team_id=team_id, redacted_at=None).values_list("content_id", flat=True).iterator()
    for part in bulk.batches(stored):
        is_held = np.isin(np.array([int(found[:16], 16) for found in part], np.uint64), known)
        loose += [found for found, kept in zip(part, is_held, strict=True) if not kept]
        if len(loose) >= MOST_AT_ONCE:
            break
    return loose


def _due(team_id: uuid.UUID, kind: str, loose: Iterable[str]) -> list[str]:
    """Marks what is loose, forgets the marks of what is held again, and gives what has been marked for long enough."""
    marks = Mark.objects.filter(team_id=team_id, kind=kind)
    since, now, there = dict(marks.values_list("key", "since")), timezone.now(), set(loose)
    for gone in bulk.batches(since.keys() - there, BATCH):
        marks.filter(key__in=gone).delete()
    Mark.objects.bulk_create(
        [Mark(team_id=team_id, kind=kind, key=key, since=now) for key in sorted(there - since.keys())], BATCH, ignore_conflicts=True
    )
    return sorted(key for key in there if key in since and since[key] <= now - GRACE)


def delete_checked(team_id: uuid.UUID, count: int, model: type[Model], field: str, values: Iterable[object]) -> int:
    """Rows of the team, in short transactions, as long as it has `count` versions. Raises Moved."""
    deleted = 0
    for part in bulk.batches(values, BATCH):
        with transaction.atomic():
            hold_contents(team_id)
            if version_count(team_id) != count:
                raise Moved
            model._default_manager.filter(**{"team_id": team_id, f"{field}__in": part}).delete()
            Mark.objects.filter(team_id=team_id, key__in=[str(value) for value in part]).delete()
        deleted += len(part)
    return deleted


def version_count(team_id: uuid.UUID) -> int:
    return Version.objects.filter(taskset__team_id=team_id).count()


def chunk_ids(found: QuerySet[Any]) -> set[str]:
    return {chunk_id for ids in found.values_list("chunk_ids", flat=True).iterator() for chunk_id in ids}


def chunk_texts(team_id: uuid.UUID, ids: Iterable[str]) -> Iterator[str]:
    for part in bulk.batches(ids, CHUNKS_AT_ONCE):
        yield from Chunk.objects.filter(team_id=team_id, chunk_id__in=part).values_list("text", flat=True)


def content_ids(text: str) -> Iterator[str]:
    return (versions.content_id_of(line) for line in versions.lines_of([text.encode()]))


def sweep_files(folder: str, held: Callable[[list[str]], Iterable[str | None]]) -> int:
    """Files under the folder that are a day old and that `held` does not name among those asked for."""
    deleted = 0
    for part in bulk.batches(files_under(folder), BATCH):
        old = [path for path in part if default_storage.get_modified_time(path) <= timezone.now() - GRACE]
        for path in set(old).difference(held(old)):
            default_storage.delete(path)
            deleted += 1
    return deleted


def files_under(folder: str) -> Iterator[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in files)
    for name in folders:
        yield from files_under(f"{folder}/{name}")


def _held_contexts(paths: list[str]) -> set[str | None]:
    """Of built versions, and of uploads that are to become some."""
    built = EnvironmentVersion.objects.filter(context_path__in=paths).values_list("context_path", flat=True)
    return {*built, *ContextUpload.objects.filter(path__in=paths).values_list("path", flat=True)}
