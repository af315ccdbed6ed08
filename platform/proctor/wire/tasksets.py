"""Tasksets, their versions and tasks, as the native API gives them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from .analysis import SchemaPolicy
from .base import RawJson, WireIn, WireOut

AnswerField = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^.]+(\.[^.]+)*$", max_length=100)]


class TasksetIn(WireIn):
    name: str = Field(min_length=1, max_length=255, description="Free text; the handle is made from it.")
    project_id: str | None = None


class TasksetChange(WireIn):
    """Rename (`name` is the new title; the handle follows and the old one stays an alias), archive, or choose what analyses look at."""

    name: str | None = Field(default=None, min_length=1, max_length=255)
    archived: bool | None = None
    schema_policy: SchemaPolicy | None = None
    answer_fields: list[AnswerField] | None = Field(default=None, max_length=20, description="Keys that hold answers; none: the usual ones.")


class TasksetPullIn(WireIn):
    """A taskset of another Proctor. `key` is used once and kept nowhere."""

    url: str = Field(min_length=1, max_length=1000, description="The other Proctor's address, as `https://host`.")
    reference: str = Field(min_length=1, max_length=500, description="There: `name`, `name@3`, `name@tag`, `name@sha256:…`.")
    key: str = Field(default="", max_length=500, description="An API key of the other Proctor, with the scope read.")
    name: str | None = Field(default=None, min_length=1, max_length=255, description="Of the set here, whose tasks become those; null: as there.")
    id: UUID | None = Field(default=None, description="Made by the client: the import that shows the progress; sent again it answers the same.")


class VersionOut(WireOut):
    id: str
    number: int
    digest: str = Field(description="`sha256:` and 64 hex digits.")
    parent_number: int | None
    task_count: int
    created: int = Field(description="Tasks new in this version.")
    updated: int
    removed: int
    message: str
    author: str | None
    created_at: datetime


class TasksetOut(WireOut):
    id: str
    name: str = Field(description="The handle.")
    title: str
    project_id: str
    head: VersionOut | None
    pinned: VersionOut | None = Field(default=None, description="The version that the reference names, when it names one.")
    environments: list[str] = Field(default=[], description="Environment names that the head's tasks use.")
    created_at: datetime
    changed_at: datetime
    archived_at: datetime | None
    schema_policy: SchemaPolicy = Field(default="warn", description="What is done with tasks that do not fit their environment's manifest.")
    answer_fields: list[str] = Field(default=[], description="Keys that hold answers; none: the usual ones.")
    purged_at: datetime | None = Field(default=None, description="Since then only its versions' numbers, digests and counts are left.")


class TaskRow(WireOut):
    """One task in a list; `args` cut when long, whole at `/api/tasksets/{id}/tasks/{slug}`."""

    position: int
    slug: str
    env: str
    task_id: str = Field(description="The template id.")
    args_preview: str = Field(description="The first 300 characters of the args' text.")
    columns: RawJson | None
    content_id: str


class TaskOut(WireOut):
    position: int
    slug: str
    env: str
    task_id: str
    args: RawJson | None
    validation: RawJson | None
    agent_config: RawJson | None
    columns: RawJson | None
    runtime_config: RawJson | None
    verifier: RawJson | None
    content_id: str
    version_number: int


class UploadOut(WireOut):
    """What an upload did. `version` is the head afterwards; nothing changed → no new one."""

    taskset: TasksetOut
    version: VersionOut | None = Field(description="Null while the set never held a task.")
    tasks_created: int
    tasks_updated: int
    tasks_removed: int
    tasks_unchanged: int


UploadMode = Literal["merge", "replace", "remove"]
