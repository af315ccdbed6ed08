"""Share links as wire objects."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from proctor.wire.shares import ShareMade, ShareOut, ShareState
from shares.actions import Made
from shares.models import Share


def render_share(share: Share) -> ShareOut:
    return ShareOut(
        id=str(share.id), kind=share.kind, reference=share.reference, title=share.title, pinned=bool(share.pin), state=_state(share),
        created_by=share.created_by, created_at=share.created_at, expires_at=share.expires_at, revoked_at=share.revoked_at,
        last_used_at=share.last_used_at,
    )  # fmt: skip


def _state(share: Share) -> ShareState:
    if share.revoked_at:
        return "revoked"
    return "expired" if share.expires_at and share.expires_at <= timezone.now() else "live"


def render_made(made: Made) -> ShareMade:
    return ShareMade(**render_share(made.share).model_dump(), url=f"{settings.PROCTOR_PUBLIC_URL.rstrip('/')}/share/{made.token}")
