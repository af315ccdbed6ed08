"""Slows down guessing of passwords: ten misses of one e-mail or address in five minutes, then 429 until they age out.

Kept per process (misses are few and a restart is harmless); no row is written for a stranger's guess.
"""

from __future__ import annotations

import time
from collections import deque

from web.errors import AppError

WINDOW_S, ALLOWED, KEPT = 300.0, 10, 10_000
_misses: dict[str, deque[float]] = {}


def check(*names: str) -> None:
    """Raises AppError 429 with Retry-After."""
    now = time.monotonic()
    for name in names:
        misses = _misses.get(name, deque())
        while misses and misses[0] < now - WINDOW_S:
            misses.popleft()
        if len(misses) >= ALLOWED:
            wait = int(misses[0] + WINDOW_S - now) + 1
            raise AppError("too_many_attempts", 429, f"Too many attempts; try again in {wait} s", headers={"Retry-After": str(wait)}, retry_after_s=wait)


def miss(*names: str) -> None:
    if len(_misses) > KEPT:
        _misses.clear()
    for name in names:
        _misses.setdefault(name, deque()).append(time.monotonic())


def forget(*names: str) -> None:
    for name in names:
        _misses.pop(name, None)
