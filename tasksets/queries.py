"""Every read of tasksets, scoped to the caller's team: references, versions and their tasks.

A reference is `name`, an id of a taskset or version, or one of these with `@number`, `@tag` or `@sha256:…`; it resolves to a `Pinned`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.callers import Caller
from accounts.names import normalise
from proctor import content
from tasksets import versions
from tasksets.bulk import batches
from tasksets.models import Chunk, HeadTask, TaskContent, Taskset, TasksetAlias, Version
from web.errors import AppError, not_found
from web.ids import parse_uuid

SHOWN_VERSIONS = 10
READ_BATCH = 1_000


@dataclass(frozen=True)
class Pinned:
    """What a reference names. `version` is the head unless `pinned`; None for a set that never held a task."""

    taskset: Taskset
    version: Version | None
    pinned: bool


@dataclass(frozen=True, slots=True)
class VersionTask:
    """One task of one version, its content as stored text."""

    position: int
    slug: str
    content_pk: uuid.UUID
    content_id: str
    env: str
    task_id: str
    text: str


def content_key(team_id: uuid.UUID, content_id: str) -> uuid.UUID:
    """The primary key of a content in a team."""
    return uuid.uuid5(team_id, content_id)


def resolve_reference(caller: Caller, ref: str) -> Pinned:
    """Raises AppError 404; for an unknown version it lists the newest ten."""
    base, at, suffix = ref.partition("@")
    found_id = parse_uuid(base.strip())
    found = find_pinned(caller, found_id) if found_id else _by_handle(caller, normalise(base))
    if found is None:
        raise not_found("Taskset")
    return _pin(found.taskset, suffix.strip()) if at else found


def find_pinned(caller: Caller, id: uuid.UUID) -> Pinned | None:
    """The taskset with this id, or the version with this id; None when the team has neither."""
    taskset = find_taskset(caller, id)
    if taskset:
        return _unpinned(taskset)
    version = Version.objects.select_related("taskset__head").filter(id=id, taskset__team_id=caller.team_id).first()
    return Pinned(version.taskset, version, True) if version else None


def find_taskset(caller: Caller, id: uuid.UUID) -> Taskset | None:
    return Taskset.objects.select_related("head").filter(team_id=caller.team_id, id=id).first()


def find_by_handle(team_id: uuid.UUID, handle: str) -> Taskset | None:
    """By its name, else by one it had before."""
    taskset = Taskset.objects.select_related("head").filter(team_id=team_id, name=handle).first()
    if taskset:
        return taskset
    alias = TasksetAlias.objects.select_related("taskset__head").filter(team_id=team_id, name=handle).first()
    return alias.taskset if alias else None


def _by_handle(caller: Caller, handle: str) -> Pinned | None:
    taskset = find_by_handle(caller.team_id, handle) if handle else None
    return _unpinned(taskset) if taskset else None


def _unpinned(taskset: Taskset) -> Pinned:
    if taskset.head:
        taskset.head.taskset = taskset
    return Pinned(taskset, taskset.head, False)


def _pin(taskset: Taskset, suffix: str) -> Pinned:
    return Pinned(taskset, find_version(taskset, suffix), True)


def find_version(taskset: Taskset, text: str | int) -> Version:
    """The version with this number, tag or digest. Raises AppError 404 with the newest ten."""
    suffix, found, version = str(text).strip(), find_versions(taskset), None
    if suffix.isascii() and suffix.isdigit():
        version = found.filter(number=int(suffix)).first() if len(suffix) < 10 else None
    elif suffix.startswith("sha256:"):
        version = found.filter(digest=suffix).first()
    elif "\0" not in suffix:
        version = found.filter(tags__taskset=taskset, tags__name=suffix).first()
    if version is None:
        raise _no_such_version(taskset, suffix)
    return version


def _no_such_version(taskset: Taskset, suffix: str) -> AppError:
    newest = list(find_versions(taskset)[:SHOWN_VERSIONS])
    listed = ", ".join(f"@{version.number} ({version.digest[:19]}…)" for version in newest) or "none"
    shown = [{"number": version.number, "digest": version.digest, "created_at": version.created_at.isoformat()} for version in newest]
    message = f"Taskset {taskset.name} has no version or tag '{content.shown(suffix)}'; the newest are {listed}"
    return AppError("not_found", 404, message, versions=shown)


def find_versions(taskset: Taskset) -> QuerySet[Version]:
    """Newest first."""
    return Version.objects.select_related("parent", "taskset").defer("parent__chunk_ids").filter(taskset=taskset).order_by("-number")


def find_tasksets(caller: Caller, *, q: str = "", archived: bool = False) -> QuerySet[Taskset]:
    """Newest change first."""
    found = Taskset.objects.select_related("head__parent").defer("head__chunk_ids", "head__parent__chunk_ids")
    found = found.filter(team_id=caller.team_id, archived_at__isnull=not archived).order_by("-changed_at", "-id")
    return found.filter(Q(name__icontains=q) | Q(title__icontains=q)) if q else found


def behind(tasksets: QuerySet[Taskset], changed_at: datetime, id: uuid.UUID) -> QuerySet[Taskset]:
    """What follows this place of the listing."""
    return tasksets.filter(Q(changed_at__lt=changed_at) | Q(changed_at=changed_at, id__lt=id))


def version_lines(version: Version | None) -> list[bytes]:
    """The entries of a version in order; none for None."""
    return versions.lines_of(chunk_texts(version)) if version else []


def version_chunks(version: Version | None) -> list[versions.Chunk]:
    """The chunks of a version in order; none for None."""
    return [versions.Chunk(*both) for both in zip(version.chunk_ids, chunk_texts(version), strict=True)] if version else []


def chunk_texts(version: Version) -> Iterator[bytes]:
    check_there(version.taskset)
    for part in batches(version.chunk_ids, 50):
        texts = dict(Chunk.objects.filter(team_id=version.taskset.team_id, chunk_id__in=part).values_list("chunk_id", "text"))
        for chunk_id in part:
            yield texts[chunk_id].encode()


def check_there(taskset: Taskset) -> None:
    """Raises AppError 410 for a purged set."""
    if taskset.purged_at:
        raise AppError("purged", 410, f"Taskset {taskset.name} was purged; only its versions' numbers, digests and counts are left")


def iter_version_tasks(version: Version, slugs: Sequence[str] | None = None, *, start: int = 0) -> Iterator[VersionTask]:
    """The tasks in the version's order, all or those of `slugs`, from position `start` on; a thousand in memory at a time."""
    wanted = None if slugs is None else {versions.slug_json(slug) for slug in slugs}
    return read_tasks(version.taskset.team_id, _numbered(version, wanted, start))


def _numbered(version: Version, wanted: set[bytes] | None, start: int) -> Iterator[tuple[int, bytes]]:
    position = 0
    for text in chunk_texts(version):
        for line in versions.lines_of([text]):
            if position >= start and (wanted is None or versions.slug_key(line) in wanted):
                yield position, line
            position += 1


def read_tasks(team_id: uuid.UUID, numbered: Iterable[tuple[int, bytes]]) -> Iterator[VersionTask]:
    """The tasks of entries with their positions, in the order given; a thousand in memory at a time."""
    for part in batches(numbered, READ_BATCH):
        yield from _read_tasks(team_id, part)


def _read_tasks(team_id: uuid.UUID, numbered: Sequence[tuple[int, bytes]]) -> Iterator[VersionTask]:
    keys = [content_key(team_id, versions.content_id_of(line)) for _position, line in numbered]
    texts = content_texts(keys)
    for (position, line), key in zip(numbered, keys, strict=True):
        task = content.read_stored(texts[key])
        yield VersionTask(position, versions.slug_of(line), key, versions.content_id_of(line), task.env, task.id, texts[key])


def content_texts(keys: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The stored texts of at most a batch of contents."""
    wanted = set(keys)
    return dict(TaskContent.objects.filter(id__in=wanted).values_list("id", "text")) if wanted else {}


def missing_slugs(version: Version, slugs: Sequence[str]) -> list[str]:
    """Those that the version does not hold, in the order given."""
    wanted = {versions.slug_json(slug) for slug in slugs}
    there = {versions.slug_of(line) for _position, line in _numbered(version, wanted, 0)}
    return [slug for slug in slugs if slug not in there]


def count_redacted(version: Version) -> int:
    """Tasks of which only a marker is left."""
    redacted = set(TaskContent.objects.filter(team_id=version.taskset.team_id, redacted_at__isnull=False).values_list("content_id", flat=True))
    return sum(versions.content_id_of(line) in redacted for line in version_lines(version)) if redacted else 0


def find_task_content(version: Version, slug: str) -> VersionTask | None:
    found = _head_tasks(_head_rows(version).filter(slug=slug)[:1])
    return found[0] if found else next(iter_version_tasks(version, [slug]), None)


def find_tasks_by_slug(version: Version | None, slugs: Iterable[str]) -> dict[str, VersionTask]:
    """Those of the slugs that the version holds."""
    wanted = list(dict.fromkeys(slugs))
    if version is None or not wanted:
        return {}
    found = {task.slug: task for part in batches(wanted) for task in _head_tasks(_head_rows(version).filter(slug__in=part))}
    if len(found) == len(wanted) or _is_head(version):
        return found
    return {task.slug: task for task in iter_version_tasks(version, wanted)}


def _is_head(version: Version) -> bool:
    return Taskset.objects.filter(id=version.taskset_id, head_id=version.id).exists()


def _head_rows(version: Version) -> QuerySet[HeadTask]:
    """The version's tasks while it is its set's head, else nothing: one statement, so it never mixes two versions."""
    check_there(version.taskset)
    return HeadTask.objects.filter(taskset_id=version.taskset_id, taskset__head_id=version.id)


def _head_tasks(rows: QuerySet[HeadTask]) -> list[VersionTask]:
    fields = rows.values_list("position", "slug", "content_id", "content__content_id", "env", "task_id", "content__text")
    return [VersionTask(*row) for row in fields]


def tasks_at(version: Version, positions: Iterable[int]) -> dict[int, VersionTask]:
    """The tasks at these places of the version's order."""
    wanted = set(positions)
    parts = batches(sorted(wanted))
    found = {task.position: task for part in parts for task in _head_tasks(_head_rows(version).filter(position__in=part))}
    if len(found) == len(wanted) or _is_head(version) or not wanted:
        return found
    lines = ((place, line) for place, line in _numbered(version, None, min(wanted)) if place in wanted)
    return {task.position: task for task in read_tasks(version.taskset.team_id, lines)}


def find_tasks(version: Version, *, start: int, limit: int) -> list[VersionTask] | None:
    """Tasks from position `start` on, from the head's own rows; None for any other version. Positions have no gaps, so both ends are asked
    for: no plan can then read more than the page, however old the database's statistics are."""
    found = _head_tasks(_head_rows(version).filter(position__range=(start, start + limit - 1)).order_by("position"))
    return found if found or _is_head(version) else None
