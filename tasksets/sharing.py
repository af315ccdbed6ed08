"""Tasksets as something that share links show: a version for good, or whatever is the newest."""

from __future__ import annotations

from accounts.callers import Caller
from proctor.wire.shares import SharedTaskset
from shares.kinds import Kind, Shareable
from shares.models import Share
from tasksets import queries
from tasksets.models import Taskset, Version
from tasksets.queries import Pinned
from web.errors import AppError, conflict

KIND = "taskset"


def find(caller: Caller, reference: str) -> Shareable:
    """A tag is the version that it names now. Raises AppError 404, 409 for an archived set."""
    found = queries.resolve_reference(caller, reference)
    taskset = found.taskset
    if taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    if not found.pinned or found.version is None:
        return Shareable(taskset.id, "", taskset.name, taskset.title)
    return Shareable(taskset.id, str(found.version.id), f"{taskset.name}@{found.version.number}", taskset.title)


def open_shared(share: Share) -> Pinned:
    """Raises AppError 410 when the set was archived or purged since."""
    taskset = Taskset.objects.select_related("head").filter(team_id=share.team_id, id=share.object_id, archived_at=None, purged_at=None).first()
    version = Version.objects.filter(taskset=taskset, id=share.pin).first() if taskset and share.pin else taskset.head if taskset else None
    if taskset is None or (share.pin and version is None):
        raise AppError("gone", 410, "What this link showed is not there any more")
    if version is not None:
        version.taskset = taskset
    return Pinned(taskset, version, bool(share.pin))


def describe(share: Share) -> SharedTaskset:
    found = open_shared(share)
    version = found.version
    return SharedTaskset(
        name=found.taskset.name, title=found.taskset.title, version_number=version.number if version else None,
        digest=version.digest if version else None, task_count=version.task_count if version else 0,
        environments=sorted(version.environments) if version else [], made_at=version.created_at if version else None,
        pinned=found.pinned, expires_at=share.expires_at,
    )  # fmt: skip


TASKSET = Kind(KIND, find, describe)
