"""Task Apps and their keys as wire objects; keys' texts and hashes stay behind."""

from __future__ import annotations

from typing import Any

from environments.models import TaskApp
from environments.queries import describe
from environments.render import render_environment
from proctor.wire.task_apps import PullOut, TaskAppKeyOut, TaskAppOut
from taskapps.models import TaskAppKey
from taskapps.pull import Pulled


def render_task_app(app: TaskApp) -> dict[str, Any]:
    about = app.version.manifest.get("task_app", {})
    return TaskAppOut(
        environment=render_environment(describe(app.version.environment)), url=app.url, has_key=bool(app.key_encrypted),
        healthy=bool(app.checks) and all(check["ok"] for check in app.checks), checks=app.checks, checked_at=app.checked_at, size=about.get("size"),
        splits=about.get("splits", []), default_split=about.get("default_split"), lost=about.get("lost", []),
    ).model_dump(mode="json")  # fmt: skip


def render_pull(pulled: Pulled) -> dict[str, Any]:
    done = pulled.uploaded
    return PullOut(
        taskset=done.taskset.name, version=done.version.number if done.version else None, tasks=pulled.tasks, created=done.created, updated=done.updated,
        removed=done.removed, damaged=pulled.damaged,
    ).model_dump(mode="json")  # fmt: skip


def render_key(key: TaskAppKey) -> dict[str, Any]:
    return TaskAppKeyOut(
        id=str(key.id), name=key.name, prefix=key.prefix, created_by=key.created_by, created_at=key.created_at, last_used_at=key.last_used_at, revoked_at=key.revoked_at
    ).model_dump(mode="json")
