"""Others' rollout replies as one shape: turns, metrics told and recomputed, flags for what is not as it should be.

A trace is preferred, trajectories are the fallback; the same rollout read from either gives the same rewards and tool calls. The reply's
text is kept whole beside it. Raises BadReply for what is no rollout at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from proctor.taskapp.correlation import echo_problems
from proctor.taskapp.damage import Mark, NotJson, items, lost_paths, read_json
from proctor.taskapp.samples import read_samples
from proctor.taskapp.traces import FoundTrace, find_trace
from proctor.taskapp.turns import Turn, number_in, turns_of_trace, turns_of_trajectory

ScoreSource = Literal["mean_return", "outcome_score", "events_score"]
TOLERANCE = 1e-6


class BadReply(ValueError):
    """A 200 that is no rollout: the sentence says where."""


@dataclass(frozen=True)
class Metrics:
    """As told; None where the peer sent no finite number."""

    episode_returns: list[float] = field(default_factory=list)
    mean_return: float | None = None
    outcome_score: float | None = None
    events_score: float | None = None
    num_steps: int | None = None


@dataclass(frozen=True)
class ReadRollout:
    """`flags` are stable words: `metrics_mismatch`, `length_mismatch`, `run_id_mismatch`, `correlation_mismatch`, `lost_by_peer`,
    `not_finite`, `bad_decision_sample`. `recomputed_mean` is the mean of `episode_returns`."""

    text: str
    run_id: str
    source: Literal["trace", "trajectories", "nothing"]
    envelope: str | None
    turns: list[Turn]
    metrics: Metrics
    recomputed_mean: float | None
    aborted: bool
    ops_executed: int | None
    correlation_id: str | None
    branches: dict[str, list[str]]
    details: dict[str, Any]
    flags: list[str]
    marks: list[Mark]

    def score(self, source: ScoreSource = "mean_return") -> float | None:
        """A finite number, 0.0 included, or None: never guessed from a step. The mean is the recomputed one where there are returns."""
        if source == "mean_return":
            return self.recomputed_mean if self.recomputed_mean is not None else self.metrics.mean_return
        return self.metrics.outcome_score if source == "outcome_score" else self.metrics.events_score


def read_rollout(body: bytes, *, run_id: str | None = None, correlation_id: str | None = None) -> ReadRollout:
    """`run_id` and `correlation_id` are what was sent, to be echoed."""
    try:
        value, marks = read_json(body)
    except NotJson as error:
        raise BadReply(str(error)) from None
    if not isinstance(value, dict) or not isinstance(value.get("metrics"), dict) or not isinstance(value.get("trajectories") or [], list):
        raise BadReply("the reply is no rollout: it needs an object with `trajectories` and `metrics`")
    trajectories = [item for item in items(value.get("trajectories")) if isinstance(item, dict)]
    metrics, trace = _metrics(value["metrics"]), find_trace(value.get("trace"))
    turns, source = _turns(trace, trajectories)
    samples, bad_samples = read_samples(trajectories, turns, correlation_id)
    recomputed = math.fsum(metrics.episode_returns) / len(metrics.episode_returns) if metrics.episode_returns else None
    flags = [
        *(["metrics_mismatch"] if _differs(metrics.mean_return, recomputed) else []),
        *(["length_mismatch"] if any(_wrong_length(item) for item in trajectories) else []),
        *(["run_id_mismatch"] if run_id is not None and value.get("run_id") != run_id else []),
        *(["correlation_mismatch"] if correlation_id is not None and echo_problems(value, correlation_id) else []),
        *(["lost_by_peer"] if lost_paths(marks) else []),
        *(["not_finite"] if any(mark.kind == "not_finite" for mark in marks) else []),
        *(["bad_decision_sample"] if bad_samples else []),
    ]
    return ReadRollout(
        text=body.decode(errors="replace"), run_id=str(value.get("run_id") or ""), source=source, envelope=trace.envelope if trace else None,
        turns=[replace(turn, sample=samples.get(number)) for number, turn in enumerate(turns)], metrics=metrics, recomputed_mean=recomputed,
        aborted=value.get("aborted") is True, ops_executed=_whole(value.get("ops_executed")), correlation_id=_text(value.get("trace_correlation_id")),
        branches=_branches(value.get("branches")), details=_object(value["metrics"].get("details")), flags=flags, marks=marks,
    )  # fmt: skip


def _turns(trace: FoundTrace | None, trajectories: list[dict[str, Any]]) -> tuple[list[Turn], Literal["trace", "trajectories", "nothing"]]:
    found = turns_of_trace(trace.events) if trace else []
    if found:
        return found, "trace"
    found = [turn for trajectory in trajectories for turn in turns_of_trajectory(trajectory)]
    return found, "trajectories" if found else "nothing"


def _metrics(told: dict[str, Any]) -> Metrics:
    returns = told.get("episode_returns")
    numbers = [number_in(item) for item in items(returns)]
    return Metrics(
        [number for number in numbers if number is not None], number_in(told.get("mean_return")), number_in(told.get("outcome_score")),
        number_in(told.get("events_score")), _whole(told.get("num_steps")),
    )  # fmt: skip


def _differs(told: float | None, recomputed: float | None) -> bool:
    if told is None or recomputed is None:
        return False
    return not math.isclose(told, recomputed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _wrong_length(trajectory: dict[str, Any]) -> bool:
    steps = trajectory.get("steps")
    return isinstance(steps, list) and _whole(trajectory.get("length")) not in (None, len(steps))


def _branches(value: Any) -> dict[str, list[str]]:
    return {str(key): [str(child) for child in children] for key, children in value.items() if isinstance(children, list)} if isinstance(value, dict) else {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
