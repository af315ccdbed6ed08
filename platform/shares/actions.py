"""Every write of share links: made once with a token that is shown once, and revoked. Audited without the token."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from shares.kinds import get_kind
from shares.models import Share
from shares.queries import get_share, hash_token
from web.errors import invalid, problem


@dataclass(frozen=True)
class Made:
    share: Share
    token: str


def create_share(caller: Caller, *, kind: str, reference: str, expires_at: datetime | None = None) -> Made:
    """Raises AppError 403, 404, 409, 422."""
    caller.require("write")
    if expires_at is not None and expires_at <= timezone.now():
        raise invalid([problem("expires_at", "must be in the future", expires_at.isoformat())])
    found = get_kind(kind).find(caller, reference)
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        share = Share.objects.create(
            team_id=caller.team_id, kind=kind, object_id=found.object_id, pin=found.pin, reference=found.reference, title=found.title,
            token_sha256=hash_token(token), created_by=caller.label, expires_at=expires_at,
        )  # fmt: skip
        audit(caller, "share.create", "share", share.id, kind=kind, reference=found.reference, pinned=bool(found.pin))
    return Made(share, token)


def revoke_share(caller: Caller, share_id: uuid.UUID) -> Share:
    """At once and for good; again changes nothing. Raises AppError 403, 404."""
    caller.require("write")
    with transaction.atomic():
        share = get_share(caller, share_id)
        if Share.objects.filter(id=share.id, revoked_at=None).update(revoked_at=timezone.now()):
            audit(caller, "share.revoke", "share", share.id, kind=share.kind, reference=share.reference)
    return get_share(caller, share_id)
