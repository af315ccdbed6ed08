"""Model endpoints as wire objects; secrets stay behind."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from gateway.models import ModelEndpoint
from proctor.wire.models import ModelEndpointOut


def render_endpoint(endpoint: ModelEndpoint) -> dict[str, Any]:
    return ModelEndpointOut(
        id=str(endpoint.id), pattern=endpoint.pattern, base_url=endpoint.base_url, has_key=bool(endpoint.api_key_encrypted),
        header_names=endpoint.header_names, created_at=endpoint.created_at, created_by=endpoint.created_by,
    ).model_dump(mode="json")  # fmt: skip


def render_model(endpoint: ModelEndpoint) -> dict[str, Any]:
    """As HUD's catalogue lists it (contracts: 2.9)."""
    return {
        "id": str(endpoint.id), "name": endpoint.pattern, "model_name": endpoint.pattern, "sdk_agent_type": "openai_compatible", "is_trainable": False,
        "provider": {"name": urlsplit(endpoint.base_url).hostname or ""}, "created_at": endpoint.created_at.isoformat(),
    }  # fmt: skip
