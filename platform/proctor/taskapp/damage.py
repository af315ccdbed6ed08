"""What Task Apps lose when they write JSON, and how it is taken in: tolerated, marked with its place, never guessed.

Seen from real servers: `"<circular type=dict>"` where an object stood, Python's `datetime.datetime(…)` where a time stood, NaN and
infinities. `read_json` gives values that any database takes, and the list of what was not as it should be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

MAX_DEPTH = 64
_LOST = re.compile(r"<(?:circular|ndarray|bytes|max_depth)\b[^<>]{0,200}>")
_BROKEN = re.compile("[\0\ud800-\udfff]")
_DATETIME = re.compile(r"datetime\.datetime\((\d{1,4}(?:, \d{1,6}){2,6})(?:, tzinfo=(datetime\.timezone\.utc|None))?\)")


class NotJson(ValueError):
    """The text is no JSON value, or nested too deep to be one of a rollout."""


@dataclass(frozen=True)
class Mark:
    """One place. `lost`: the peer wrote a placeholder (now null). `datetime`: a Python repr (now ISO 8601). `not_finite`: NaN or an
    infinity (now null). `not_text`: half a surrogate pair or a NUL, which no database takes (now U+FFFD)."""

    path: str
    kind: Literal["lost", "datetime", "not_finite", "not_text"]
    text: str


class _NotFinite:
    def __init__(self, text: str) -> None:
        self.text = text


def read_json(body: str | bytes) -> tuple[Any, list[Mark]]:
    """The value, mended, and every mark in document order. Raises NotJson."""
    try:
        value = json.loads(body, parse_constant=_NotFinite)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"no JSON: {str(error)[:200]}") from None
    marks: list[Mark] = []
    return _mend(value, "", marks.append, 0), marks


def mend(value: Any) -> tuple[Any, list[Mark]]:
    """The same for a value that was read already."""
    marks: list[Mark] = []
    return _mend(value, "", marks.append, 0), marks


def _mend(value: Any, path: str, mark: Callable[[Mark], None], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotJson(f"nested deeper than {MAX_DEPTH} levels at {path}")
    if isinstance(value, dict):
        return {clean(key): _mend(inner, f"{path}.{clean(key)}" if path else clean(key), mark, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mend(inner, f"{path}[{index}]", mark, depth + 1) for index, inner in enumerate(value)]
    if isinstance(value, str):
        return _text(value, path, mark)
    if isinstance(value, _NotFinite) or (isinstance(value, float) and value - value != 0):
        mark(Mark(path, "not_finite", value.text if isinstance(value, _NotFinite) else str(value)))
        return None
    return value


def _text(value: str, path: str, mark: Callable[[Mark], None]) -> str | None:
    if value.startswith("<") and _LOST.fullmatch(value):
        mark(Mark(path, "lost", value))
        return None
    if value.startswith("datetime.") and (time := parse_datetime(value)) is not None:
        mark(Mark(path, "datetime", value))
        return time
    text = clean(value)
    if text != value:
        mark(Mark(path, "not_text", text))
    return text


def clean(text: str) -> str:
    """The text with U+FFFD for each NUL and each half of a surrogate pair."""
    return _BROKEN.sub("\ufffd", text)


def parse_datetime(text: str) -> str | None:
    """ISO 8601 of a `datetime.datetime(…)` literal, read by its pattern and never evaluated. Without a zone, and with UTC, it is UTC;
    None for everything else."""
    found = _DATETIME.fullmatch(text)
    if found is None:
        return None
    try:
        return datetime(*map(int, found[1].split(", ")), tzinfo=UTC).isoformat()  # type: ignore[arg-type, misc]
    except ValueError:
        return None


def lost_paths(marks: list[Mark]) -> list[str]:
    return [mark.path for mark in marks if mark.kind == "lost"]


def items(value: Any) -> list[Any]:
    """A list as it is; everything else that stands where a list should, as none."""
    return value if isinstance(value, list) else []
