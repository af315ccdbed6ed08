"""Environments and their versions: what tasks run in."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from .base import WireIn, WireOut

VersionStatus = Literal["pending", "building", "probing", "ready", "failed", "stored"]


class EnvironmentIn(WireIn):
    """Registers an image that is already on the engine. A tar of a folder with a Dockerfile is sent as the raw body instead
    (`Content-Type: application/x-tar` or `application/gzip`, `?name=`)."""

    name: str = Field(min_length=1, max_length=255)
    image: str = Field(min_length=1, max_length=512)


class TemplateOut(WireOut):
    id: str
    description: str = ""
    args: dict[str, Any] = Field(default={}, description="JSON Schema of the arguments.")


class EnvironmentVersionOut(WireOut):
    id: str
    number: int
    status: VersionStatus
    source: Literal["image", "build", "sample", "folder"]
    image: str
    image_id: str | None = Field(description="The engine's `sha256:…`, once known.")
    templates: list[TemplateOut] = []
    capabilities: list[str] = []
    error: str | None
    log: str | None = Field(default=None, description="Build log; only on the version's own page.")
    created_at: datetime
    ready_at: datetime | None


class EnvironmentOut(WireOut):
    id: str
    name: str
    title: str
    kind: Literal["hud", "task_app", "hud02", "folder"]
    latest: EnvironmentVersionOut | None = Field(description="Newest version, ready or not.")
    ready: EnvironmentVersionOut | None = Field(description="Newest ready version: what a new job gets.")
    created_at: datetime
    version_count: int
