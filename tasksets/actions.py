"""Every write of tasksets: create, upload, rename, archive. Caller first, one short transaction, audited.

An upload is parsed, planned and its contents written before the transaction; inside, it is checked that the head is still the one
planned from (compare-and-set), else all is planned again. So two uploads at once are serial, and nothing half-done is ever seen.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.names import handle_for, taken
from accounts.queries import default_project, get_project
from proctor import content
from tasksets import bulk, exports, queries, versions
from tasksets.models import Chunk, HeadTask, TaskContent, Taskset, TasksetAlias, Version
from tasksets.uploads import Upload, read_upload, too_many
from tasksets.versions import Mode, Plan
from web.errors import AppError, conflict, invalid, not_found, problem
from web.ids import parse_uuid

logger = logging.getLogger(__name__)
TRIES = 20
HEAD_COLUMNS = ("taskset_id", "position", "slug", "content_id", "env", "task_id", "columns")


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
class Target:
    """Where an upload goes: a set that is there, or the name of one to be made."""

    taskset: Taskset | None
    name: str
    handle: str
    project_id: uuid.UUID | None


@dataclass(frozen=True)
class Draft:
    """A version not yet written, the head it was planned from, and that head's entries."""

    head: Version | None
    lines: list[bytes]
    version: Version
    chunks: list[versions.Chunk]


class _Moved(Exception):
    """Another upload was first."""


def create_taskset(caller: Caller, *, name: str, project_id: uuid.UUID | None = None) -> Taskset:
    """An empty set. Raises AppError 404 (project), 409, 422."""
    caller.require("write")
    handle = handle_for(name)
    try:
        with transaction.atomic():
            return _create(caller, name, handle, project_id)
    except IntegrityError:
        raise taken("taskset", handle) from None


def _create(caller: Caller, name: str, handle: str, project_id: uuid.UUID | None) -> Taskset:
    project = get_project(caller, project_id) if project_id else default_project(caller.team_id)
    TasksetAlias.objects.filter(team_id=caller.team_id, name=handle).delete()
    taskset = Taskset.objects.create(
        team_id=caller.team_id, project=project, name=handle, title=name, created_by=caller.label, changed_at=timezone.now()
    )
    audit(caller, "taskset.create", "taskset", taskset.id, name=handle)
    return taskset


def upload(
    caller: Caller,
    *,
    name: str | None = None,
    taskset_id: uuid.UUID | None = None,
    body: bytes,
    mode: Mode = "merge",
    message: str = "",
    project_id: uuid.UUID | None = None,
) -> Uploaded:
    """Tasks into a set, made when no set has the name. `body` is `{"tasks": [row…]}`, in HUD's shape with the set's name or id in it.

    Raises AppError 400, 404, 409, 413, 422; 503 when other uploads to this set never let it through.
    """
    caller.require("write")
    given = read_upload(body, mode)
    del body  # the rows hold their own text; a large body need not wait for the database
    envelope = given.envelope
    wanted_id = taskset_id or _id_in(envelope.taskset_id, "taskset_id")
    wanted_project = project_id or _id_in(envelope.project_id, "project_id")
    for _try in range(TRIES):
        target = _target(caller, name or envelope.taskset_name, wanted_id, wanted_project)
        try:
            return _upload_to(caller, target, given, mode, message)
        except _Moved:
            logger.info("upload planned again taskset=%s", target.handle)
    raise AppError("busy", 503, "Too many uploads to this taskset at once; try again", headers={"Retry-After": "2"})


def _id_in(text: str | None, field: str) -> uuid.UUID | None:
    found = parse_uuid(text) if text else None
    if text and found is None:
        raise invalid([problem(field, "must be a UUID", text)])
    return found


def _target(caller: Caller, name: str | None, taskset_id: uuid.UUID | None, project_id: uuid.UUID | None) -> Target:
    handle = "" if taskset_id else handle_for(name or "", "taskset_name")
    taskset = _by_id(caller, taskset_id) if taskset_id else queries.find_by_handle(caller.team_id, handle)
    if taskset:
        _check_open(taskset, project_id)
    elif project_id:
        get_project(caller, project_id)
    return Target(taskset, name or "", taskset.name if taskset else handle, project_id)


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


def _upload_to(caller: Caller, target: Target, given: Upload, mode: Mode, message: str) -> Uploaded:
    head = target.taskset.head if target.taskset else None
    if head and target.taskset:
        head.taskset = target.taskset
    lines = queries.version_lines(head)
    plan = versions.plan(lines, given.lines, mode)
    if len(plan.entries) > settings.PROCTOR_LIMITS["tasks_per_set"]:
        raise too_many(len(plan.entries))
    if target.taskset and not plan.is_change:
        return Uploaded(target.taskset, head, 0, 0, 0, plan.unchanged)
    draft = _draft(caller, head, lines, plan, given, message)
    _write_contents(caller.team_id, plan, given)
    taskset = _commit(caller, target, draft, plan, given)
    if not plan.is_change:
        return Uploaded(taskset, None, 0, 0, 0, plan.unchanged)
    version = draft.version
    exports.render_exports(version, taskset.name)
    return Uploaded(taskset, version, version.created, version.updated, version.removed, plan.unchanged)


def _draft(caller: Caller, head: Version | None, lines: list[bytes], plan: Plan, given: Upload, message: str) -> Draft:
    chunks = versions.cut(plan.entries)
    chunk_ids = [chunk.id for chunk in chunks]
    version = Version(
        number=head.number + 1 if head else 1, parent=head, digest=versions.digest(chunk_ids), chunk_ids=chunk_ids,
        task_count=len(plan.entries), environments=_count_environments(head, plan, given), message=message, author=caller.label,
        created=len(plan.created), updated=len(plan.updated), removed=len(plan.removed),
    )  # fmt: skip
    return Draft(head, lines, version, chunks)


def _count_environments(head: Version | None, plan: Plan, given: Upload) -> dict[str, int]:
    """How many tasks each environment has, from the head's counts and what changes."""
    counts = Counter(head.environments if head else {})
    counts.update(given.tasks[line].env for line in [*plan.created, *plan.updated])
    if head:
        for part in bulk.batches(versions.slug_of(line) for line in [*plan.updated, *plan.removed]):
            counts.subtract(HeadTask.objects.filter(taskset_id=head.taskset_id, slug__in=part).values_list("env", flat=True))
    return {env: count for env, count in sorted(counts.items()) if count > 0}


def _write_contents(team_id: uuid.UUID, plan: Plan, given: Upload) -> None:
    """Before the transaction, in batches of their own: a content that no version uses yet harms nobody. The first text of an id stays.
    In the order of their ids, so that two uploads never wait for each other."""
    tasks: dict[str, content.TaskText] = {}
    for line in [*plan.created, *plan.updated]:
        tasks.setdefault(given.tasks[line].content_id, given.tasks[line])
    for part in bulk.batches(tasks[content_id] for content_id in sorted(tasks)):
        rows = [(queries.content_key(team_id, task.content_id), team_id, task.content_id, task.text) for task in part]
        with transaction.atomic():
            bulk.insert(TaskContent, ("id", "team_id", "content_id", "text"), rows, on=("team_id", "content_id"))


def _commit(caller: Caller, target: Target, draft: Draft, plan: Plan, given: Upload) -> Taskset:
    """Raises _Moved when the head is not the one planned from."""
    with transaction.atomic():
        taskset = _lock(caller, target, draft.head)
        if plan.is_change:
            ordered = sorted(draft.chunks, key=lambda chunk: chunk.id)
            chunks = [Chunk(team_id=caller.team_id, chunk_id=chunk.id, text=chunk.text.decode()) for chunk in ordered]
            Chunk.objects.bulk_create(chunks, ignore_conflicts=True)
            draft.version.taskset = taskset
            draft.version.save(force_insert=True)
            _write_head(taskset, draft.lines, plan, given)
            taskset.head, taskset.changed_at = draft.version, timezone.now()
            taskset.save(update_fields=["head", "changed_at"])
            audit(caller, "taskset.upload", "taskset", taskset.id, version=draft.version.number, digest=draft.version.digest)
    return taskset


def _lock(caller: Caller, target: Target, head: Version | None) -> Taskset:
    """The set, held until the transaction ends (SQLite holds the whole file since BEGIN IMMEDIATE)."""
    if target.taskset is None:
        try:
            with transaction.atomic():
                return _create(caller, target.name, target.handle, target.project_id)
        except IntegrityError:
            raise _Moved from None
    taskset = Taskset.objects.select_for_update().get(id=target.taskset.id)
    if taskset.head_id != (head.id if head else None) or taskset.archived_at:
        raise _Moved
    return taskset


def _write_head(taskset: Taskset, lines: Sequence[bytes], plan: Plan, given: Upload) -> None:
    rows = HeadTask.objects.filter(taskset=taskset)
    for slugs in bulk.batches(versions.slug_of(line) for line in plan.removed):
        rows.filter(slug__in=slugs).delete()
    for move in versions.moves(lines, plan.entries):
        rows.filter(position__range=(move.first, move.last)).update(position=-F("position") - move.by - 1)
    rows.filter(position__lt=0).update(position=-F("position") - 1)
    changed = {*plan.created, *plan.updated}
    values = (_head_row(taskset, place, given.tasks[line]) for place, line in enumerate(plan.entries) if line in changed)
    for part in bulk.batches(values):
        bulk.insert(HeadTask, HEAD_COLUMNS, part, on=("taskset_id", "slug"), update=("content_id", "env", "task_id", "columns"))


def _head_row(taskset: Taskset, place: int, task: content.TaskText) -> tuple[object, ...]:
    columns = bytes(content.read_stored(task.text).columns).decode()
    key = queries.content_key(taskset.team_id, task.content_id)
    return (taskset.id, place, task.slug, key, task.env, task.task_id, None if columns == "null" else columns)


def change_taskset(caller: Caller, taskset_id: uuid.UUID, *, name: str | None = None, archived: bool | None = None) -> Taskset:
    """Rename (the old handle stays an alias until another takes it), archive or restore. Raises AppError 404, 409, 422."""
    caller.require("write")
    try:
        with transaction.atomic():
            taskset = _change(caller, taskset_id, name, archived)
    except IntegrityError:
        raise taken("taskset", handle_for(name or "")) from None
    if taskset.head and name is not None:
        taskset.head.taskset = taskset
        exports.get_exports(taskset.head, taskset.name)
    return taskset


def _change(caller: Caller, taskset_id: uuid.UUID, name: str | None, archived: bool | None) -> Taskset:
    taskset = Taskset.objects.select_for_update().filter(team_id=caller.team_id, id=taskset_id).first()
    if taskset is None:
        raise not_found("Taskset")
    if name is not None and name != taskset.title:
        _rename(caller, taskset, name)
    if archived is not None and archived != bool(taskset.archived_at):
        taskset.archived_at = timezone.now() if archived else None
        audit(caller, "taskset.archive" if archived else "taskset.restore", "taskset", taskset.id)
    taskset.changed_at = timezone.now()
    taskset.save()
    return taskset


def _rename(caller: Caller, taskset: Taskset, name: str) -> None:
    handle, old = handle_for(name), taskset.name
    taskset.title = name
    if handle == old:
        return
    TasksetAlias.objects.filter(team_id=taskset.team_id, name=handle).delete()
    TasksetAlias.objects.create(team_id=taskset.team_id, name=old, taskset=taskset)
    taskset.name, taskset.name_revision = handle, taskset.name_revision + 1
    exports.drop_exports(taskset)
    audit(caller, "taskset.rename", "taskset", taskset.id, old=old, new=handle)
