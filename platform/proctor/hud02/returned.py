"""What a controller's functions return, as it is shown: observations as MCP blocks, addresses that lead to the web. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit


def observation_of(returned: Any) -> Mapping[str, Any] | None:
    """Of what `step` returned; None when there is none."""
    found = returned.get("observation") if isinstance(returned, Mapping) else None
    return found if isinstance(found, Mapping) else None


def blocks_of(observation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`{text?, screenshot?}` (base64 PNG) as MCP blocks."""
    text, shot = observation.get("text"), observation.get("screenshot")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    return blocks + ([{"type": "image", "data": shot, "mimeType": "image/png"}] if isinstance(shot, str) and shot else [])


def web_urls(returned: Any) -> dict[str, str]:
    """Of `get_urls`: `url` and `live_url` where they are http; `javascript:` and the like are left out."""
    told = returned if isinstance(returned, Mapping) else {}
    return {name: url for name in ("url", "live_url") if isinstance(url := told.get(name), str) and urlsplit(url).scheme in ("http", "https")}
