"""Every read about people, teams and keys, scoped to who asks."""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.callers import SCOPES_OF_ROLE, Caller
from accounts.models import ApiKey, Membership, Project, Team, User
from web.crypto import unsign
from web.errors import not_found, unauthorized

BAD_KEY = "This API key is wrong, revoked or expired"


def hash_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def caller_for_key(text: str) -> Caller:
    """Who holds this key, or this run's token. Raises AppError 401."""
    if text.startswith("rt_"):
        return _caller_for_run_token(text)
    now = timezone.now()
    member = Q(user__is_active=True, user__memberships__team_id=F("team_id"))
    keys = ApiKey.objects.filter(member, Q(expires_at=None) | Q(expires_at__gt=now), sha256=hash_key(text), revoked_at=None)
    found = next(iter(keys.values_list(*_KEY_FACTS)[:1]), None)
    if found is None:
        raise unauthorized(BAD_KEY)
    key_id, team_id, user_id, name, given, last_used_at, is_instance_admin, role = found
    if last_used_at is None or last_used_at < now - timedelta(minutes=1):
        ApiKey.objects.filter(id=key_id).update(last_used_at=now)
    scopes = frozenset(given) & SCOPES_OF_ROLE.get(role, frozenset())
    return Caller(team_id, user_id, f"key {name}", scopes, role, is_instance_admin, key_id)


_KEY_FACTS = ("id", "team_id", "user_id", "name", "scopes", "last_used_at", "user__is_instance_admin", "user__memberships__role")
"""One statement says who asks: this is on the way of every request with a key."""


def _caller_for_run_token(text: str) -> Caller:
    value = unsign("run", text[3:], max_age_s=2 * 86_400)
    if value is None:
        raise unauthorized(BAD_KEY)
    team_id, run_id, attempt = value
    return Caller(uuid.UUID(team_id), None, f"run {run_id}", frozenset({"run"}), "run", run_id=uuid.UUID(run_id), attempt=attempt)


def caller_for_user(user: User, wanted_team: str | None) -> Caller:
    """The person as a member of the wanted team (id or name), else of their first. Raises AppError 404."""
    memberships = list(Membership.objects.select_related("team").filter(user=user).order_by("id"))
    for membership in memberships:
        if not wanted_team or wanted_team in (str(membership.team_id), membership.team.name):
            return Caller(membership.team_id, user.id, user.email, SCOPES_OF_ROLE.get(membership.role, frozenset()), membership.role, user.is_instance_admin)
    raise not_found("Team")


def user_with_password(email: str, password: str) -> User | None:
    """The active person with this e-mail and password. Takes as long for an unknown e-mail."""
    user = User.objects.filter(email__iexact=email.strip()[:320], is_active=True).first()
    good = check_password(password, user.password if user else _unusable_hash())
    return user if user and good else None


def _unusable_hash() -> str:
    global _UNUSABLE
    if not _UNUSABLE:
        _UNUSABLE = make_password(uuid.uuid4().hex)
    return _UNUSABLE


_UNUSABLE = ""


def get_user(user_id: uuid.UUID) -> User:
    return User.objects.get(id=user_id)


def find_memberships(user_id: uuid.UUID) -> QuerySet[Membership]:
    return Membership.objects.select_related("team").filter(user_id=user_id).order_by("id")


def find_projects(caller: Caller, search: str = "") -> QuerySet[Project]:
    projects = Project.objects.filter(team_id=caller.team_id).order_by("-is_default", "name")
    return projects.filter(Q(name__icontains=search) | Q(title__icontains=search)) if search else projects


def get_project(caller: Caller, project_id: uuid.UUID) -> Project:
    """Raises AppError 404 for another team's."""
    project = Project.objects.filter(team_id=caller.team_id, id=project_id).first()
    if project is None:
        raise not_found("Project")
    return project


def default_project(team_id: uuid.UUID) -> Project:
    return Project.objects.get(team_id=team_id, is_default=True)


def find_keys(caller: Caller) -> QuerySet[ApiKey]:
    return ApiKey.objects.select_related("user").filter(team_id=caller.team_id).order_by("-created_at")



def oldest_team() -> Team | None:
    """The team of the first boot, which owns the shipped sample."""
    return Team.objects.order_by("created_at").first()


def public_url() -> str:
    return str(settings.PROCTOR_PUBLIC_URL)
