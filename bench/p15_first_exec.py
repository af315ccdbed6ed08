"""P15: from the request that starts a job to the first `tasks.start` in its container, idle system, one at a time.

The goal is the floor of the same run plus 150 ms, whatever the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from bench.engine_floor import run_floor
from bench.hosted import first_step_at, floor_task, prepare, run_job
from bench.lines import Line, line
from bench.support import Bench

REPEAT, BEYOND_MS = 9, 150


def measure(bench: Bench) -> Iterator[Line]:
    client, image = prepare(bench.server("postgres"))
    run_job(client, runs=1, concurrency=1)
    values, lives = [], []
    for _ in range(REPEAT):
        lives += run_floor(image, floor_task(), concurrency=1, total=1)[1]
        time.sleep(0.3)
        began = time.time()
        run = run_job(client, runs=1, concurrency=1)[1][0]
        values.append((first_step_at(client, run["id"]) - began) * 1000)
    floor = [life.ready * 1000 for life in lives]
    must = statistics.median(floor) + BEYOND_MS
    what = f"from starting a job to the first tasks.start; must: {BEYOND_MS} ms beyond create, start and hello on the bare engine"
    yield line("P15", what, db="postgres", values=values, unit="ms", must=must, floor_values=floor)
