"""Handles: how a free name becomes one, and which names are refused. Pure, but for the error type.

The rule is HUD's (contracts: trim, lower-case, space and `_` to `-`, drop the rest, squeeze and trim `-`) plus our own refusals.
"""

from __future__ import annotations

import re
import uuid

from web.errors import AppError, invalid, problem

FORBIDDEN = re.compile(r"[@:/\\%\x00-\x1f\x7f-\x9f]")
RULE = "must hold a letter a-z or a digit, must not look like a UUID, and must hold none of @ : / \\ % or control characters"


def normalise(name: str) -> str:
    """`  My_Set 2 ` → `my-set-2`; may be empty."""
    text = re.sub(r"[\s_]+", "-", name.strip().lower())
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9-]", "", text)).strip("-")


def handle_for(name: str, field: str = "name") -> str:
    """The handle of a new object. Raises AppError 422 with the rule."""
    handle = normalise(name)
    if not handle or len(handle) > 100 or len(name) > 255 or FORBIDDEN.search(name) or _like_uuid(name) or _like_uuid(handle):
        raise invalid([problem(field, RULE, name)])
    return handle


def _like_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def taken(what: str, handle: str) -> AppError:
    return AppError("name_taken", 409, f"There is a {what} named {handle} already", name=handle)
