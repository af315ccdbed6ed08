"""Environments and their versions as wire objects."""

from __future__ import annotations

from typing import Any

from environments.claims import UNFINISHED
from environments.models import EnvironmentVersion, RuntimeSession
from environments.queries import Listed, log_end
from proctor.wire.environments import EnvironmentOut, EnvironmentVersionOut, SessionOut, TemplateOut


def render_version(version: EnvironmentVersion, *, with_log: bool = False) -> EnvironmentVersionOut:
    templates = [TemplateOut.model_validate(template) for template in version.manifest.get("templates", [])]
    return EnvironmentVersionOut(
        id=str(version.id), number=version.number, status=version.status, source=version.source, image=version.image, image_id=version.image_id,
        templates=templates, capabilities=version.manifest.get("capabilities", []), error=version.error,
        log=log_end(version) if with_log else None, log_seq=version.log_seq, cancelling=version.cancel_requested_at is not None and version.status in UNFINISHED,
        created_at=version.created_at, ready_at=version.ready_at,
    )  # fmt: skip


def render_environment(listed: Listed) -> dict[str, Any]:
    environment = listed.environment
    return EnvironmentOut(
        id=str(environment.id), name=environment.name, title=environment.title, kind=environment.kind,
        latest=render_version(listed.latest) if listed.latest else None, ready=render_version(listed.ready) if listed.ready else None,
        created_at=environment.created_at, version_count=listed.version_count,
    ).model_dump(mode="json")  # fmt: skip


def render_session(session: RuntimeSession) -> SessionOut:
    return SessionOut(
        id=str(session.id), state=session.state, version=session.version.number, run_id=str(session.run_wire_id) if session.run_wire_id else None,
        created_by=session.created_by, created_at=session.created_at, opened_at=session.opened_at, last_used_at=session.last_used_at,
        expires_at=session.expires_at, ended_at=session.ended_at, error=session.error,
    )  # fmt: skip
