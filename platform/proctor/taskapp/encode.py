"""Values as JSON, for apps' replies: exact about what it cannot say.

Shared objects are written twice and only a true cycle is refused; times become ISO 8601 in UTC, bytes base64; two keys that would read
the same, NaN and unknown types are errors with their place.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel


class CannotEncode(ValueError):
    """What cannot be written, and where."""


def to_json(value: Any) -> bytes:
    """UTF-8 JSON text. Raises CannotEncode."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False).encode()


def plain(value: Any, path: str = "$", above: tuple[int, ...] = ()) -> Any:
    """The value of dicts, lists and scalars alone."""
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CannotEncode(f"{path} is {value}, which JSON cannot say")
        return value
    if id(value) in above:
        raise CannotEncode(f"{path} contains itself")
    return _compound(value, path, (*above, id(value)))


def _compound(value: Any, path: str, above: tuple[int, ...]) -> Any:
    if isinstance(value, BaseModel):
        return plain(value.model_dump(), path, above)
    if isinstance(value, Mapping):
        return _object(value, path, above)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, f"{path}[{number}]", above) for number, item in enumerate(value)]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Enum):
        return plain(value.value, path, above)
    raise CannotEncode(f"{path} is a {type(value).__name__}, which JSON cannot say")


def _object(value: Mapping[Any, Any], path: str, above: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = key if isinstance(key, str) else str(key)
        if name in found:
            raise CannotEncode(f"{path} has two keys that read {name!r}")
        found[name] = plain(inner, f"{path}.{name}", above)
    return found
