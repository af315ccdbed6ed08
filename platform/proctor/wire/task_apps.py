"""Task Apps: others' as environments of ours, and tasksets of ours served as Task Apps."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from .base import WireIn, WireOut
from .environments import EnvironmentOut


class TaskAppIn(WireIn):
    """`POST /api/task-apps`: the next version of an environment of the kind `task_app`."""

    name: str = Field(min_length=1, max_length=255)
    url: str = Field(min_length=1, max_length=1000, description="Where it serves, up to, not including, `/rollout`.")
    api_key: str = Field(default="", max_length=1000, description="The key it wants; kept encrypted, never given back.")


class TaskAppCheck(WireOut):
    """One endpoint as it answered last."""

    endpoint: str
    ok: bool
    status: int | None
    cause: str | None = Field(description="dns, refused, tls, timeout, auth, server_error, refused_request, redirect, bad_reply, too_large, private, lost.")
    message: str
    latency_ms: float | None


class TaskAppOut(WireOut):
    environment: EnvironmentOut
    url: str
    has_key: bool
    healthy: bool = Field(description="All endpoints answered well when they were asked last.")
    checks: list[TaskAppCheck]
    checked_at: datetime | None
    size: int | None = Field(description="How many tasks it says it has.")
    splits: list[str]
    default_split: str | None
    lost: list[str] = Field(description="Parts of its own description that it lost in writing.")


class TaskAppFinding(WireOut):
    level: Literal["ok", "warning", "error"]
    subject: str
    message: str


class TaskAppReport(WireOut):
    """`POST /api/task-apps/{ref}/validate`."""

    findings: list[TaskAppFinding]
    errors: int
    warnings: int


class PullIn(WireIn):
    """`POST /api/task-apps/{ref}/pull`: its tasks as a version of a taskset. Without `seeds`, so many from `first` on; without `count`, all that
    it says it has. Each split gives a task for each seed."""

    taskset: str = Field(min_length=1, max_length=255, description="Name of the taskset; made when there is none.")
    seeds: list[int] | None = Field(default=None, max_length=10_000)
    first: int = Field(default=0, ge=0)
    count: int | None = Field(default=None, ge=1, le=10_000)
    splits: list[str] | None = Field(default=None, max_length=50)
    mode: Literal["merge", "replace"] = Field(default="replace", description="What becomes of tasks that are not pulled again.")


class PullOut(WireOut):
    taskset: str
    version: int | None
    tasks: int
    created: int
    updated: int
    removed: int
    damaged: list[str] = Field(description="Slugs of tasks of which the app lost something in writing.")


class TaskAppKeyIn(WireIn):
    name: str = Field(min_length=1, max_length=100)


class TaskAppKeyOut(WireOut):
    """A key of one taskset as a Task App."""

    id: str
    name: str
    prefix: str
    created_by: str | None
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class TaskAppKeyMade(WireOut):
    key: TaskAppKeyOut
    secret: str = Field(description="Shown once.")
    url: str = Field(description="The taskset as a Task App.")
