"""P16: 64 rollouts asked at once: none lost, and the wall within 1.2x of 64 / floor rate."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from bench.engine_floor import run_floor
from bench.hosted import floor_task, prepare, run_job
from bench.lines import Line, line
from bench.support import REPEAT, Bench

RUNS, CONCURRENCY = 64, 8


def measure(bench: Bench) -> Iterator[Line]:
    client, image = prepare(bench.server("postgres"))
    values, floor = [], []
    for _ in range(REPEAT):
        floor.append(run_floor(image, floor_task(), concurrency=CONCURRENCY, total=RUNS)[0])
        values.append(run_job(client, runs=RUNS, concurrency=RUNS)[0])
    what = f"{RUNS} rollouts asked at once, all graded; must: 1.2x of the bare engine at concurrency {CONCURRENCY}"
    yield line("P16", what, db="postgres", values=values, unit="s", must=1.2 * statistics.median(floor), floor_values=floor)
