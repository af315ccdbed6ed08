"""Going back: a new version equal to an old one, through the one door for versions."""

from __future__ import annotations

from accounts.callers import Caller
from tasksets import queries, versions
from tasksets.commits import Destination, Uploaded, commit_entries
from tasksets.models import Taskset, Version
from tasksets.versions import Plan
from web.errors import conflict


def restore(caller: Caller, taskset: Taskset, version: Version, *, message: str = "") -> Uploaded:
    """No new version when the head is equal already. Raises AppError 403, 404, 409; 503."""
    chunks = queries.version_chunks(version)
    lines = versions.lines_of(chunk.text for chunk in chunks)

    def plan(head: list[bytes]) -> Plan:
        return versions.plan(head, lines, "replace")

    why = message or f"Restore version {version.number}"
    return commit_entries(caller, Destination(taskset.id), plan, known=chunks, message=why, verb="taskset.restore_version")


def undo(caller: Caller, taskset: Taskset, *, number: int | None = None) -> Uploaded:
    """Back to the head's parent. Raises AppError 409 when there is none, or when another version came first (`number` is the head meant)."""
    head = taskset.head
    if head and number not in (None, head.number):
        raise conflict(f"Taskset {taskset.name} is at version {head.number} now, not at {number}; look at it first")
    if head is None or head.parent is None:
        raise conflict(f"Taskset {taskset.name} has no version before this one")
    head.taskset = head.parent.taskset = taskset
    chunks = queries.version_chunks(head.parent)
    undone, lines = queries.version_lines(head), versions.lines_of(chunk.text for chunk in chunks)

    def plan(now: list[bytes]) -> Plan:
        if now != undone:
            raise conflict(f"Taskset {taskset.name} has a newer version than the one to undo; look at it first")
        return versions.plan(now, lines, "replace")

    return commit_entries(caller, Destination(taskset.id), plan, known=chunks, message=f"Undo version {head.number}", verb="taskset.undo")
