"""How workers share sessions: claim those that wait, renew them together, learn which must end, and end them.

Every write checks that the worker still holds the session. A lease that ran out ends its session: a sandbox's state cannot be had again.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from environments.models import RuntimeSession
from environments.sandboxes import docker_spec
from environments.sessions.actions import IDLE_S, QUIET_IDLE_S
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.resources import Resources

LEASE_S, ERROR_CHARACTERS = 30.0, 4_000


@dataclass(frozen=True)
class Claimed:
    """A session to start. `expires_at`: epoch seconds."""

    session_id: uuid.UUID
    spec: SandboxSpec
    expires_at: float


def somebody_waits() -> bool:
    return _waiting().exists()


def _waiting() -> QuerySet[RuntimeSession]:
    return RuntimeSession.objects.filter(state="waiting", ended_at=None, close_requested_at=None)


def claim(worker_id: str, room: int) -> list[Claimed]:
    """The oldest that wait, at most `room`."""
    found = list(_waiting().select_related("version__environment").order_by("created_at")[:room]) if room > 0 else []
    held = {"state": "starting", "claimed_by": worker_id, "claimed_until": _until()}
    mine = [session for session in found if _waiting().filter(id=session.id).update(**held)]
    return [Claimed(session.id, docker_spec(session.version, session.version.image, Resources()), session.expires_at.timestamp()) for session in mine]


def _until() -> object:
    return timezone.now() + timedelta(seconds=LEASE_S)


def opened(worker_id: str, session_id: uuid.UUID, *, relay: str, container_id: str | None) -> bool:
    now = timezone.now()
    held = _held(worker_id).filter(id=session_id)
    return bool(held.update(state="open", relay=relay, container_id=container_id, opened_at=now, last_used_at=now))


def renew(worker_id: str) -> dict[uuid.UUID, str]:
    """Renews all that the worker holds; then those that must end, each with why."""
    _held(worker_id).update(claimed_until=_until())
    now = timezone.now()
    must_end = Q(close_requested_at__isnull=False) | Q(expires_at__lt=now) | _idle()
    return {session.id: why_ended(session) for session in _held(worker_id).filter(must_end)}


def held_by(worker_id: str) -> set[uuid.UUID]:
    return set(_held(worker_id).values_list("id", flat=True))


def why_ended(session: RuntimeSession) -> str:
    """Empty when somebody closed it."""
    if session.close_requested_at:
        return ""
    if session.expires_at < timezone.now():
        return "It reached its total time"
    return f"No tunnel carried a byte for {IDLE_S} s"


def _idle() -> Q:
    """Clients of 0.2.x cannot keep a session alive while their model thinks: theirs may rest for longer."""
    now, quiet = timezone.now(), Q(version__environment__kind="hud02")
    long_ago = Q(last_used_at__lt=now - timedelta(seconds=QUIET_IDLE_S))
    return (quiet & long_ago) | (~quiet & Q(last_used_at__lt=now - timedelta(seconds=IDLE_S)))


def end(worker_id: str, session_id: uuid.UUID, *, failed: bool, error: str) -> bool:
    """With the sandbox gone."""
    held = _held(worker_id).filter(id=session_id)
    return _end(held, "failed" if failed else "closed", error)


def _end(sessions: QuerySet[RuntimeSession], state: str, error: str) -> bool:
    return bool(sessions.update(state=state, error=error.replace("\0", "")[:ERROR_CHARACTERS] or None, ended_at=timezone.now(), claimed_until=None))


def end_abandoned() -> None:
    """Sessions that waited in vain, and those whose worker was lost."""
    live, now = RuntimeSession.objects.filter(ended_at=None), timezone.now()
    _end(live.filter(_idle() | Q(expires_at__lt=now), state="waiting"), "closed", f"No tunnel was tried for {IDLE_S} s")
    _end(live.filter(claimed_until__lt=now), "failed", "Its worker was lost")


def free_sessions() -> int:
    """For a worker that knows itself to be the only one: whoever held any is gone."""
    held = RuntimeSession.objects.filter(ended_at=None, claimed_until__isnull=False)
    return held.update(claimed_until=None, state="failed", error="Its worker was lost", ended_at=timezone.now())


def live_sessions() -> set[uuid.UUID]:
    """Those that may have a container now."""
    return set(RuntimeSession.objects.filter(ended_at=None, claimed_until__gt=timezone.now()).values_list("id", flat=True))


def _held(worker_id: str) -> QuerySet[RuntimeSession]:
    return RuntimeSession.objects.filter(claimed_by=worker_id, ended_at=None)
