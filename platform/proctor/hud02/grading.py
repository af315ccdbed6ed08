"""What `evaluate` returned, as one reward and its parts. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any


def reward_of(results: Sequence[Any]) -> tuple[float, list[dict[str, Any]]]:
    """One reward from what `evaluate` returned (a list: the mean of its parts), and the parts `{name, score, value}`.

    A number or bool counts as it is, an object by `reward`, else `score`. Raises ValueError for None, nothing, or what is not finite:
    an evaluation that gave nothing is an error, not a 0."""
    values = [value for result in results for value in (result if isinstance(result, list) else [result])]
    if not values:
        raise ValueError("evaluate returned nothing")
    parts = [{"name": f"part {index}", "score": _number(value), "value": value} for index, value in enumerate(values, 1)]
    return sum(part["score"] for part in parts) / len(parts), parts


def _number(value: Any) -> float:
    if isinstance(value, dict):
        value = value.get("reward") if value.get("reward") is not None else value.get("score")
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"evaluate returned {json.dumps(value)[:200]}, which is no finite number")
    return float(value)
