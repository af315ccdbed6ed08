"""What a run counts as: one pure function over what was reported, the same for hosted and outside runs.

The table stands in design.md and docs/reference/outcomes.md. Imports nothing of Django.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

CountedAs = Literal["graded", "failed", "cancelled", "pending"]


@dataclass(frozen=True)
class Count:
    """`reward` is a finite number exactly when `counted` is graded; `failure_class` is set exactly when failed."""

    counted: CountedAs
    reward: float | None = None
    failure_class: str | None = None


def count(status: str, evaluation: Mapping[str, Any] | None, reward: object = None, failure_class: str | None = None) -> Count:
    """`status` is HUD's word; `evaluation` the grade frame; `reward` what an exit sent beside it; `failure_class` what the
    engine already knows. A status that is not terminal counts as pending."""
    if status not in ("completed", "error", "cancelled"):
        return Count("pending")
    if status == "cancelled":
        return Count("cancelled")
    if evaluation is not None:
        return _of_evaluation(evaluation)
    number = finite(reward)
    if status == "completed" and number is not None:
        return Count("graded", number)
    return Count("failed", None, failure_class or ("ungraded" if status == "completed" else "reported"))


def _of_evaluation(evaluation: Mapping[str, Any]) -> Count:
    score = finite(evaluation.get("score"))
    if score is None or evaluation.get("isError") is True:
        return Count("failed", None, "grading")
    return Count("graded", score)


def evaluation_of(text: str | None) -> dict[str, Any] | None:
    """The grade frame as values; what cannot be read as an object counts as a frame without a score."""
    if text is None or text == "null":
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def finite(value: object) -> float | None:
    """The value as a finite float; None for all else (booleans are no numbers here)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Tally:
    """Runs of a job by what they count as. Promise 2: `expected` is their sum, always."""

    expected: int = 0
    graded: int = 0
    failed: int = 0
    cancelled: int = 0
    queued: int = 0
    running: int = 0

    @property
    def pending(self) -> int:
        return self.expected - self.graded - self.failed - self.cancelled


def job_state(tally: Tally, *, cancel_requested: bool, started: bool) -> str:
    """A job's state is derived, never stored: queued, running, cancelled or completed."""
    if tally.pending:
        return "running" if started or tally.running or tally.queued < tally.expected else "queued"
    if cancel_requested and tally.cancelled:
        return "cancelled"
    return "completed" if tally.expected else "queued"
