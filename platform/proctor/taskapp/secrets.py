"""Secrets inside a policy's config: taken out before anything is stored or shown, put back when the app is called.

A secret is a text under a name that says so (`api_key`, `…_token`, `authorization`, anything under `headers`), however deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MASK = "[secret]"
_NAMES = re.compile(r"(?i)^(.*[_-])?(api[_-]?key|key|token|secret|password|authorization|credentials?)$")
Path = tuple[str, ...]


def take_out(config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The config with a mask in place of each secret, and the secrets by place (names joined by a NUL)."""
    found = dict(_secrets(config, ()))
    masked: dict[str, Any] = _replaced(config, (), dict.fromkeys(found, MASK))
    return masked, {"\0".join(path): text for path, text in found.items()}


def put_back(config: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
    """The config as it was."""
    whole: dict[str, Any] = _replaced(config, (), {tuple(path.split("\0")): text for path, text in secrets.items()})
    return whole


def _secrets(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        secret = _NAMES.match(str(name)) or (path and path[-1].lower().endswith("headers"))
        if secret and isinstance(inner, str) and inner and inner != MASK:
            yield (*path, str(name)), inner
        yield from _secrets(inner, (*path, str(name)))


def _replaced(value: Any, path: Path, by: Mapping[Path, str]) -> Any:
    if path in by:
        return by[path]
    if isinstance(value, Mapping):
        return {name: _replaced(inner, (*path, str(name)), by) for name, inner in value.items()}
    return value
