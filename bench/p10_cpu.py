"""P10: CPU per span of web and worker together, over bursts of one client."""

from __future__ import annotations

from collections.abc import Iterator

from bench.floor import span_floor, span_k
from bench.lines import Line, line
from bench.spans import BATCH, burst
from bench.support import REPEAT, Bench, Proctor

BATCHES = 50


def measure(bench: Bench) -> Iterator[Line]:
    server = bench.server("postgres")
    burst(server, clients=1, batches=10)
    values = [cpu_ms_a_span(server) for _ in range(REPEAT)]
    yield line(
        "P10", "CPU per span, web and worker", db="postgres", values=values, unit="ms", must=0.2, floor_values=span_floor(), k=1 / span_k()
    )


def cpu_ms_a_span(server: Proctor) -> float:
    before = server.rss.cpu()
    burst(server, clients=1, batches=BATCHES)
    return (server.rss.cpu() - before) * 1000 / (BATCHES * BATCH)
