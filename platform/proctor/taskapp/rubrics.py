"""Rubrics: named criteria with weights, scored from numbers, blended.

What nobody scored is *missing*, not zero: a rubric with a required criterion missing or at zero scores 0 and says why. `compat=True`
reproduces the package's numbers, in which missing is 0 and `required` is only reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from proctor.taskapp.turns import number_in

Aggregation = Literal["sum", "weighted_sum", "custom", "inherit"]
Reduction = Literal["last", "mean", "max", "min", "sum"]


class Criterion(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: str = Field(min_length=1)
    description: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    required: bool = False


class Rubric(BaseModel):
    """`weighted_sum` divides by the total weight; `custom` is scored elsewhere; `inherit` takes the aggregation of what it is blended with."""

    model_config = ConfigDict(extra="allow")

    version: str
    goal_text: str | None = None
    criteria: list[Criterion] = Field(default_factory=list)
    aggregation: Aggregation = "weighted_sum"

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Rubric:
        ids = [criterion.id for criterion in self.criteria]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"criteria with the same id: {', '.join(twice)}")
        return self


@dataclass(frozen=True)
class Scored:
    """`score` is None without a rubric and for `custom`. `missing`: criteria that nobody scored; `reason`: why a required one made it 0."""

    aggregation: str
    score: float | None
    per_criterion: dict[str, dict[str, Any]]
    missing: Sequence[str] = ()
    reason: str | None = None


def load_rubric(source: Mapping[str, Any] | str | Path | Rubric | None) -> Rubric | None:
    """From a mapping, JSON text or a JSON file. Raises ValueError for a judge's file (`event` and `outcome` sections), which is another thing."""
    if source is None or isinstance(source, Rubric):
        return source
    value: Any = source
    if isinstance(source, Path):
        value = json.loads(source.read_text())
    elif isinstance(source, str):
        value = json.loads(source if source.lstrip().startswith("{") else Path(source).read_text())
    if {"event", "outcome"} <= set(value) and not {"version", "goal_text", "criteria"} & set(value):
        raise ValueError("this is a judge's rubric (sections `event` and `outcome`), not a task's: give version and criteria")
    return Rubric.model_validate(value)


def strict_problems(rubric: Rubric) -> list[str]:
    """Why a judge service would refuse it; empty when it would not."""
    total = sum(criterion.weight for criterion in rubric.criteria)
    rules = [
        (not rubric.version.strip(), "version is empty"), (not (rubric.goal_text or "").strip(), "goal_text is empty"),
        (not rubric.criteria, "there is no criterion"), (rubric.aggregation != "weighted_sum", "aggregation must be weighted_sum"),
        (any(criterion.weight > 1 for criterion in rubric.criteria), "a weight is over 1"), (abs(total - 1) > 1e-6, f"the weights sum to {total:g}, not to 1"),
    ]  # fmt: skip
    return [message for wrong, message in rules if wrong]


def score_outcome(given: Mapping[str, Any], rubric: Rubric | None, *, compat: bool = False) -> Scored:
    """From `{id: number}`, or the same under `criteria`."""
    inner = given.get("criteria")
    values = inner if isinstance(inner, Mapping) else given
    return _score({str(name): number for name, value in values.items() if (number := number_in(value)) is not None}, rubric, compat)


def score_events(given: Iterable[Mapping[str, Any]], rubric: Rubric | None, *, reduction: Reduction = "last", compat: bool = False) -> Scored:
    """From items with `criterion_id`, `id` or `criterion`, and `score`; several of one criterion are reduced."""
    series: dict[str, list[float]] = {}
    for item in given:
        name = item.get("criterion_id") or item.get("id") or item.get("criterion")
        number = number_in(item.get("score"))
        if name is not None and (number is not None or compat):
            series.setdefault(str(name), []).append(number or 0.0)
    return _score({name: _reduce(numbers, "last" if compat else reduction) for name, numbers in series.items()}, rubric, compat)


def _reduce(numbers: list[float], how: Reduction) -> float:
    if how == "last":
        return numbers[-1]
    if how == "mean":
        return sum(numbers) / len(numbers)
    return max(numbers) if how == "max" else min(numbers) if how == "min" else sum(numbers)


def _score(values: Mapping[str, float], rubric: Rubric | None, compat: bool) -> Scored:
    if rubric is None:
        return Scored("none", None, {})
    per = {one.id: {"score": values.get(one.id, 0.0 if compat else None), "weight": one.weight, "required": one.required} for one in rubric.criteria}
    missing = [one.id for one in rubric.criteria if one.id not in values]
    unmet = [one.id for one in rubric.criteria if one.required and not values.get(one.id)]
    if unmet and not compat:
        return Scored(rubric.aggregation, 0.0, per, missing, f"required and not met: {', '.join(unmet)}")
    counted = [one for one in rubric.criteria if compat or one.id in values]
    return Scored(rubric.aggregation, _aggregate(rubric.aggregation, counted, values), per, missing)


def _aggregate(how: Aggregation, counted: Sequence[Criterion], values: Mapping[str, float]) -> float | None:
    if how == "custom" or not counted:
        return None
    if how == "sum":
        return sum(values.get(one.id, 0.0) for one in counted)
    return sum(values.get(one.id, 0.0) * one.weight for one in counted) / sum(one.weight for one in counted)


def blend(base: Rubric | None, override: Rubric | None) -> Rubric | None:
    """Override's texts win, weights multiply where both differ from 1, base's other criteria follow, `inherit` takes base's aggregation."""
    if base is None or override is None:
        return override or base
    known = {one.id: one for one in base.criteria}
    criteria = [_blend_criterion(known.pop(one.id, None), one) for one in override.criteria] + list(known.values())
    how = base.aggregation if override.aggregation == "inherit" else override.aggregation
    return Rubric(version=override.version, goal_text=override.goal_text or base.goal_text, criteria=criteria, aggregation=how)


def _blend_criterion(base: Criterion | None, override: Criterion) -> Criterion:
    if base is None:
        return override
    both = base.weight != 1.0 and override.weight != 1.0
    weight = base.weight * override.weight if both else override.weight if override.weight != 1.0 else base.weight
    return override.model_copy(update={"weight": weight, "description": override.description or base.description})
