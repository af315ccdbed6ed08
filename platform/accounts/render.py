"""Accounts' rows as wire objects."""

from __future__ import annotations

from accounts.models import ApiKey, Membership, Project
from proctor.wire.accounts import KeyOut, ProjectOut, TeamRef


def render_key(key: ApiKey) -> KeyOut:
    return KeyOut(
        id=str(key.id), name=key.name, prefix=key.prefix, scopes=key.scopes, created_at=key.created_at, created_by=key.user.email,
        last_used_at=key.last_used_at, expires_at=key.expires_at, revoked_at=key.revoked_at,
    )  # fmt: skip


def render_project(project: Project) -> ProjectOut:
    return ProjectOut(id=str(project.id), name=project.name, title=project.title, is_default=project.is_default)


def render_membership(membership: Membership) -> TeamRef:
    return TeamRef(id=str(membership.team_id), name=membership.team.name, title=membership.team.title, role=membership.role)
