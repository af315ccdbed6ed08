"""HUD's registry of environments (contracts: 2.6)."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts.callers import Caller
from accounts.http import endpoint
from accounts.names import normalise
from environments import queries
from environments.models import Environment
from web.ids import known_uuid
from web.pages import offset, page_size


@endpoint("GET", scope="read")
def list_registry(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    found, start = queries.find_environments(caller, normalise(request.GET.get("search", ""))), offset(request)
    if request.GET.get("sort_by") == "date":
        found = found.order_by("-created_at", "name")
    return {"items": [_render(row) for row in found[start : start + page_size(request)]], "total": found.count()}


@endpoint("GET", scope="read")
def get_registry(request: HttpRequest, caller: Caller, registry_id: str) -> dict[str, Any]:
    return _render(queries.get_environment(caller, str(known_uuid(registry_id, "Environment"))))


def _render(environment: Environment) -> dict[str, Any]:
    return {
        "id": str(environment.id),
        "name": environment.name,
        "title": environment.title,
        "created_at": environment.created_at.isoformat(),
    }
