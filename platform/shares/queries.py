"""Every read of share links: a team's own list, and the one look-up that needs no sign-in.

A token that is wrong, expired or revoked answers the same 404. Ten such misses of one address in five minutes are answered 429; a good
link is never held up by another's misses.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import throttle
from accounts.callers import Caller
from shares.models import Share
from web.errors import AppError, not_found

NO_LINK = "This link is wrong, has expired or was revoked"
USED_EVERY = timedelta(minutes=1)


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_shares(caller: Caller) -> QuerySet[Share]:
    """Newest first."""
    return Share.objects.filter(team_id=caller.team_id).order_by("-created_at", "-id")


def get_share(caller: Caller, share_id: uuid.UUID) -> Share:
    """Raises AppError 404 for another team's."""
    share = Share.objects.filter(team_id=caller.team_id, id=share_id).first()
    if share is None:
        raise not_found("Share link")
    return share


def count_live(kind: str, object_id: uuid.UUID) -> int:
    """Links that show this object, for the room that owns it and is about to take it away."""
    live = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    return Share.objects.filter(live, kind=kind, object_id=object_id, revoked_at=None).count()


def open_share(token: str, address: str, kind: str | None = None) -> Share:
    """What a visitor's link leads to. Raises AppError 404, 429."""
    now = timezone.now()
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    share = Share.objects.filter(live, token_sha256=hash_token(token), revoked_at=None).first()
    if share is None or kind not in (None, share.kind):
        throttle.check(f"share:{address}")
        throttle.miss(f"share:{address}")
        raise AppError("not_found", 404, NO_LINK)
    if share.last_used_at is None or share.last_used_at < now - USED_EVERY:
        Share.objects.filter(id=share.id).update(last_used_at=now)
    return share
