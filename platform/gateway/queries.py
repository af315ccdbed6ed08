"""Every read about model endpoints. `Route` alone carries the secrets, decrypted, and never shows them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from accounts.callers import Caller
from gateway.models import ModelEndpoint
from gateway.patterns import best
from web.crypto import decrypt, decrypt_map
from web.errors import AppError, not_found


@dataclass(frozen=True)
class Route:
    """Where a model is served. `may_lead_inside`: made by an instance admin, so private addresses are allowed; for others
    call `gateway.addresses.refuse_private(route.base_url)` before use."""

    endpoint_id: uuid.UUID
    model: str
    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    may_lead_inside: bool


def resolve_model(team_id: uuid.UUID, model: str) -> Route | None:
    """The team's endpoint for a model name: the exact name wins over a pattern, a longer pattern over a shorter one."""
    pattern = best(find_patterns(team_id), model)
    endpoint = ModelEndpoint.objects.filter(team_id=team_id, pattern=pattern).first() if pattern is not None else None
    return _route(endpoint, model) if endpoint else None


def route_by_id(endpoint_id: uuid.UUID, model: str) -> Route | None:
    """The route that a run was given at submit, None when its endpoint was deleted since."""
    endpoint = ModelEndpoint.objects.filter(id=endpoint_id).first()
    return _route(endpoint, model) if endpoint else None


def _route(endpoint: ModelEndpoint, model: str) -> Route:
    key = decrypt(endpoint.api_key_encrypted) if endpoint.api_key_encrypted else ""
    return Route(endpoint.id, model, endpoint.base_url, key, decrypt_map(endpoint.headers_encrypted), endpoint.by_instance_admin)


def find_patterns(team_id: uuid.UUID) -> list[str]:
    return list(ModelEndpoint.objects.filter(team_id=team_id).order_by("pattern").values_list("pattern", flat=True))


def unserved(team_id: uuid.UUID, model: str) -> str:
    """The sentence for a model that no endpoint serves: its name, and the patterns there are."""
    patterns = find_patterns(team_id)
    there = f"there are: {', '.join(patterns[:50])}" if patterns else "the team has no model endpoints yet"
    return f"No model endpoint serves {model[:200]!r}; {there}"


def no_such_model(team_id: uuid.UUID, model: str) -> AppError:
    return AppError("model_not_found", 404, unserved(team_id, model), model=model[:200], patterns=find_patterns(team_id)[:50])


def find_endpoints(caller: Caller) -> QuerySet[ModelEndpoint]:
    return ModelEndpoint.objects.filter(team_id=caller.team_id).order_by("pattern")


def get_endpoint(caller: Caller, endpoint_id: uuid.UUID) -> ModelEndpoint:
    """Raises AppError 404 for another team's."""
    endpoint = find_endpoints(caller).filter(id=endpoint_id).first()
    if endpoint is None:
        raise not_found("Model endpoint")
    return endpoint
