"""The error envelope, both ways: what our apps answer, and what others' answers mean.

Written: `{"error": {"code", "message", "details"}}`, extras nested so that none can overwrite the code. Read: that, the same inside
`detail` (as FastAPI wraps it), a 422's list of problems, and plain text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.taskapp.damage import clean

SHOWN = 500
AUTH_CODES = frozenset({"unauthorised", "unauthorized"})


class TaskAppError(Exception):
    """Raised in an app of ours: answered with this status and envelope."""

    def __init__(self, status: int, code: str, message: str, *, headers: dict[str, str] | None = None, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details, self.headers = status, code, message, details, headers or {}


def error_payload(code: str, message: str, /, **details: Any) -> dict[str, Any]:
    """The body of an error."""
    return {"error": {"code": code, "message": message, "details": details}}


@dataclass(frozen=True)
class PeerError:
    """An error as a peer told it. `auth`: it refused the key (401, 403, or the package's 400 with `unauthorised`)."""

    status: int
    code: str | None
    message: str
    auth: bool

    def __str__(self) -> str:
        return f"{self.status}{f' {self.code}' if self.code else ''}: {self.message}"


def read_error(status: int, body: bytes) -> PeerError:
    """What a reply that is no success says; at most 500 characters of it."""
    code, message = _said(body)
    return PeerError(status, code and clean(code), clean(message[:SHOWN]) or "(no message)", status in (401, 403) or (status == 400 and code in AUTH_CODES))


def _said(body: bytes) -> tuple[str | None, str]:
    text = body[:65_536].decode(errors="replace").strip()
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None, text
    inner = value.get("detail", value) if isinstance(value, dict) else value
    if isinstance(inner, dict) and isinstance(inner.get("error", inner), dict):
        error = inner.get("error", inner)
        if isinstance(error.get("code"), str):
            return error["code"][:100], str(error.get("message") or "")
    if isinstance(inner, list):
        return "invalid", "; ".join(_problem(item) for item in inner[:3])
    return None, inner if isinstance(inner, str) else text


def _problem(item: Any) -> str:
    """One finding of FastAPI's; its echo of the input is left out."""
    if not isinstance(item, dict):
        return str(item)
    place = item.get("loc")
    where = ".".join(str(part) for part in place) if isinstance(place, list) else ""
    return f"{where}: {item.get('msg')}"


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text with every secret of four characters and more taken out, also as JSON would escape it."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[redacted]").replace(json.dumps(secret)[1:-1], "[redacted]")
    return text
