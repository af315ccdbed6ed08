"""HUD's runtime sessions over HTTP (contracts: 2.11): open, look, keep, close. The tunnels are in `tunnels`."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from pydantic import Field

from accounts.callers import Caller
from accounts.http import endpoint
from environments.models import RuntimeSession
from environments.render import render_session
from environments.sessions import actions
from proctor.wire.base import WireOut
from web.bodies import parse_body
from web.errors import conflict
from web.ids import parse_uuid


class SessionIn(WireOut):
    """As the SDK sends it. `trace_id`: the run that the client reports; text that is no UUID says nothing."""

    environment: str = Field(min_length=1, max_length=255)
    trace_id: str | None = None


@endpoint("POST", scope="run")
def open_session(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse_body(request, SessionIn)
    run_id = parse_uuid(given.trace_id) if given.trace_id else None
    return _body(actions.open_session(caller, environment=given.environment, run_wire_id=run_id))


@endpoint("GET", scope="read")
def get_session(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    return _body(actions.get_session(caller, session_id))


@endpoint("POST", scope="run")
def keep_alive(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    session = actions.get_session(caller, session_id)
    if not actions.touch(session.id):
        raise conflict("This session has ended")
    return _body(actions.get_session(caller, session_id))


@endpoint("DELETE", scope="run")
def close_session(request: HttpRequest, caller: Caller, session_id: str) -> HttpResponse:
    actions.close_session(caller, actions.get_session(caller, session_id))
    return HttpResponse(status=204)


def _body(session: RuntimeSession) -> dict[str, Any]:
    return render_session(session).model_dump(mode="json")
