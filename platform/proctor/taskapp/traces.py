"""Session traces (version 3) inside a rollout's reply, in any of their three envelopes, as a list of what happened.

Events carry no type, so it is told by their keys. `structured`: under `trace.session_trace`; `full`: `trace` itself; `compact`: an id
and metadata alone, without events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from proctor.taskapp.damage import items

Envelope = Literal["structured", "full", "compact"]
EventKind = Literal["llm", "environment", "runtime", "unknown"]


@dataclass(frozen=True)
class FoundTrace:
    """`session` is the SessionTrace (of a compact one what there is); `events` in order."""

    envelope: Envelope
    session: dict[str, Any]
    events: list[dict[str, Any]]


def find_trace(value: Any) -> FoundTrace | None:
    """The trace of a reply, told by its keys and not by what was asked; None when there is none."""
    if not isinstance(value, dict):
        return None
    inner = value.get("session_trace")
    if isinstance(inner, dict):
        return FoundTrace("structured", inner, _events(inner))
    if isinstance(value.get("event_history"), list) or isinstance(value.get("session_time_steps"), list):
        return FoundTrace("full", value, _events(value))
    return FoundTrace("compact", value, []) if "session_id" in value else None


def _events(session: dict[str, Any]) -> list[dict[str, Any]]:
    """The session's history; where that is empty, the events of its time steps."""
    history = [event for event in items(session.get("event_history")) if isinstance(event, dict)]
    return history or [event for step in items(session.get("session_time_steps")) for event in _of_step(step)]


def _of_step(step: Any) -> Iterator[dict[str, Any]]:
    events = step.get("events") if isinstance(step, dict) else None
    yield from (event for event in items(events) if isinstance(event, dict))


def event_kind(event: dict[str, Any]) -> EventKind:
    """An event without a type tag, by what only its kind has."""
    if "call_records" in event or "model_name" in event:
        return "llm"
    if "terminated" in event or "reward" in event:
        return "environment"
    return "runtime" if "actions" in event else "unknown"
