"""Every write about people, teams, projects and keys: caller first, one transaction, audited."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import ALL_SCOPES, Caller, platform_caller
from accounts.models import ApiKey, Membership, Project, Team, User
from accounts.names import handle_for, taken
from accounts.queries import hash_key
from web.crypto import sign
from web.errors import AppError, invalid, not_found, problem

MIN_GIVEN_KEY = 16


@dataclass(frozen=True)
class MadeKey:
    """A new key and its text, which is nowhere else."""

    key: ApiKey
    secret: str


def create_user(*, email: str, password: str, name: str = "", is_instance_admin: bool = False) -> User:
    """Raises AppError 422 for a short password, 409 for a taken e-mail."""
    if len(password) < 10:
        raise invalid([problem("password", "must have at least 10 characters")])
    user = User(email=email.strip().lower(), name=name, is_instance_admin=is_instance_admin)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        raise AppError("email_taken", 409, f"There is a user with the e-mail {user.email} already") from None
    return user


def create_team(*, title: str, owner: User) -> Team:
    """A team with its default project and owner. Raises AppError 422, 409."""
    handle = handle_for(title, "title")
    try:
        with transaction.atomic():
            team = Team.objects.create(name=handle, title=title)
            Membership.objects.create(team=team, user=owner, role="owner")
            Project.objects.create(team=team, name="default", title="Default", is_default=True)
            audit(platform_caller(team.id), "team.create", "team", team.id, owner=owner.email)
    except IntegrityError:
        raise taken("team", handle) from None
    return team


def add_member(caller: Caller, *, user: User, role: str) -> Membership:
    caller.require("admin")
    with transaction.atomic():
        membership, _made = Membership.objects.update_or_create(team_id=caller.team_id, user=user, defaults={"role": role})
        audit(caller, "team.member", "user", user.id, role=role)
    return membership


def create_project(caller: Caller, *, name: str) -> Project:
    """Raises AppError 409 when the handle is taken."""
    caller.require("write")
    handle = handle_for(name)
    try:
        with transaction.atomic():
            project = Project.objects.create(team_id=caller.team_id, name=handle, title=name)
            audit(caller, "project.create", "project", project.id, name=handle)
    except IntegrityError:
        raise taken("project", handle) from None
    return project


def create_key(caller: Caller, *, name: str, scopes: list[str], given: str | None = None) -> MadeKey:
    """A key of the caller's own, with at most the caller's scopes. `given` is taken as its text (first boot); under 16 characters it is refused."""
    extra = sorted(set(scopes) - caller.scopes)
    if extra or caller.user_id is None:
        raise AppError("forbidden", 403, f"You can't give a key the scopes you lack: {', '.join(extra) or 'any'}")
    if given is not None and len(given) < MIN_GIVEN_KEY:
        raise invalid([problem("PROCTOR_API_KEY", f"must have at least {MIN_GIVEN_KEY} characters")])
    secret = given or new_key_text()
    with transaction.atomic():
        key = ApiKey.objects.create(team_id=caller.team_id, user_id=caller.user_id, name=name, prefix=secret[:12], sha256=hash_key(secret), scopes=sorted(scopes))
        audit(caller, "key.create", "key", key.id, name=name, prefix=key.prefix, scopes=sorted(scopes))
    return MadeKey(key, secret)


def new_key_text() -> str:
    return f"pk_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def revoke_key(caller: Caller, key_id: uuid.UUID) -> ApiKey:
    """Idempotent. Members revoke their own, admins any of the team. Raises AppError 404."""
    keys = ApiKey.objects.filter(team_id=caller.team_id, id=key_id)
    if "admin" not in caller.scopes:
        keys = keys.filter(user_id=caller.user_id) if caller.user_id else keys.none()
    with transaction.atomic():
        key = keys.select_related("user").first()
        if key is None:
            raise not_found("Key")
        if key.revoked_at is None:
            key.revoked_at = timezone.now()
            key.save(update_fields=["revoked_at"])
            audit(caller, "key.revoke", "key", key.id, prefix=key.prefix)
    return key


def expire_key(key: ApiKey, *, in_s: float) -> None:
    ApiKey.objects.filter(id=key.id).update(expires_at=timezone.now() + timedelta(seconds=in_s))


def set_password(*, email: str, password: str) -> User:
    """For `manage.py password`. Raises AppError 404, 422."""
    user = User.objects.filter(email__iexact=email.strip()).first()
    if user is None:
        raise not_found(f"User {email}")
    if len(password) < 10:
        raise invalid([problem("password", "must have at least 10 characters")])
    user.set_password(password)
    user.save(update_fields=["password"])
    return user


def run_token(team_id: uuid.UUID, run_id: uuid.UUID, attempt: int) -> str:
    """A token for one attempt at one run: good for its own telemetry and model calls, for two days at most."""
    return "rt_" + sign("run", [str(team_id), str(run_id), attempt])


def owner_caller(team: Team, user: User) -> Caller:
    return Caller(team.id, user.id, user.email, ALL_SCOPES, "owner", user.is_instance_admin)
