"""The one door through which a new version is made: `commit_entries`. Uploads, imports, restores and drafts all go through it.

Everything slow (contents, plan, cuts, head rows) is made before the transaction; inside it, the head must still be the one planned
from (compare-and-set), else all is planned again. So two writers at once are serial, and nothing half-done is ever seen.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.models import Team
from accounts.names import handle_for
from accounts.queries import default_project, get_project
from proctor import content
from proctor.content import TaskText
from tasksets import bulk, exports, queries, versions
from tasksets.analysis.checks import refuse_bad
from tasksets.models import Chunk, HeadTask, TaskContent, Taskset, TasksetAlias, Version
from tasksets.tables import blocks
from tasksets.uploads import too_many
from tasksets.versions import Move, Plan
from web.errors import AppError, conflict, not_found

logger = logging.getLogger(__name__)
TRIES = 20
MANY_MOVES = 200
HEAD_COLUMNS = ("taskset_id", "position", "slug", "content_id", "env", "task_id", "columns")

MakePlan = Callable[[list[bytes]], Plan]


@dataclass(frozen=True)
class Destination:
    """Where a version goes: a set by its id, else one by its name, made when no set has it."""

    taskset_id: uuid.UUID | None = None
    name: str | None = None
    project_id: uuid.UUID | None = None


@dataclass(frozen=True)
class Uploaded:
    """`version` is the head afterwards, None while the set never held a task. Nothing changed: no new version, all counts but `unchanged` 0."""

    taskset: Taskset
    version: Version | None
    created: int
    updated: int
    removed: int
    unchanged: int


@dataclass(frozen=True)
class _Target:
    """A destination looked up: a set that is there, or the handle of one to be made."""

    taskset: Taskset | None
    name: str
    handle: str
    project_id: uuid.UUID | None


@dataclass(frozen=True)
class _HeadRow:
    position: int
    slug: str
    content_key: uuid.UUID
    env: str
    task_id: str
    columns: str | None


@dataclass(frozen=True)
class _Prepared:
    """A version not yet written, the head it was planned from, that head's entries, and the rows that change in it."""

    head: Version | None
    lines: list[bytes]
    version: Version
    chunks: list[versions.Chunk]
    rows: list[_HeadRow]


class _Moved(Exception):
    """Another writer was first."""


def commit_entries(
    caller: Caller,
    destination: Destination,
    make_plan: MakePlan,
    *,
    tasks: Mapping[bytes, TaskText] | None = None,
    known: Sequence[versions.Chunk] = (),
    message: str = "",
    verb: str = "taskset.upload",
) -> Uploaded:
    """One new version from `make_plan(entries of the head)`, which is called again when another writer was first.

    `tasks` holds the contents to be stored, by entry line; a line that is not in it has its content stored already (restore, or
    `write_contents` called before, batch by batch, by who streams). `known` chunks, beside the head's, save hashing where the plan has
    them again. `make_plan` may raise AppError to refuse. No change: no version.
    Raises AppError 403, 404, 409, 413, 422; 503 when others never let it through.
    """
    caller.require("write")
    for _try in range(TRIES):
        target = _find(caller, destination)
        try:
            return _commit_to(caller, target, make_plan, tasks or {}, known, message, verb)
        except (_Moved, IntegrityError) as error:
            logger.info("version planned again taskset=%s because=%s", target.handle, type(error).__name__)
    raise AppError("busy", 503, "Too many writers of this taskset at once; try again", headers={"Retry-After": "2"})


def write_contents(team_id: uuid.UUID, tasks: Iterable[TaskText]) -> None:
    """In batches of their own: a content that no version uses yet harms nobody. The first text of an id stays.
    In the order of their ids, so that two writers never wait for each other."""
    unique = {task.content_id: task for task in tasks}
    for part in bulk.batches(unique[content_id] for content_id in sorted(unique)):
        rows = [(queries.content_key(team_id, task.content_id), team_id, task.content_id, task.text) for task in part]
        with transaction.atomic():
            bulk.commit_without_waiting()
            bulk.insert(TaskContent, ("id", "team_id", "content_id", "text"), rows, on=("team_id", "content_id"))


def create(caller: Caller, name: str, handle: str, project_id: uuid.UUID | None) -> Taskset:
    """An empty set, inside the caller's transaction. Raises IntegrityError when the handle is taken."""
    project = get_project(caller, project_id) if project_id else default_project(caller.team_id)
    TasksetAlias.objects.filter(team_id=caller.team_id, name=handle).delete()
    taskset = Taskset.objects.create(
        team_id=caller.team_id, project=project, name=handle, title=name, created_by=caller.label, changed_at=timezone.now()
    )
    audit(caller, "taskset.create", "taskset", taskset.id, name=handle)
    return taskset


def _find(caller: Caller, destination: Destination) -> _Target:
    handle = "" if destination.taskset_id else handle_for(destination.name or "", "taskset_name")
    taskset = _by_id(caller, destination.taskset_id) if destination.taskset_id else queries.find_by_handle(caller.team_id, handle)
    if taskset:
        _check_open(taskset, destination.project_id)
    elif destination.project_id:
        get_project(caller, destination.project_id)
    return _Target(taskset, destination.name or "", taskset.name if taskset else handle, destination.project_id)


def _by_id(caller: Caller, taskset_id: uuid.UUID) -> Taskset:
    pinned = queries.find_pinned(caller, taskset_id)
    if pinned is None:
        raise not_found("Taskset")
    if pinned.pinned:
        raise conflict(f"This is a version of taskset {pinned.taskset.name}, which never changes; upload to the taskset itself")
    return pinned.taskset


def _check_open(taskset: Taskset, project_id: uuid.UUID | None) -> None:
    if taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    if project_id and project_id != taskset.project_id:
        raise conflict(f"Taskset {taskset.name} is in another project, and an upload does not move it", project_id=str(taskset.project_id))


def _commit_to(
    caller: Caller, target: _Target, make_plan: MakePlan, tasks: Mapping[bytes, TaskText], known: Sequence[versions.Chunk], message: str, verb: str
) -> Uploaded:
    head = target.taskset.head if target.taskset else None
    if head and target.taskset:
        head.taskset = target.taskset
    chunks = queries.version_chunks(head)
    lines = versions.lines_of(chunk.text for chunk in chunks)
    plan = make_plan(lines)
    if len(plan.entries) > settings.PROCTOR_LIMITS["tasks_per_set"]:
        raise too_many(len(plan.entries))
    if target.taskset and not plan.is_change:
        return Uploaded(target.taskset, head, 0, 0, 0, plan.unchanged)
    if target.taskset:
        refuse_bad(target.taskset, [*plan.created, *plan.updated], tasks)
    tasks = _not_redacted(caller.team_id, tasks)
    _write_contents(caller.team_id, plan, tasks)
    prepared = _prepare(caller, head, lines, plan, tasks, versions.cut(plan.entries, [*chunks, *known]), message)
    taskset = _commit(caller, target, prepared, plan, verb)
    if not plan.is_change:
        return Uploaded(taskset, None, 0, 0, 0, plan.unchanged)
    version = prepared.version
    exports.make_soon(version, taskset.name)
    blocks.make_soon(version)
    return Uploaded(taskset, version, version.created, version.updated, version.removed, plan.unchanged)


def _not_redacted(team_id: uuid.UUID, tasks: Mapping[bytes, TaskText]) -> Mapping[bytes, TaskText]:
    """What was redacted counts as stored: its marker stays, whoever sends the text again."""
    redacted = {*TaskContent.objects.filter(team_id=team_id, redacted_at__isnull=False).values_list("content_id", flat=True)}
    return {line: task for line, task in tasks.items() if task.content_id not in redacted} if redacted else tasks


def _write_contents(team_id: uuid.UUID, plan: Plan, tasks: Mapping[bytes, TaskText]) -> None:
    write_contents(team_id, (tasks[line] for line in [*plan.created, *plan.updated] if line in tasks))


def _prepare(
    caller: Caller, head: Version | None, lines: list[bytes], plan: Plan, tasks: Mapping[bytes, TaskText], chunks: list[versions.Chunk], message: str
) -> _Prepared:
    chunk_ids = [chunk.id for chunk in chunks]
    rows = list(_head_rows(caller.team_id, plan, tasks))
    version = Version(
        number=head.number + 1 if head else 1, parent=head, digest=versions.digest(chunk_ids), chunk_ids=chunk_ids,
        task_count=len(plan.entries), environments=_count_environments(head, plan, rows), message=message, author=caller.label,
        created=len(plan.created), updated=len(plan.updated), removed=len(plan.removed),
    )  # fmt: skip
    return _Prepared(head, lines, version, chunks, rows)


def _head_rows(team_id: uuid.UUID, plan: Plan, tasks: Mapping[bytes, TaskText]) -> Iterator[_HeadRow]:
    """The rows of the lines that are new."""
    changed = {*plan.created, *plan.updated}
    placed = ((place, line) for place, line in enumerate(plan.entries) if line in changed)
    for part in bulk.batches(placed):
        keys = {line: queries.content_key(team_id, versions.content_id_of(line)) for _place, line in part}
        stored = queries.content_texts(key for line, key in keys.items() if line not in tasks)
        for place, line in part:
            text = tasks[line].text if line in tasks else stored.get(keys[line])
            if text is None:
                raise conflict("Contents of this version were purged while it was made; send it again")
            task = content.read_stored(text)
            columns = bytes(task.columns).decode()
            shown = None if columns == "null" else columns
            yield _HeadRow(place, versions.slug_of(line), keys[line], task.env, task.id, shown)


def _count_environments(head: Version | None, plan: Plan, rows: Iterable[_HeadRow]) -> dict[str, int]:
    """How many tasks each environment has, from the head's counts and what changes."""
    counts = Counter(head.environments if head else {})
    counts.update(row.env for row in rows)
    if head:
        for part in bulk.batches(versions.slug_of(line) for line in [*plan.updated, *plan.removed]):
            counts.subtract(HeadTask.objects.filter(taskset_id=head.taskset_id, slug__in=part).values_list("env", flat=True))
    return {env: count for env, count in sorted(counts.items()) if count > 0}


def _commit(caller: Caller, target: _Target, prepared: _Prepared, plan: Plan, verb: str) -> Taskset:
    """Raises _Moved when the head is not the one planned from."""
    with transaction.atomic():
        hold_contents(caller.team_id)
        taskset = _lock(caller, target, prepared.head)
        if plan.is_change:
            there = {*prepared.head.chunk_ids} if prepared.head else set()
            ordered = sorted((chunk for chunk in prepared.chunks if chunk.id not in there), key=lambda chunk: chunk.id)
            chunks = [Chunk(team_id=caller.team_id, chunk_id=chunk.id, text=chunk.text.decode()) for chunk in ordered]
            Chunk.objects.bulk_create(chunks, ignore_conflicts=True)
            prepared.version.taskset = taskset
            prepared.version.save(force_insert=True)
            _write_head(taskset, prepared, plan)
            taskset.head, taskset.changed_at = prepared.version, timezone.now()
            taskset.save(update_fields=["head", "changed_at"])
            audit(caller, verb, "taskset", taskset.id, version=prepared.version.number, digest=prepared.version.digest)
    return taskset


def hold_contents(team_id: uuid.UUID) -> None:
    """Until the transaction ends, no other one of this team makes a version or sweeps chunks (SQLite is serial anyway)."""
    Team.objects.select_for_update(no_key=True).only("id").get(id=team_id)


def _lock(caller: Caller, target: _Target, head: Version | None) -> Taskset:
    """The set, held until the transaction ends (SQLite holds the whole file since BEGIN IMMEDIATE)."""
    if target.taskset is None:
        try:
            with transaction.atomic():
                return create(caller, target.name, target.handle, target.project_id)
        except IntegrityError:
            raise _Moved from None
    taskset = Taskset.objects.select_for_update().get(id=target.taskset.id)
    if taskset.head_id != (head.id if head else None) or taskset.archived_at:
        raise _Moved
    return taskset


def _write_head(taskset: Taskset, prepared: _Prepared, plan: Plan) -> None:
    rows = HeadTask.objects.filter(taskset=taskset)
    for slugs in bulk.batches(versions.slug_of(line) for line in plan.removed):
        rows.filter(slug__in=slugs).delete()
    _move_rows(taskset, versions.moves(prepared.lines, plan.entries), plan)
    for part in bulk.batches(prepared.rows):
        values = [(taskset.id, row.position, row.slug, row.content_key, row.env, row.task_id, row.columns) for row in part]
        bulk.insert(HeadTask, HEAD_COLUMNS, values, on=("taskset_id", "slug"), update=("content_id", "env", "task_id", "columns"))


def _move_rows(taskset: Taskset, moves: list[Move], plan: Plan) -> None:
    """By ranges where few moved apart, as after a removal; row by row where the order is all new."""
    if len(moves) > MANY_MOVES:
        places = (old + move.by for move in moves for old in range(move.first, move.last + 1))
        bulk.set_positions(HeadTask, taskset.id, ((versions.slug_of(plan.entries[place]), place) for place in places))
        return
    rows = HeadTask.objects.filter(taskset=taskset)
    for move in moves:
        rows.filter(position__range=(move.first, move.last)).update(position=-F("position") - move.by - 1)
    rows.filter(position__lt=0).update(position=-F("position") - 1)
