"""HUD's imports and data files (contracts: 2.8), over the same uploads and imports as the native API."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from pydantic import Field

from accounts.callers import Caller
from accounts.http import endpoint
from accounts.queries import public_url
from proctor.wire.base import WireIn, WireOut
from tasksets import queries
from tasksets.imports import actions, harbor, sessions
from tasksets.imports.models import Import, Upload
from web.bodies import parse_body
from web.crypto import sign, unsign
from web.errors import AppError, conflict, invalid, not_found, problem, too_large
from web.ids import known_uuid
from web.pages import offset, page_size

SIGNED = "hud-upload"
STATUS = {
    "ready": "queued",
    "new": "queued",
    "checking": "running",
    "checked": "running",
    "committing": "running",
    "done": "completed",
    "cancelled": "cancelled",
}


class ReservationIn(WireOut):
    format: str
    filename: str = Field(min_length=1, max_length=255)
    size_bytes: int = Field(ge=0)
    content_type: str = ""


class StartIn(WireIn):
    format: str
    file_id: str
    taskset_id: str


@endpoint("GET", scope="read")
def formats(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    about = "Task folders with task.toml, instruction.md, environment/ and tests/; job folders are left out"
    limit = settings.PROCTOR_LIMITS["upload_bytes"]
    return {"formats": [{"format": harbor.FORMAT, "title": "Harbor", "description": about, "max_input_bytes": limit}]}


@endpoint("POST", scope="write")
def reserve(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse_body(request, ReservationIn)
    _check_format(given.format)
    if given.size_bytes > settings.PROCTOR_LIMITS["upload_bytes"]:
        raise too_large("upload_bytes")
    made = sessions.begin_upload(caller, filename=given.filename, size_bytes=given.size_bytes)
    token = sign(SIGNED, str(made.id))
    return {
        "file": {"id": str(made.id), "filename": made.filename, "size_bytes": made.size_bytes},
        "upload_url": f"{_origin(request)}{reverse('hud-data', args=[token])}",
    }


def _origin(request: HttpRequest) -> str:
    """Where the client reached us, else the configured address."""
    host = request.META.get("HTTP_HOST")
    return f"{request.scheme}://{host}" if host else public_url()


def _check_format(name: str) -> None:
    if name != harbor.FORMAT:
        raise invalid([problem("format", f"must be {harbor.FORMAT}", name)])


@csrf_exempt
def put_data(request: HttpRequest, token: str) -> HttpResponse:
    """The address is the permission, as with a presigned one; the client sends no key. Sync, so a large body has a thread of its own."""
    if request.method != "PUT":
        raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": "PUT"})
    upload = _signed(token)
    announced = request.META.get("CONTENT_LENGTH") or ""
    caller = Caller(upload.team_id, None, upload.created_by or "", frozenset({"write"}))
    length = int(announced) if announced.isdigit() else None
    sessions.receive(caller, upload, request, offset=0, announced=length)  # type: ignore[arg-type]
    return HttpResponse(status=200)


def _signed(token: str) -> Upload:
    upload_id = unsign(SIGNED, token, max_age_s=int(sessions.LIFE.total_seconds()))
    upload = Upload.objects.filter(id=upload_id).first() if isinstance(upload_id, str) else None
    if upload is None:
        raise not_found("Upload")
    return upload


@endpoint("POST", scope="write")
def complete(request: HttpRequest, caller: Caller, file_id: str) -> dict[str, Any]:
    upload = sessions.get_upload(caller, file_id)
    if upload.received_bytes != upload.size_bytes:
        raise conflict(f"{upload.received_bytes:,} of {upload.size_bytes:,} bytes are here", received_bytes=upload.received_bytes)
    return {"id": str(upload.id), "status": "ready"}


@endpoint("DELETE", scope="write")
def delete(request: HttpRequest, caller: Caller, file_id: str) -> HttpResponse:
    sessions.drop_upload(sessions.get_upload(caller, file_id))
    return HttpResponse(status=204)


@endpoint("POST", scope="write")
def start(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse_body(request, StartIn)
    _check_format(given.format)
    upload = sessions.get_upload(caller, given.file_id)
    taskset = queries.find_taskset(caller, known_uuid(given.taskset_id, "Taskset"))
    if taskset is None:
        raise not_found("Taskset")
    return _record(harbor.start(caller, upload=upload, taskset=taskset))


@endpoint("GET", scope="read")
def list_imports(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    found = Import.objects.filter(team_id=caller.team_id, auto=True).order_by("-created_at", "-id")
    if request.GET.get("format") not in (None, "", harbor.FORMAT):
        found = found.none()
    if request.GET.get("taskset_id"):
        found = found.filter(taskset_id=known_uuid(request.GET["taskset_id"], "Taskset"))
    at = offset(request)
    return {"imports": [_record(row) for row in found[at : at + page_size(request, 50)]], "total": found.count()}


@endpoint("GET", scope="read")
def get_import(request: HttpRequest, caller: Caller, import_id: str) -> dict[str, Any]:
    return _record(_find(caller, import_id))


@endpoint("POST", scope="write")
def cancel(request: HttpRequest, caller: Caller, import_id: str) -> dict[str, Any]:
    found = _find(caller, import_id)
    return _record(found if found.status in ("done", "failed", "cancelled", "committing") else actions.cancel_import(caller, found))


@endpoint("GET", scope="read")
def report(request: HttpRequest, caller: Caller, import_id: str) -> dict[str, Any]:
    found = _find(caller, import_id)
    if found.report is None or found.status not in ("done", "failed"):
        raise not_found("Report")
    return {name: value for name, value in found.report.items() if name != "summary"}


def _find(caller: Caller, import_id: str) -> Import:
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    if not found.auto:
        raise not_found("Import")
    return found


def _record(found: Import) -> dict[str, Any]:
    result = found.result or {}
    status = ("stopped" if found.report else "failed") if found.status == "failed" else STATUS[found.status]
    waiting = found.status == "checking" and found.claimed_by is None
    return {
        "id": str(found.id), "format": harbor.FORMAT, "taskset_id": str(found.taskset_id), "status": "queued" if waiting else status,
        "file": {"id": str(found.upload_id or found.id), "filename": found.filename, "size_bytes": found.size_bytes},
        "summary": (found.report or {}).get("summary"), "error": found.error,
        "metrics": {name: float(result[name]) for name in ("created", "updated", "unchanged") if name in result} or None,
        "created_at": found.created_at.isoformat(), "completed_at": found.ended_at.isoformat() if found.ended_at else None,
    }  # fmt: skip
