"""Who is asking: people, teams, projects and API keys."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from .base import WireIn, WireOut

Role = Literal["owner", "admin", "member", "viewer"]
Scope = Literal["read", "write", "run", "admin"]


class SignIn(WireIn):
    email: str
    password: str


class TeamRef(WireOut):
    id: str
    name: str = Field(description="The handle.")
    title: str
    role: Role


class ProjectOut(WireOut):
    id: str
    name: str
    title: str
    is_default: bool


class Me(WireOut):
    """`GET /api/me`: the person, the team the request acts for, and what the page shell needs."""

    id: str
    email: str
    name: str
    is_instance_admin: bool
    team: TeamRef
    teams: list[TeamRef]
    projects: list[ProjectOut]
    csrf_token: str | None = Field(default=None, description="Send as `X-CSRFToken` with every write of the page.")
    server: dict[str, str | bool | None] = Field(default={}, description="version, public_url, sandbox (`docker`, `subprocess` or null while no worker is up), sandbox_note.")


class KeyIn(WireIn):
    name: str = Field(min_length=1, max_length=100)
    scopes: list[Scope] = ["read", "write", "run"]


class KeyOut(WireOut):
    id: str
    name: str
    prefix: str = Field(description="The first 12 characters, for telling keys apart.")
    scopes: list[Scope]
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class KeyMade(KeyOut):
    secret: str = Field(description="The whole key; shown this once.")
