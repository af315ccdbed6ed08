"""The workers' own rows, named leases, and freeing what dead workers held."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from runs.actions.execution import give_up, release
from runs.clock import database_now
from runs.models import ACTIVE, Lease, Run, Worker

logger = logging.getLogger(__name__)


def register(worker_id: str, *, host: str, slots: int, version: str) -> None:
    now = database_now()
    facts = {"host": host[:255], "slots": slots, "version": version, "started_at": now, "heartbeat_at": now, "sandbox": None, "sandbox_note": "", "hud_version": None, "hud_note": ""}
    Worker.objects.update_or_create(id=worker_id, defaults=facts)


def describe(worker_id: str, *, sandbox: str, note: str) -> None:
    Worker.objects.filter(id=worker_id).update(sandbox=sandbox, sandbox_note=note)


def describe_hud(worker_id: str, *, version: str | None, note: str = "") -> None:
    """Whether this worker can run HUD's own agents: the package's version, or why it cannot."""
    Worker.objects.filter(id=worker_id).update(hud_version=version, hud_note=note[:2000])


def beat(worker_id: str) -> None:
    Worker.objects.filter(id=worker_id).update(heartbeat_at=database_now())


def free_own(worker_id: str) -> int:
    """At start: what a predecessor of the same id still holds or was sent (the data folder's lock proves that it is gone)."""
    Run.objects.filter(state="queued", dispatched_until__isnull=False).update(dispatched_until=None)
    return sum(_free(run_id, attempt) for run_id, attempt in _held_by(worker_id))


def free_expired() -> int:
    """Runs whose lease ran out: their worker is gone or cut off."""
    now = database_now()
    expired = Run.objects.filter(state__in=ACTIVE, source="hosted", lease_until__lt=now)
    return sum(_free(run_id, attempt, expired_at=now) for run_id, attempt in expired.values_list("id", "attempt")[:500])


def release_all(worker_id: str) -> int:
    """A worker's last word: whatever it still holds goes back to the queue."""
    return sum(release(run_id, attempt, "worker stopped") for run_id, attempt in _held_by(worker_id))


def _held_by(worker_id: str) -> list[tuple[uuid.UUID, int]]:
    return list(Run.objects.filter(worker_id=worker_id, state__in=ACTIVE).values_list("id", "attempt"))


def _free(run_id: uuid.UUID, attempt: int, *, expired_at: datetime | None = None) -> bool:
    freed = give_up(run_id, attempt, expired_at=expired_at)
    if freed:
        logger.warning("run freed run=%s attempt=%s", run_id, attempt)
    return freed


def take_lease(name: str, owner: str, seconds: float) -> bool:
    """A named duty for a while: taken when free, expired or already ours."""
    now = database_now()
    until = now + timedelta(seconds=seconds)
    if Lease.objects.filter(Q(owner=owner) | Q(until__lt=now), name=name).update(owner=owner, until=until):
        return True
    try:
        with transaction.atomic():
            Lease.objects.create(name=name, owner=owner, until=until)
    except IntegrityError:
        return False
    return True


def drop_old_rows() -> None:
    """Used tickets, and workers not heard of for a day."""
    now = database_now()
    Lease.objects.filter(name__startswith="ticket:", until__lt=now).delete()
    Worker.objects.filter(heartbeat_at__lt=now - timedelta(days=1)).delete()


def lose_silent_runs(silent_s: float) -> int:
    """Outside runs that said nothing for long: failed `lost`; a later exit overrides."""
    now = database_now()
    silent = Run.objects.filter(source="reported", state="running", last_seen_at__lt=now - timedelta(seconds=silent_s))
    return _lose(list(silent.values_list("id", flat=True)[:500]), silent_s)


def _lose(run_ids: list[uuid.UUID], silent_s: float) -> int:
    now = database_now()
    message = f"Nothing was heard of this run for {int(silent_s // 60)} minutes; its client is probably gone"
    return Run.objects.filter(id__in=run_ids, state="running").update(
        state="error", counted="failed", failure_class="lost", error=message, ended_at=now, changed_at=now, revision=F("revision") + 1
    )
