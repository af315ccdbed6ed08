"""P14: rollouts per second at concurrency 8, all rows and steps written, beside bare aiodocker with the same image and calls."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.engine_floor import run_floor
from bench.hosted import floor_task, prepare, run_job
from bench.lines import Line, line
from bench.support import REPEAT, Bench

CONCURRENCY, TOTAL, SHARE = 8, 24, 0.85


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        client, image = prepare(bench.server(db))
        run_floor(image, floor_task(), concurrency=CONCURRENCY, total=CONCURRENCY)
        run_job(client, runs=CONCURRENCY, concurrency=CONCURRENCY)
        values, floor = [], []
        for _ in range(REPEAT):
            floor.append(TOTAL / run_floor(image, floor_task(), concurrency=CONCURRENCY, total=TOTAL)[0])
            values.append(TOTAL / run_job(client, runs=TOTAL, concurrency=CONCURRENCY)[0])
        what = f"rollouts/s at concurrency {CONCURRENCY}, {TOTAL} at a time; must: {SHARE} of the bare engine"
        yield line("P14", what, db=db, values=values, unit="rollouts/s", must=SHARE * statistics.median(floor), floor_values=floor)
