"""Environments and their versions: what tasks run in."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from .base import WireIn, WireOut

VersionStatus = Literal["pending", "building", "probing", "ready", "failed", "cancelled", "stored"]
BuiltKind = Literal["hud", "hud02"]
SessionState = Literal["waiting", "starting", "open", "closed", "failed"]


class EnvironmentIn(WireIn):
    """Registers an image that is already on the engine. A tar of a folder with a Dockerfile is sent as the raw body instead
    (`Content-Type: application/x-tar` or `application/gzip`, `?name=`, `&kind=`)."""

    name: str = Field(min_length=1, max_length=255)
    image: str = Field(min_length=1, max_length=512)
    kind: BuiltKind = Field(default="hud", description="`hud02`: an image with a `hud_controller` package, as HUD 0.2.x has them.")


class TemplateOut(WireOut):
    id: str
    description: str = ""
    args: dict[str, Any] = Field(default={}, description="JSON Schema of the arguments.")


class EnvironmentVersionOut(WireOut):
    id: str
    number: int
    status: VersionStatus
    source: Literal["image", "build", "sample", "folder", "url"]
    image: str
    image_id: str | None = Field(description="The engine's `sha256:…`, once known.")
    templates: list[TemplateOut] = []
    capabilities: list[str] = []
    error: str | None
    log: str | None = Field(default=None, description="Build log, its last 256 Ki characters; only on the version's own page.")
    log_seq: int = Field(default=0, description="Cursor of `log`: `build:<id>` on `/ws` follows from here.")
    cancelling: bool = Field(default=False, description="Somebody cancelled it; a worker still clears up.")
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


class VariablesIn(WireIn):
    """Adds and replaces; names that are not given stay."""

    values: dict[str, str] = Field(min_length=1, max_length=200)


class VariableOut(WireOut):
    """Values are never shown."""

    name: str
    updated_by: str | None
    updated_at: datetime


class SessionOut(WireOut):
    """A sandbox that somebody drives from outside."""

    id: str
    state: SessionState
    version: int
    run_id: str | None
    created_by: str | None
    created_at: datetime
    opened_at: datetime | None
    last_used_at: datetime | None
    expires_at: datetime
    ended_at: datetime | None
    error: str | None


class UploadedContext(WireOut):
    """HUD's reservation of a place for a build context."""

    build_id: str
    upload_url: str


class DeployIn(WireOut):
    """HUD's order to build an uploaded context (contracts: 2.7). What the client sends besides is not looked at."""

    build_id: str
    name: str = Field(min_length=1, max_length=255)
    registry_id: str | None = None
    project_id: str | None = None
    no_cache: bool = False
    runtime_provider: Literal["hud"] | None = Field(default=None, description="`hud`: this instance's own workers, the one placement there is.")
    runtime_config: dict[str, Any] = {}
    environment_variables: dict[str, str] = {}
    build_args: dict[str, str] = Field(default={}, max_length=200)
    build_secrets: dict[str, str] = Field(default={}, max_length=100)
