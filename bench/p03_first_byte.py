"""P3: time to the first byte of a fetch by name (both requests), at 10,000 and at 100,000 tasks."""

from __future__ import annotations

from collections.abc import Iterator

from bench.floor import read_floor_s, read_k
from bench.lines import Line, line
from bench.p02_fetch import fetch
from bench.support import Bench, ensure_taskset

REPEAT = 11


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        server = bench.server(db)
        for tasks in (10_000, 100_000):
            name = ensure_taskset(server, tasks)
            fetch(server, name)
            values = [fetch(server, name)["first_s"] * 1000 for _ in range(REPEAT)]
            what = f"time to first byte of a fetch of {tasks:,} tasks by name, both requests"
            yield line("P3", what, db=db, values=values, unit="ms", must=50, floor_values=[s * 1000 for s in read_floor_s()], k=read_k())
