"""Every write of tasksets but new versions (`tasksets.commits`): create, upload, rename, archive. Caller first, one short
transaction, audited.

An upload is read and checked here, then goes through `commit_entries` as every new version does.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.names import handle_for, taken
from tasksets import commits, exports, queries, versions
from tasksets.analysis.actions import drop_analyses
from tasksets.commits import Destination, Uploaded
from tasksets.models import Taskset, TasksetAlias
from tasksets.uploads import read_upload
from tasksets.versions import Mode
from web.errors import invalid, not_found, problem
from web.ids import parse_uuid


def create_taskset(caller: Caller, *, name: str, project_id: uuid.UUID | None = None) -> Taskset:
    """An empty set. Raises AppError 404 (project), 409, 422."""
    caller.require("write")
    handle = handle_for(name)
    try:
        with transaction.atomic():
            return commits.create(caller, name, handle, project_id)
    except IntegrityError:
        raise taken("taskset", handle) from None


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
    destination = Destination(
        taskset_id=taskset_id or _id_in(envelope.taskset_id, "taskset_id"),
        name=name or envelope.taskset_name,
        project_id=project_id or _id_in(envelope.project_id, "project_id"),
    )
    return commits.commit_entries(
        caller, destination, lambda head: versions.plan(head, given.lines, mode), tasks=given.tasks, message=message
    )


def _id_in(text: str | None, field: str) -> uuid.UUID | None:
    found = parse_uuid(text) if text else None
    if text and found is None:
        raise invalid([problem(field, "must be a UUID", text)])
    return found


def change_taskset(
    caller: Caller,
    taskset_id: uuid.UUID,
    *,
    name: str | None = None,
    archived: bool | None = None,
    schema_policy: str | None = None,
    answer_fields: list[str] | None = None,
) -> Taskset:
    """Rename (the old handle stays an alias until another takes it), archive or restore, choose what analyses look at; None stays as it
    is. Raises AppError 404, 409, 422."""
    caller.require("write")
    chosen = {"schema_policy": schema_policy, "answer_fields": answer_fields}
    try:
        with transaction.atomic():
            taskset = _change(caller, taskset_id, name, archived, {key: value for key, value in chosen.items() if value is not None})
    except IntegrityError:
        raise taken("taskset", handle_for(name or "")) from None
    if taskset.head and name is not None and not taskset.purged_at:
        taskset.head.taskset = taskset
        exports.make_soon(taskset.head, taskset.name)
    return taskset


def _change(caller: Caller, taskset_id: uuid.UUID, name: str | None, archived: bool | None, chosen: Mapping[str, Any]) -> Taskset:
    taskset = Taskset.objects.select_for_update().filter(team_id=caller.team_id, id=taskset_id).first()
    if taskset is None:
        raise not_found("Taskset")
    if name is not None and name != taskset.title:
        _rename(caller, taskset, name)
    if archived is False:
        queries.check_there(taskset)
    if archived is not None and archived != bool(taskset.archived_at):
        taskset.archived_at = timezone.now() if archived else None
        audit(caller, "taskset.archive" if archived else "taskset.restore", "taskset", taskset.id)
    if any(getattr(taskset, key) != value for key, value in chosen.items()):
        _choose(caller, taskset, chosen)
    taskset.changed_at = timezone.now()
    taskset.save()
    return taskset


def _choose(caller: Caller, taskset: Taskset, chosen: Mapping[str, Any]) -> None:
    """What was found out under the old choice counts for nothing."""
    for key, value in chosen.items():
        setattr(taskset, key, value)
    drop_analyses([taskset])
    audit(caller, "taskset.choose", "taskset", taskset.id, **chosen)


def _rename(caller: Caller, taskset: Taskset, name: str) -> None:
    handle, old = handle_for(name), taskset.name
    taskset.title = name
    if handle == old:
        return
    TasksetAlias.objects.filter(team_id=taskset.team_id, name=handle).delete()
    TasksetAlias.objects.create(team_id=taskset.team_id, name=old, taskset=taskset)
    taskset.name, taskset.name_revision = handle, taskset.name_revision + 1
    exports.drop_exports([taskset])
    audit(caller, "taskset.rename", "taskset", taskset.id, old=old, new=handle)
