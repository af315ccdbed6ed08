"""The one `audit()` call: in an action, inside its transaction, without secrets."""

from __future__ import annotations

from typing import Any

from accounts.callers import Caller
from accounts.models import AuditEvent


def audit(caller: Caller, verb: str, object_kind: str, object_id: object, **facts: Any) -> None:
    AuditEvent.objects.create(team_id=caller.team_id, actor=caller.label, verb=verb, object_kind=object_kind, object_id=str(object_id), facts=facts)
