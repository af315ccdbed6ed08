"""One measured line, and how its ratio comes about.

The goal is `must * k`, where `k` scales an absolute figure by this machine's floor; a goal that is itself a multiple of the floor
of the same run has k = 1. `ratio` is value / goal, for rates goal / value, so at most 1 is always good.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Line:
    id: str
    what: str
    db: str
    n: int
    value: float
    unit: str
    values: list[float]
    floor: float | None
    floor_values: list[float]
    k: float
    ratio: float
    must: float
    ok: bool
    load1: float
    commit: str
    at: str = ""
    """The place on a curve, `100,000 tasks` say; left out where there is none."""

    def json(self) -> str:
        return json.dumps({name: rounded(value) for name, value in asdict(self).items() if name != "at" or value})


def line(
    id: str,
    what: str,
    *,
    db: str,
    values: Sequence[float],
    unit: str,
    must: float,
    floor_values: Sequence[float] = (),
    k: float = 1.0,
    more_is_better: bool | None = None,
) -> Line:
    """The value is the median of `values`; more of it is better when the unit ends in `/s`, or as told."""
    value, goal = statistics.median(values), must * k
    rate = unit.endswith("/s") if more_is_better is None else more_is_better
    ratio = goal / value if rate else value / goal
    floor = statistics.median(floor_values) if floor_values else None
    return Line(
        id, what, db, len(values), value, unit, list(values), floor, list(floor_values), k, ratio, must, ratio <= 1, os.getloadavg()[0], commit()
    )  # fmt: skip


def rounded(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return [rounded(item) for item in value] if isinstance(value, list) else value


@cache
def commit() -> str:
    """The commit that is measured; `+` when files of the product differ from it."""
    root = Path(__file__).resolve().parents[1]
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(
        ["git", "status", "--porcelain", "-uno", "platform", "tasksets", "runs"], cwd=root, capture_output=True, text=True
    )
    return (head or "unknown") + ("+" if changed.stdout.strip() else "")
