"""What can be shared. A room above registers its kinds at start (`config.apps`), so that this one knows nothing of what links show."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from accounts.callers import Caller
from proctor.wire.base import WireOut
from shares.models import Share
from web.errors import invalid, problem


@dataclass(frozen=True)
class Shareable:
    """Something of the caller's team, looked up. `pin` is empty when a link to it shows the newest state."""

    object_id: uuid.UUID
    pin: str
    reference: str
    title: str


@dataclass(frozen=True)
class Kind:
    """`find` resolves a reference for who makes a link (AppError 404, 409); `describe` is what a visitor sees first (AppError 410)."""

    name: str
    find: Callable[[Caller, str], Shareable]
    describe: Callable[[Share], WireOut]


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    _kinds[kind.name] = kind


def get_kind(name: str) -> Kind:
    """Raises AppError 422."""
    if name not in _kinds:
        raise invalid([problem("kind", f"must be one of {', '.join(sorted(_kinds))}", name)])
    return _kinds[name]
