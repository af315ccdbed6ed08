"""P22: how far the web process grows over idle in an upload (less 3x its body), a fetch, and span ingest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import common

from bench.lines import Line, line
from bench.p02_fetch import fetch
from bench.spans import burst
from bench.support import REPEAT, Bench, Proctor, rows

TASKS = 10_000


def measure(bench: Bench) -> Iterator[Line]:
    body = json.dumps({"taskset_name": "peak", "tasks": rows(TASKS)}).encode()
    works: dict[str, tuple[Callable[[Proctor], object], float]] = {
        f"an upload of {TASKS:,} tasks in one request and their fetch, less 3x the body": (
            lambda server: upload_and_fetch(server, body),
            3 * len(body) / 1e6,
        ),
        "the ingest of 5,000 spans": (lambda server: burst(server, clients=1, batches=50), 0.0),
    }
    for what, (work, allowed_mb) in works.items():
        values = [growth_mb(bench, work) - allowed_mb for _ in range(REPEAT)]
        yield line("P22", f"web process over idle, peak of {what}", db="postgres", values=values, unit="MB", must=100)


def upload_and_fetch(server: Proctor, body: bytes) -> None:
    server.client().post("/v2/tasks/upload", body)
    fetch(server, "peak")


def growth_mb(bench: Bench, work: Callable[[Proctor], object]) -> float:
    """In a server of its own, since an allocator keeps what it once had."""
    with Proctor(bench.new_database()) as server:
        server.wait_ready()
        web = server.web()
        sampler = common.Rss(web.pid, every=0.02)
        idle = common.Rss.tree(web.pid)
        sampler.start()
        work(server)
        sampler.stop_ = True
        return (sampler.peak - idle) / 1e6
