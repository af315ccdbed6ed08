"""How workers share the versions that wait: claim one by compare-and-set, keep the lease, finish it or give it back.

Every write of a worker about a version checks that it still holds it, so a worker that was thought dead changes nothing.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from environments.models import EnvironmentVersion

LEASE_S, MAX_ATTEMPTS = 60.0, 3
LOG_CHARACTERS, ERROR_CHARACTERS = 256 * 1024, 4_000
UNFINISHED = ("pending", "building", "probing")


@dataclass(frozen=True)
class Claim:
    """One version, held by one worker."""

    version_id: uuid.UUID
    worker_id: str
    attempt: int
    source: str
    image: str
    context_path: str | None


def claim_next(worker_id: str) -> Claim | None:
    """The oldest version that nobody works on. One that three workers were lost over is failed instead."""
    for version in list(_unheld().defer("log", "manifest").order_by("created_at")[:10]):
        if version.attempts >= MAX_ATTEMPTS:
            _unheld().filter(id=version.id).update(
                status="failed", error=f"The worker was lost {MAX_ATTEMPTS} times while making this version ready; register it again"
            )
            continue
        status = "building" if version.source == "build" else "probing"
        held = {"claimed_by": worker_id, "claimed_until": _until(), "status": status, "attempts": F("attempts") + 1}
        if _unheld().filter(id=version.id, attempts=version.attempts).update(**held):
            return Claim(version.id, worker_id, version.attempts + 1, version.source, version.image, version.context_path)
    return None


def _unheld() -> QuerySet[EnvironmentVersion]:
    free = Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())
    return EnvironmentVersion.objects.filter(free, status__in=UNFINISHED)


def _until() -> Any:
    return timezone.now() + timedelta(seconds=LEASE_S)


def keep(claim: Claim, log: str | None = None) -> bool:
    """Renews the lease and stores the log so far (None: unchanged). False: somebody else holds it; stop."""
    changed = {"claimed_until": _until()} | ({} if log is None else {"log": bounded(log)})
    return bool(_held(claim).update(**changed))


def enter_probing(claim: Claim, *, image: str, image_id: str) -> bool:
    return bool(_held(claim).update(status="probing", image=image, image_id=image_id))


def finish_version(
    claim: Claim,
    *,
    log: str,
    manifest: dict[str, Any] | None = None,
    image: str = "",
    image_id: str | None = None,
    error: str | None = None,
) -> bool:
    """Ready with a manifest, or failed with an error. False when the claim was lost: then nothing changes."""
    ended: dict[str, Any] = {"status": "failed", "error": plain(error)[:ERROR_CHARACTERS]} if error is not None else {
        "status": "ready", "ready_at": timezone.now(), "manifest": manifest or {}, "image": image, "image_id": image_id, "error": None,
    }  # fmt: skip
    with transaction.atomic():
        return bool(_held(claim).update(claimed_until=None, log=bounded(log), **ended))


def give_back(claim: Claim) -> bool:
    """A worker that stops leaves its version to the next, as if it had not begun."""
    return bool(_held(claim).update(status="pending", claimed_by=None, claimed_until=None, attempts=F("attempts") - 1))


def free_claims() -> int:
    """For a worker that knows itself to be the only one: whoever held anything is gone."""
    return EnvironmentVersion.objects.filter(status__in=UNFINISHED).exclude(claimed_until=None).update(claimed_until=None)


def _held(claim: Claim) -> QuerySet[EnvironmentVersion]:
    mine = {"id": claim.version_id, "claimed_by": claim.worker_id, "attempts": claim.attempt}
    return EnvironmentVersion.objects.filter(**mine, status__in=UNFINISHED)


def plain(text: str) -> str:
    """PostgreSQL keeps no NUL."""
    return text.replace("\0", "")


def bounded(log: str) -> str:
    """The last 256 Ki characters, with a note of what went."""
    clean = plain(log)
    gone = len(clean) - LOG_CHARACTERS
    return clean if gone <= 0 else f"({gone:,} characters left out)\n{clean[-LOG_CHARACTERS:]}"
