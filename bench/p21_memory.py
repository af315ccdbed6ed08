"""P21: idle memory of the whole stack: supervisor, web, worker, Redis and PostgreSQL by PSS."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from bench.lines import Line, line
from bench.support import Bench, Proctor, redis_server

REPEAT, SETTLE_S, APART_S = 5, 10, 2


def measure(bench: Bench) -> Iterator[Line]:
    url = bench.new_database()
    with redis_server() as (redis_url, redis), Proctor(url, redis_url) as server:
        server.wait_ready()
        server.client().get("/api/jobs")
        time.sleep(SETTLE_S)
        values = []
        for _ in range(REPEAT):
            time.sleep(APART_S)
            parts = {"proctor": server.tree(), "redis": [psutil.Process(redis.pid)], "postgres": postgres(bench.cluster().dir / "d")}
            values.append(sum(pss_mb(processes) for processes in parts.values()))
        print({name: round(pss_mb(processes), 1) for name, processes in parts.items()}, file=sys.stderr)
    what = "idle memory of supervisor, web, worker, Redis and PostgreSQL (PSS)"
    yield line("P21", what, db="postgres", values=values, unit="MB", must=450)


def postgres(folder: Path) -> list[psutil.Process]:
    """The cluster's processes, by its postmaster."""
    top = psutil.Process(int((folder / "postmaster.pid").read_text().split("\n")[0]))
    return [top, *top.children(recursive=True)]


def pss_mb(processes: Iterable[psutil.Process]) -> float:
    total = 0
    for process in processes:
        for text in Path(f"/proc/{process.pid}/smaps_rollup").read_text().split("\n"):
            if text.startswith("Pss:"):
                total += int(text.split()[1])
    return total * 1024 / 1e6
