"""What people do with sessions: open one, keep it, close it. Team walls and caps; a worker does the rest (`claims`, `keeper`)."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.models import Team
from environments.actions import KIND
from environments.models import Environment, EnvironmentVersion, RuntimeSession
from environments.queries import get_environment, newest_ready
from web.errors import AppError, conflict, not_found
from web.ids import known_uuid

TOTAL_S, IDLE_S, QUIET_IDLE_S, RETRY_S = 7_200, 300, 1_800, 30
"""A session's whole life; how long no tunnel may carry a byte, and how long no call may come for HUD 0.2.x; what `Retry-After` says at the cap."""


def open_session(caller: Caller, *, environment: str, run_wire_id: uuid.UUID | None = None) -> RuntimeSession:
    """Waiting for a worker; on the newest ready version. Raises AppError 403, 404, 409 (none is ready), 429 (the team's cap)."""
    caller.require("run")
    return open_on(caller, _version(caller, environment), run_wire_id=run_wire_id)


def open_on(
    caller: Caller, version: EnvironmentVersion, *, run_wire_id: uuid.UUID | None = None, job_wire_id: uuid.UUID | None = None
) -> RuntimeSession:
    """On this version, which is ready. Raises AppError 429."""
    caller.require("run")
    now = timezone.now()
    with transaction.atomic():
        Team.objects.select_for_update().get(id=caller.team_id)
        if find_live(caller).count() >= settings.PROCTOR_TEAM_SESSIONS:
            cap = f"The team has {settings.PROCTOR_TEAM_SESSIONS} sessions open, which is the most; close one, or run fewer at once"
            raise AppError("too_many_sessions", 429, cap, headers={"Retry-After": str(RETRY_S)})
        session = RuntimeSession.objects.create(
            team_id=caller.team_id, version=version, run_wire_id=run_wire_id, job_wire_id=job_wire_id, created_by=caller.label, last_used_at=now,
            expires_at=now + timedelta(seconds=TOTAL_S),
        )  # fmt: skip
        audit(caller, "session.open", "session", session.id, environment=version.environment.name, version=version.number)
    return session


def _version(caller: Caller, name: str) -> EnvironmentVersion:
    version = newest_ready(caller.team_id, name)
    if version is None:
        environment = get_environment(caller, name)
        raise conflict(f"Environment {environment.name} has no version that is ready", name=environment.name)
    if version.environment.kind != KIND:
        raise conflict(f"Environment {version.environment.name} is of kind {version.environment.kind}: it runs in no sandbox that could be driven")
    return version


def get_session(caller: Caller, session_id: str) -> RuntimeSession:
    """Raises AppError 404 for another team's."""
    mine = RuntimeSession.objects.select_related("version").filter(team_id=caller.team_id)
    session = mine.filter(id=known_uuid(session_id, "Session")).first()
    if session is None:
        raise not_found("Session")
    return session


def find_live(caller: Caller) -> QuerySet[RuntimeSession]:
    return RuntimeSession.objects.filter(team_id=caller.team_id, ended_at=None)


def find_sessions(environment: Environment) -> QuerySet[RuntimeSession]:
    """Those that have not ended, newest first."""
    return RuntimeSession.objects.select_related("version").filter(version__environment=environment, ended_at=None).order_by("-created_at", "-id")


def close_session(caller: Caller, session: RuntimeSession) -> None:
    """Ends at once when no worker has it; else the worker removes the sandbox first. May be repeated. Raises AppError 403."""
    caller.require("run")
    now = timezone.now()
    with transaction.atomic():
        asked = RuntimeSession.objects.filter(id=session.id, ended_at=None, close_requested_at=None).update(close_requested_at=now)
        RuntimeSession.objects.filter(id=session.id, state="waiting", ended_at=None).update(state="closed", ended_at=now)
        if asked:
            audit(caller, "session.close", "session", session.id)


def touch(session_id: uuid.UUID) -> bool:
    """A tunnel carried bytes, or somebody asked to keep it. False: it has ended, or is about to."""
    live = RuntimeSession.objects.filter(id=session_id, ended_at=None, close_requested_at=None)
    return bool(live.update(last_used_at=timezone.now()))
