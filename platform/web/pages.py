"""Keyset pages: the size clamped, the cursor opaque, one shape for every list."""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from web.errors import AppError, invalid, problem


def page_size(request: HttpRequest, default: int = 100) -> int:
    """`limit` between 1 and the limit, clamped, never refused; what is no number counts as absent."""
    text = request.GET.get("limit", "")
    try:
        wanted = int(text)
    except ValueError:
        return default
    return max(1, min(wanted, settings.PROCTOR_LIMITS["page_size"]))


def offset(request: HttpRequest) -> int:
    """`offset` of HUD's pagers, 0 when absent or odd."""
    text = request.GET.get("offset", "")
    return min(int(text), 10**9) if text.isdecimal() and len(text) < 12 else 0


def place(request: HttpRequest) -> int:
    """`at`, the place of the first item, 0 when absent. Raises AppError 422."""
    text = request.GET.get("at", "0")
    if not text.isdecimal() or len(text) > 10:
        raise invalid([problem("at", "must be a whole number from 0 on", text)])
    return int(text)


def read_cursor(request: HttpRequest, length: int) -> list[Any] | None:
    """The key of the last row of the page before, or None. Raises AppError 422 for a cursor that we did not make."""
    text = request.GET.get("cursor")
    if not text:
        return None
    try:
        key = json.loads(base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        key = None
    if not isinstance(key, list) or len(key) != length:
        raise bad_cursor(text)
    return key


def read_key(request: HttpRequest, *kinds: Callable[[Any], Any]) -> list[Any] | None:
    """The same with each part as the kind that it must be (`whole`, `moment`, `identity`)."""
    key = read_cursor(request, len(kinds))
    try:
        return [kind(part) for kind, part in zip(kinds, key, strict=True)] if key else None
    except ValueError:
        raise bad_cursor(request.GET["cursor"]) from None


def whole(part: Any) -> int:
    if not isinstance(part, int) or not 0 <= part < 2**31:
        raise ValueError(part)
    return part


def moment(part: Any) -> datetime:
    found = datetime.fromisoformat(str(part))
    if found.tzinfo is None or not 1970 < found.year < 9000:
        raise ValueError(part)
    return found


def identity(part: Any) -> uuid.UUID:
    return uuid.UUID(str(part))


def bad_cursor(text: str) -> AppError:
    return invalid([problem("cursor", "must be the `next_cursor` of a page before", text)])


def write_cursor(key: Sequence[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(list(key), default=str).encode()).decode().rstrip("=")


def page_body(items: Sequence[Any], next_key: Sequence[Any] | None, total: int | None = None) -> dict[str, Any]:
    return {"items": list(items), "next_cursor": write_cursor(next_key) if next_key is not None else None, "total": total}
