"""Which pattern serves a model name. Pure: `*` stands for any text, everything else for itself, case counts.

The exact name wins over a pattern, a longer pattern over a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def matches(pattern: str, model: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), model, re.DOTALL) is not None


def best(patterns: Iterable[str], model: str) -> str | None:
    """The pattern that serves the model, None when there is none."""
    found = [pattern for pattern in patterns if pattern == model or matches(pattern, model)]
    return max(found, key=lambda pattern: (pattern == model, len(pattern), pattern), default=None)
