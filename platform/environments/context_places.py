"""Where a client puts a build context: an address that is the permission, signed for one reservation. HUD's present and its 0.2.x routes use it."""

from __future__ import annotations

import uuid

from django.http import HttpRequest
from django.urls import reverse

from accounts.queries import public_url
from environments import deploy
from web.crypto import sign, unsign
from web.errors import AppError, not_found
from web.ids import known_uuid


def address_of(request: HttpRequest, route: str, build_id: uuid.UUID) -> str:
    """At the host where the client reached us, else at the configured one. `route`: the name of the one that takes it."""
    host = request.META.get("HTTP_HOST")
    origin = f"{request.scheme}://{host}" if host else public_url()
    return f"{origin}{reverse(route, args=[sign(route, str(build_id))])}"


def build_of(request: HttpRequest, route: str, token: str) -> uuid.UUID:
    """Whose context this PUT brings. Raises AppError 405, 404."""
    if request.method != "PUT":
        raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": "PUT"})
    build_id = unsign(route, token, max_age_s=int(deploy.LIFE.total_seconds()))
    if not isinstance(build_id, str):
        raise not_found("Build context")
    return known_uuid(build_id, "Build")
