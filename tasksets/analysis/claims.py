"""Which version is analysed next, and by whom: claimed by compare-and-set, a lease renewed while it goes on, freed at the end.

What waits is derived, so nothing that makes a version has to say so: every head that is 10 s old and has no analysis. Ten quick versions
make one. Every write checks that the claim still holds, so one that was dropped, or thought dead, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from tasksets.analysis.models import Analysis
from tasksets.models import Taskset

LEASE, QUIET = timedelta(seconds=60), timedelta(seconds=10)
MAX_ATTEMPTS = 3
MOST_BY_ITSELF = 100_000
LOST = f"The server was stopped {MAX_ATTEMPTS} times in the middle of this; perhaps the taskset is too large for it"


class Lost(Exception):
    """Somebody else holds the analysis, or it was dropped."""


@dataclass(frozen=True)
class Claim:
    """`stopping`: the holder's process is about to end."""

    analysis_id: int
    holder: str
    attempt: int
    stopping: Callable[[], bool] = field(default=bool, compare=False)

    def held(self) -> QuerySet[Analysis]:
        return Analysis.objects.filter(id=self.analysis_id, claimed_by=self.holder, attempts=self.attempt, status="running")

    def keep(self, **changes: Any) -> None:
        """Renews the lease. Raises Lost; when the process is stopping too, and leaves the analysis to the next."""
        if self.stopping():
            self.held().update(claimed_by=None, claimed_until=None, status="queued", attempts=F("attempts") - 1)
            raise Lost
        if not self.held().update(claimed_until=timezone.now() + LEASE, **changes):
            raise Lost

    def finish(self, **changes: Any) -> None:
        """Raises Lost."""
        if not self.held().update(claimed_by=None, claimed_until=None, ended_at=timezone.now(), **changes):
            raise Lost


def _free() -> Q:
    return Q(claimed_until=None) | Q(claimed_until__lt=timezone.now())


def _waiting() -> QuerySet[Analysis]:
    return Analysis.objects.filter(_free(), status__in=("queued", "running")).order_by("created_at")


def _heads_without() -> QuerySet[Taskset]:
    """Sets, not put away, with a head that nothing has changed for a while."""
    there = Taskset.objects.filter(archived_at=None, purged_at=None, head__analysis=None, head__task_count__range=(1, MOST_BY_ITSELF))
    return there.filter(head__created_at__lt=timezone.now() - QUIET).order_by("head__created_at")


def is_waiting() -> bool:
    return _waiting().exists() or _heads_without().exists()


def claim_waiting(holder: str, stopping: Callable[[], bool] = bool) -> Claim | None:
    """The oldest one that was asked for and nobody works on, else a head of its own accord."""
    for version_id in _heads_without().values_list("head_id", flat=True)[:1]:
        Analysis.objects.get_or_create(version_id=version_id)
    for found in _waiting()[:10]:
        if found.attempts >= MAX_ATTEMPTS:
            _waiting().filter(id=found.id, attempts=found.attempts).update(
                status="failed", error=LOST, claimed_by=None, ended_at=timezone.now()
            )
            continue
        held = {"claimed_by": holder, "claimed_until": timezone.now() + LEASE, "attempts": F("attempts") + 1}
        mine = _waiting().filter(id=found.id, attempts=found.attempts)
        if mine.update(status="running", progress=0, error=None, began_at=timezone.now(), **held):
            return Claim(found.id, holder, found.attempts + 1, stopping)
    return None


def free_claims() -> int:
    """For a worker that knows itself to be the only one."""
    return Analysis.objects.filter(status="running").exclude(claimed_until=None).update(claimed_until=None)
