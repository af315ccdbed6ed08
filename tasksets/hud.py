"""HUD's shapes for tasksets (contracts: 2.1): by name, record, export, create, upload."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import caller_of
from accounts.callers import Caller
from accounts.http import endpoint, render
from proctor.wire.base import WireOut
from tasksets import actions, queries
from tasksets.models import Taskset
from tasksets.queries import Pinned
from tasksets.serving import export_view
from web.bodies import parse_body, read_body
from web.errors import AppError, not_found
from web.ids import known_uuid


class TasksetIn(WireOut):
    name: str
    project_id: str | None = None


@endpoint("GET", scope="read")
def by_name(request: HttpRequest, caller: Caller, name: str) -> dict[str, Any]:
    """A pinned reference gives the version's own id, which the record and the export know."""
    found = queries.resolve_reference(caller, name)
    pinned_id = found.version.id if found.pinned and found.version else found.taskset.id
    return {"taskset_id": str(pinned_id), "name": found.taskset.name}


@endpoint("GET", scope="read")
def get_taskset(request: HttpRequest, caller: Caller, ref: str) -> dict[str, Any]:
    found = _find(caller, ref)
    if found.pinned and found.version:
        return {"id": str(found.version.id), "name": found.taskset.name, "project_id": str(found.taskset.project_id), "can_edit": False}
    return _record(found.taskset, caller)


@endpoint("POST", scope="write")
def create_taskset(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse_body(request, TasksetIn)
    project_id = known_uuid(given.project_id, "Project") if given.project_id else None
    return _record(actions.create_taskset(caller, name=given.name, project_id=project_id), caller)


@csrf_exempt
def upload(request: HttpRequest) -> HttpResponseBase:
    """Sync on purpose: parsing a large body takes a thread of this request's own, not one of the few that others wait for."""
    if request.method != "POST":
        raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": "POST"})
    caller = caller_of(request)
    caller.require("write")
    done = actions.upload(caller, body=read_body(request, "upload_bytes"))
    return render(
        {
            "taskset_id": str(done.taskset.id),
            "taskset_name": done.taskset.name,
            "tasks_created": done.created,
            "tasks_updated": done.updated,
            "version": done.version.number if done.version else None,
            "digest": done.version.digest if done.version else None,
        }
    )


def _find(caller: Caller, ref: str) -> Pinned:
    found = queries.find_pinned(caller, known_uuid(ref, "Taskset"))
    if found is None:
        raise not_found("Taskset")
    return found


def _record(taskset: Taskset, caller: Caller) -> dict[str, Any]:
    can_edit = "write" in caller.scopes and taskset.archived_at is None
    return {"id": str(taskset.id), "name": taskset.name, "project_id": str(taskset.project_id), "can_edit": can_edit}


export = export_view(_find)
