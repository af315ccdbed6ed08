"""Tasksets, versions and tasks as wire objects."""

from __future__ import annotations

from msgspec import Raw

from proctor.content import read_stored
from proctor.wire.tasksets import TaskOut, TaskRow, TasksetOut, UploadOut, VersionOut
from tasksets.commits import Uploaded
from tasksets.models import Taskset, Version
from tasksets.queries import VersionTask

PREVIEW = 300


def render_version(version: Version) -> VersionOut:
    return VersionOut(
        id=str(version.id), number=version.number, digest=version.digest, parent_number=version.parent.number if version.parent else None,
        task_count=version.task_count, created=version.created, updated=version.updated, removed=version.removed,
        message=version.message, author=version.author, created_at=version.created_at,
    )  # fmt: skip


def render_taskset(taskset: Taskset, pinned: Version | None = None) -> TasksetOut:
    head = taskset.head
    return TasksetOut(
        id=str(taskset.id), name=taskset.name, title=taskset.title, project_id=str(taskset.project_id),
        head=render_version(head) if head else None, pinned=render_version(pinned) if pinned else None,
        environments=sorted(head.environments) if head else [],
        created_at=taskset.created_at, changed_at=taskset.changed_at, archived_at=taskset.archived_at,
        purged_at=taskset.purged_at, schema_policy=taskset.schema_policy, answer_fields=taskset.answer_fields,
    )  # fmt: skip


def render_upload(done: Uploaded) -> UploadOut:
    return UploadOut(
        taskset=render_taskset(done.taskset), version=render_version(done.version) if done.version else None, tasks_created=done.created,
        tasks_updated=done.updated, tasks_removed=done.removed, tasks_unchanged=done.unchanged,
    )  # fmt: skip


def render_row(task: VersionTask) -> TaskRow:
    stored = read_stored(task.text)
    return TaskRow(
        position=task.position, slug=task.slug, env=task.env, task_id=task.task_id, args_preview=(_text(stored.args) or "")[:PREVIEW],
        columns=_text(stored.columns), content_id=task.content_id,
    )  # fmt: skip


def render_task(task: VersionTask, version: Version) -> TaskOut:
    stored = read_stored(task.text)
    return TaskOut(
        position=task.position, slug=task.slug, env=task.env, task_id=task.task_id, args=_text(stored.args),
        validation=_text(stored.validation), agent_config=_text(stored.agent_config), columns=_text(stored.columns),
        runtime_config=_text(stored.runtime_config), verifier=_text(stored.verifier), content_id=task.content_id,
        version_number=version.number,
    )  # fmt: skip


def _text(value: Raw) -> str | None:
    text = bytes(value).decode()
    return None if text == "null" else text
