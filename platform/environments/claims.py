"""How workers share the versions that wait: claim one by compare-and-set, keep the lease, append to its log, finish it or give it back.

Every write of a worker about a version checks that it still holds it, so a worker that was thought dead changes nothing. A version
that somebody cancelled ends `cancelled`, also when no worker had begun.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from environments.models import EnvironmentVersion, LogChunk
from web.crypto import decrypt_map
from web.live import hint_after_commit

LEASE_S, MAX_ATTEMPTS = 60.0, 3
ERROR_CHARACTERS = 4_000
UNFINISHED = ("pending", "building", "probing")


@dataclass(frozen=True)
class Claim:
    """One version, held by one worker. `build_secrets`: id → value, for the build alone."""

    version_id: uuid.UUID
    worker_id: str
    attempt: int
    source: str
    image: str
    context_path: str | None
    environment_id: uuid.UUID
    team_id: uuid.UUID
    kind: str = "hud"
    no_cache: bool = False
    build_args: dict[str, str] = field(default_factory=dict)
    build_secrets: dict[str, str] = field(default_factory=dict, repr=False)


def claim_next(worker_id: str) -> Claim | None:
    """The oldest version that nobody works on. One that three workers were lost over is failed instead, a cancelled one ended."""
    for version in list(_unheld().select_related("environment").defer("manifest").order_by("created_at")[:10]):
        if version.cancel_requested_at:
            _end(_unheld().filter(id=version.id), "cancelled", CANCELLED)
            continue
        if version.attempts >= MAX_ATTEMPTS:
            lost = f"The worker was lost {MAX_ATTEMPTS} times while making this version ready; register it again"
            _end(_unheld().filter(id=version.id), "failed", lost)
            continue
        status = "building" if version.source == "build" else "probing"
        held = {"claimed_by": worker_id, "claimed_until": _until(), "status": status, "attempts": F("attempts") + 1}
        if _unheld().filter(id=version.id, attempts=version.attempts).update(**held):
            hint_after_commit()
            return _claim(version, worker_id)
    return None


def _claim(version: EnvironmentVersion, worker_id: str) -> Claim:
    return Claim(
        version.id, worker_id, version.attempts + 1, version.source, version.image, version.context_path, version.environment_id,
        version.environment.team_id, version.environment.kind, version.no_cache, version.build_args, decrypt_map(version.build_secrets_encrypted),
    )  # fmt: skip


CANCELLED = "Cancelled"


def _end(versions: QuerySet[EnvironmentVersion], status: str, error: str) -> bool:
    """A terminal state without a manifest; the build's secrets go."""
    ended = versions.update(status=status, error=plain(error)[:ERROR_CHARACTERS], claimed_until=None, build_secrets_encrypted="")
    hint_after_commit()
    return bool(ended)


def end_unheld(version_id: uuid.UUID) -> bool:
    """Cancelled, if nobody works on it."""
    return _end(_unheld().filter(id=version_id, cancel_requested_at__isnull=False), "cancelled", CANCELLED)


def _unheld() -> QuerySet[EnvironmentVersion]:
    free = Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())
    return EnvironmentVersion.objects.filter(free, status__in=UNFINISHED)


def _until() -> Any:
    return timezone.now() + timedelta(seconds=LEASE_S)


def keep(claim: Claim, lines: str | None = None) -> bool:
    """Renews the lease and appends to the log (None: nothing new). False: somebody else holds it; stop."""
    with transaction.atomic():
        return bool(_held(claim).update(claimed_until=_until())) and _append(claim.version_id, lines)


def _append(version_id: uuid.UUID, lines: str | None) -> bool:
    """Inside a transaction that holds the version's row."""
    if lines:
        EnvironmentVersion.objects.filter(id=version_id).update(log_seq=F("log_seq") + 1)
        seq = EnvironmentVersion.objects.values_list("log_seq", flat=True).get(id=version_id)
        LogChunk.objects.create(version_id=version_id, seq=seq, text=plain(lines))
        hint_after_commit()
    return True


def cancel_asked(claim: Claim) -> bool:
    return _held(claim).filter(cancel_requested_at__isnull=False).exists()


def enter_probing(claim: Claim, *, image: str, image_id: str) -> bool:
    entered = bool(_held(claim).update(status="probing", image=image, image_id=image_id))
    hint_after_commit()
    return entered


def finish_version(
    claim: Claim, *, log: str, manifest: dict[str, Any] | None = None, image: str = "", image_id: str | None = None,
    error: str | None = None, cancelled: bool = False,
) -> bool:  # fmt: skip
    """Ready with a manifest, or failed (cancelled) with an error; `log`: what is left to append. False when the claim was lost: then
    nothing changes."""
    with transaction.atomic():
        if error is not None or cancelled:
            ended = _end(_held(claim), "cancelled" if cancelled else "failed", error or CANCELLED)
        else:
            made = {"manifest": manifest or {}, "image": image, "image_id": image_id, "error": None, "build_secrets_encrypted": ""}
            ended = bool(_held(claim).update(status="ready", ready_at=timezone.now(), claimed_until=None, **made))
            hint_after_commit()
        return ended and _append(claim.version_id, log)


def give_back(claim: Claim, log: str | None = None) -> bool:
    """A worker that stops leaves its version to the next, as if it had not begun."""
    with transaction.atomic():
        back = {"status": "pending", "claimed_by": None, "claimed_until": None, "attempts": F("attempts") - 1}
        return bool(_held(claim).update(**back)) and _append(claim.version_id, log)


def free_claims() -> int:
    """For a worker that knows itself to be the only one: whoever held anything is gone."""
    return EnvironmentVersion.objects.filter(status__in=UNFINISHED).exclude(claimed_until=None).update(claimed_until=None)


def _held(claim: Claim) -> QuerySet[EnvironmentVersion]:
    mine = {"id": claim.version_id, "claimed_by": claim.worker_id, "attempts": claim.attempt}
    return EnvironmentVersion.objects.filter(**mine, status__in=UNFINISHED)


def plain(text: str) -> str:
    """PostgreSQL keeps no NUL."""
    return text.replace("\0", "")
