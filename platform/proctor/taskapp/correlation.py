"""Correlation ids: found in a policy's config or in an inference URL's query, at any place in it; echoed where trainers look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

IN_CONFIG = ("trace_correlation_id", "trace")
IN_QUERY = ("cid", "trace_correlation_id", "trace")


def correlation_id(config: Mapping[str, Any], inference_url: str | None = None) -> str | None:
    """The config's id before the URL's; the URL is `config["inference_url"]` unless given."""
    for name in IN_CONFIG:
        if isinstance(config.get(name), str) and config[name]:
            return str(config[name])
    url = inference_url if inference_url is not None else config.get("inference_url")
    return id_in_url(url) if isinstance(url, str) else None


def id_in_url(url: str) -> str | None:
    try:
        query = parse_qs(urlsplit(url).query)
    except ValueError:
        return None
    return next((query[name][0] for name in IN_QUERY if query.get(name)), None)


def with_id(url: str, cid: str) -> str:
    """The URL with `cid` in its query, percent-encoded, in place of none; one that has an id is left as it is."""
    if id_in_url(url) is not None:
        return url
    address, hash_, fragment = url.partition("#")
    return f"{address}{'&' if '?' in address else '?'}cid={quote(cid, safe='')}{hash_}{fragment}"


def echo(response: dict[str, Any], cid: str) -> dict[str, Any]:
    """The response with the id in all three places: top level, pipeline metadata, each trajectory. Changes it and gives it back."""
    response["trace_correlation_id"] = cid
    response.setdefault("pipeline_metadata", {})["trace_correlation_id"] = cid
    for trajectory in response.get("trajectories") or []:
        trajectory["trace_correlation_id"] = cid
    return response


def echo_problems(response: Mapping[str, Any], cid: str) -> list[str]:
    """Where a peer does not echo the id that it was given; trajectories count only when they carry one at all."""
    metadata = response.get("pipeline_metadata")
    found = {"trace_correlation_id": response.get("trace_correlation_id")}
    found["pipeline_metadata.trace_correlation_id"] = metadata.get("trace_correlation_id") if isinstance(metadata, Mapping) else None
    wrong = [place for place, value in found.items() if value not in (None, cid)]
    return wrong if any(value == cid for value in found.values()) else [*wrong, "no place"]
