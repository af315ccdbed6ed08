"""HUD's deploy (contracts: 2.7): a place for the context, the context itself, the order, and how the build stands. A build is a version."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.callers import Caller
from accounts.http import endpoint
from environments import deploy, queries
from environments.context_places import address_of, build_of
from environments.models import EnvironmentVersion
from proctor.wire.environments import DeployIn, UploadedContext
from web.bodies import parse_body

PLACE = "hud-build-context"
STATUS = {"ready": "SUCCEEDED", "failed": "FAILED", "cancelled": "CANCELLED"}
"""Ours → HUD's; what is under way is IN_PROGRESS, or CANCELLING."""


@endpoint("POST", scope="write")
def reserve(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    build_id = deploy.reserve(caller).id
    return UploadedContext(build_id=str(build_id), upload_url=address_of(request, PLACE, build_id)).model_dump()


@csrf_exempt
def put_context(request: HttpRequest, token: str) -> HttpResponse:
    """The client sends no key. Sync, so that a large body has a thread of its own."""
    build_id, announced = build_of(request, PLACE, token), request.META.get("CONTENT_LENGTH") or ""
    deploy.receive(build_id, request, int(announced) if announced.isdigit() else None)  # type: ignore[arg-type]
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
