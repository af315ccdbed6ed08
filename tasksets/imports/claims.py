"""Who works on an import: claimed by compare-and-set, a lease renewed while it goes on, freed at the end.

Every write about an import checks that the claim still holds, so one that was cancelled, or thought dead, changes nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from tasksets.imports.models import Import

LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 3
LOST = f"The server was stopped {MAX_ATTEMPTS} times in the middle of this; perhaps the file is too large for it"


class Lost(Exception):
    """Somebody else holds the import, or it was cancelled."""


@dataclass(frozen=True)
class Claim:
    """`stopping`: the holder's process is about to end."""

    import_id: uuid.UUID
    holder: str
    attempt: int
    stopping: Callable[[], bool] = field(default=bool, compare=False)

    def held(self) -> QuerySet[Import]:
        return Import.objects.filter(
            id=self.import_id, claimed_by=self.holder, attempts=self.attempt, status__in=("pulling", "checking", "committing")
        )

    def keep(self, **changes: Any) -> None:
        """Renews the lease. Raises Lost; when the process is stopping too, and leaves the import to the next."""
        if self.stopping():
            self.held().update(claimed_by=None, claimed_until=None)
            raise Lost
        if not self.held().update(claimed_until=timezone.now() + LEASE, **changes):
            raise Lost

    def finish(self, **changes: Any) -> None:
        """Raises Lost."""
        if not self.held().update(claimed_by=None, claimed_until=None, **changes):
            raise Lost


def free() -> Q:
    return Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())


def claim(found: Import, holder: str, status: str, was: tuple[str, ...], stopping: Callable[[], bool] = bool) -> Claim | None:
    """None when another was first."""
    there = Import.objects.filter(free(), id=found.id, attempts=found.attempts, status__in=was)
    taken = there.update(
        status=status, claimed_by=holder, claimed_until=timezone.now() + LEASE, attempts=F("attempts") + 1, progress=0, error=None
    )
    return Claim(found.id, holder, found.attempts + 1, stopping) if taken else None


def _waiting() -> Q:
    """A check; or HUD's import at any place, which begins again."""
    return Q(status="checking") | Q(status__in=("checked", "committing"), auto=True)


def claim_waiting(holder: str, stopping: Callable[[], bool] = bool) -> Claim | None:
    """The oldest one that nobody works on."""
    for found in Import.objects.filter(free(), _waiting()).order_by("created_at")[:10]:
        if found.claimed_by is not None and found.attempts >= MAX_ATTEMPTS + (found.checked_attempt or 0):
            Import.objects.filter(free(), id=found.id, attempts=found.attempts).update(status="failed", error=LOST, claimed_by=None)
            continue
        taken = claim(found, holder, "checking", (found.status,), stopping)
        if taken:
            return taken
    return None


def free_claims() -> int:
    """For a worker that knows itself to be the only one."""
    return Import.objects.filter(_waiting()).exclude(claimed_until=None).update(claimed_until=None)
