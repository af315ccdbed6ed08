"""Workers and what they can do: health, capacity, which sandbox a new run gets."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet

from runs.clock import database_now
from runs.models import ACTIVE, Run, Worker

ALIVE_S = 30


@dataclass(frozen=True)
class SandboxState:
    """What runs would get now; `kind` is None while no worker is up."""

    kind: str | None
    note: str


REMOTE = SandboxState("remote", "Each run happens in the Task App: no container of ours is started.")


def newest_heartbeat_age_s() -> float | None:
    newest = Worker.objects.order_by("-heartbeat_at").values_list("heartbeat_at", flat=True).first()
    return (database_now() - newest).total_seconds() if newest else None


def find_live_workers() -> QuerySet[Worker]:
    busy = Count("run", filter=Q(run__state__in=ACTIVE))
    return Worker.objects.filter(heartbeat_at__gt=database_now() - timedelta(seconds=ALIVE_S)).annotate(busy=busy).order_by("id")


def sandbox_state() -> SandboxState:
    workers = list(find_live_workers())
    if not workers:
        return SandboxState(None, "No worker is up; runs wait in the queue until one is.")
    best = next((worker for worker in workers if worker.sandbox == "docker"), workers[0])
    return SandboxState(best.sandbox, best.sandbox_note)


NO_HUD = "HUD's own agents need its package in an environment of its own: run `make hud-agents` on the server and start it again"


def why_no_hud_agents() -> str | None:
    """Why HUD's own agents can run on no worker; None when one can, or may be able to soon."""
    workers = list(find_live_workers())
    if any(worker.hud_version for worker in workers):
        return None
    if not workers:
        return None if settings.PROCTOR_HUD_PYTHON else NO_HUD
    notes = [worker.hud_note for worker in workers]
    return notes[0] if all(notes) else None


def cancels_asked(worker_id: str) -> list[uuid.UUID]:
    """Runs of this worker that somebody wants to end."""
    return list(Run.objects.filter(worker_id=worker_id, state__in=ACTIVE, cancel_requested_at__isnull=False).values_list("id", flat=True))


def live_attempts() -> set[tuple[uuid.UUID, int]]:
    """(run, attempt) of every rollout that a worker holds now."""
    return set(Run.objects.filter(state__in=ACTIVE, source="hosted").values_list("id", "attempt"))
