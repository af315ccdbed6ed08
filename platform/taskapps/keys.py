"""Keys of a taskset as a Task App: made, listed, revoked by the team; looked up by the hash of whatever a caller sends."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import SCOPES_OF_ROLE, Caller
from accounts.models import Membership
from accounts.queries import hash_key
from gateway.actions import may_lead_inside
from taskapps.models import TaskAppKey
from tasksets.models import Taskset
from web.errors import AppError, not_found

PER_TASKSET = 100


@dataclass(frozen=True)
class MadeTaskAppKey:
    """The key, and its text, which is never there again."""

    key: TaskAppKey
    secret: str = field(repr=False)


def create_key(caller: Caller, taskset: Taskset, *, name: str) -> MadeTaskAppKey:
    """Needs the scopes `write` (it is a change) and `run` (its holder runs tasks). Raises AppError 409 when there are 100."""
    caller.require("write")
    caller.require("run")
    if find_keys(taskset).filter(revoked_at=None).count() >= PER_TASKSET:
        raise AppError("conflict", 409, f"A taskset has at most {PER_TASKSET} keys; revoke one first")
    secret = f"ta_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        key = TaskAppKey.objects.create(
            team_id=caller.team_id, taskset=taskset, name=name, prefix=secret[:12], sha256=hash_key(secret), by_instance_admin=may_lead_inside(caller),
            user_id=caller.user_id, created_by=caller.label,
        )  # fmt: skip
        audit(caller, "task_app_key.create", "task_app_key", key.id, name=name, prefix=key.prefix, taskset=taskset.name)
    return MadeTaskAppKey(key, secret)


def find_keys(taskset: Taskset) -> QuerySet[TaskAppKey]:
    """Newest first, revoked ones too."""
    return TaskAppKey.objects.filter(taskset=taskset).order_by("-created_at", "id")


def revoke_key(caller: Caller, taskset: Taskset, key_id: uuid.UUID) -> TaskAppKey:
    """Idempotent. Raises AppError 404."""
    caller.require("write")
    key = find_keys(taskset).filter(id=key_id).first()
    if key is None:
        raise not_found("Key")
    with transaction.atomic():
        if TaskAppKey.objects.filter(id=key.id, revoked_at=None).update(revoked_at=timezone.now()):
            audit(caller, "task_app_key.revoke", "task_app_key", key.id, prefix=key.prefix)
    key.refresh_from_db()
    return key


def key_among(given: Sequence[str]) -> TaskAppKey | None:
    """The first good key of those sent. Hashes are looked up, so nothing is compared letter by letter."""
    hashes = [hash_key(text) for text in given]
    found = TaskAppKey.objects.select_related("taskset").filter(sha256__in=hashes, revoked_at=None, taskset__archived_at=None).first()
    now = timezone.now()
    if found is not None and (found.last_used_at is None or found.last_used_at < now - timedelta(minutes=1)):
        TaskAppKey.objects.filter(id=found.id).update(last_used_at=now)
    return found


def caller_of_key(key: TaskAppKey) -> Caller:
    """May read and run in the name of whoever made it, as far as that person still may in the team."""
    members = Membership.objects.filter(team_id=key.team_id, user__is_active=True)
    member = members.filter(user_id=key.user_id).first() if key.user_id else None
    scopes = SCOPES_OF_ROLE.get(member.role, frozenset()) if member else frozenset()
    return Caller(key.team_id, key.user_id, f"task app key {key.name}", frozenset({"read", "run"}) & scopes, "task_app")
