"""HUD's shapes for identity and projects (contracts: 1.2 and 2.2)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts import actions, queries
from accounts.callers import Caller
from accounts.http import endpoint
from accounts.models import Project
from accounts.names import normalise
from proctor.wire.base import WireOut
from web.bodies import parse_body
from web.errors import unauthorized
from web.ids import known_uuid
from web.pages import offset, page_size


class ProjectIn(WireOut):
    """A new project as the HUD CLI sends it; `description` is taken into no account of ours."""

    name: str
    description: str | None = None


@endpoint("GET", scope="read")
def me(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    if caller.user_id is None:
        raise unauthorized("A run's token has no person behind it")
    return {"user_id": str(caller.user_id), "team_id": str(caller.team_id), "email": queries.get_user(caller.user_id).email}


@endpoint("GET", scope="read")
def list_projects(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    found = queries.find_projects(caller, normalise(request.GET.get("search", "")))
    start = offset(request)
    return {"items": [render(project, caller) for project in found[start : start + page_size(request)]], "total": found.count()}


@endpoint("GET", scope="read")
def get_project(request: HttpRequest, caller: Caller, project_id: str) -> dict[str, Any]:
    return render(queries.get_project(caller, known_uuid(project_id, "Project")), caller)


@endpoint("POST", scope="write")
def create_project(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    return render(actions.create_project(caller, name=parse_body(request, ProjectIn).name), caller)


def render(project: Project, caller: Caller) -> dict[str, Any]:
    return {
        "id": str(project.id), "name": project.name, "title": project.title, "is_default": project.is_default,
        "capabilities": {"create": "write" in caller.scopes, "read": True},
    }  # fmt: skip
