"""Ids on the wire: dashed or hex in, one UUID stored, dashed out. Text that is no UUID maps to a UUIDv5 (design.md, Data: Ids)."""

from __future__ import annotations

import uuid

from web.errors import not_found


def parse_uuid(text: str) -> uuid.UUID | None:
    """The UUID of a dashed or 32-digit hex spelling, else None (braces and `urn:` are not ids of ours)."""
    if len(text) not in (32, 36):
        return None
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def known_uuid(text: str, what: str) -> uuid.UUID:
    """Raises AppError 404: what is no id names nothing."""
    found = parse_uuid(text)
    if found is None:
        raise not_found(what)
    return found


def wire_uuid(text: str) -> uuid.UUID:
    """The id a client's own text stands for."""
    return parse_uuid(text) or uuid.uuid5(uuid.NAMESPACE_URL, f"hud.task_run:{text}")
