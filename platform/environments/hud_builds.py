"""HUD's deploy (contracts: 2.7): a place for the context, the context itself, the order, and how the build stands. A build is a version."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt

from accounts.callers import Caller
from accounts.http import endpoint
from accounts.queries import public_url
from environments import deploy, queries
from environments.models import EnvironmentVersion
from proctor.wire.environments import DeployIn, UploadedContext
from web.bodies import parse_body
from web.crypto import sign, unsign
from web.errors import AppError, not_found
from web.ids import known_uuid

SIGNED = "build-context"
STATUS = {"ready": "SUCCEEDED", "failed": "FAILED", "cancelled": "CANCELLED"}
"""Ours → HUD's; what is under way is IN_PROGRESS, or CANCELLING."""


@endpoint("POST", scope="write")
def reserve(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    build_id = str(deploy.reserve(caller).id)
    address = reverse("hud-build-context", args=[sign(SIGNED, build_id)])
    return UploadedContext(build_id=build_id, upload_url=f"{_origin(request)}{address}").model_dump()


def _origin(request: HttpRequest) -> str:
    """Where the client reached us, else the configured address."""
    host = request.META.get("HTTP_HOST")
    return f"{request.scheme}://{host}" if host else public_url()


@csrf_exempt
def put_context(request: HttpRequest, token: str) -> HttpResponse:
    """The address is the permission; the client sends no key. Sync, so that a large body has a thread of its own."""
    if request.method != "PUT":
        raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": "PUT"})
    build_id = unsign(SIGNED, token, max_age_s=int(deploy.LIFE.total_seconds()))
    if not isinstance(build_id, str):
        raise not_found("Build context")
    announced = request.META.get("CONTENT_LENGTH") or ""
    deploy.receive(known_uuid(build_id, "Build"), request, int(announced) if announced.isdigit() else None)  # type: ignore[arg-type]
    return HttpResponse(status=200)


@endpoint("POST", scope="write")
def trigger(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    version = deploy.order(caller, parse_body(request, DeployIn))
    return {"id": str(version.id), "registry_id": str(version.environment_id)}


@endpoint("GET", scope="read")
def status(request: HttpRequest, caller: Caller, build_id: str) -> dict[str, Any]:
    return render_status(queries.get_build(caller, build_id))


@endpoint("POST", scope="write")
def cancel(request: HttpRequest, caller: Caller, build_id: str) -> dict[str, Any]:
    return render_status(deploy.cancel(caller, queries.get_build(caller, build_id)))


def status_word(version: EnvironmentVersion) -> str:
    return STATUS.get(version.status, "CANCELLING" if version.cancel_requested_at else "IN_PROGRESS")


def render_status(version: EnvironmentVersion) -> dict[str, Any]:
    found: dict[str, Any] = {"id": str(version.id), "registry_id": str(version.environment_id), "status": status_word(version), "version": str(version.number)}
    if version.image_id:
        found["uri"] = f"{version.image}@{version.image_id}"
    if version.error:
        found["error_message"] = version.error
    if version.status == "ready":
        templates, capabilities = version.manifest.get("templates", []), version.manifest.get("capabilities", [])
        found["manifest"] = {"tasks": templates, "capabilities": [{"name": name} for name in capabilities]}
    return found
