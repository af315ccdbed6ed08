"""P7: span ingest with 4 clients at once: at least P6's rate, and a request's p99."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import common

from bench.floor import span_floor, span_k
from bench.lines import Line, line
from bench.spans import burst
from bench.support import REPEAT, Bench

CLIENTS = 4


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        server = bench.server(db)
        burst(server, clients=CLIENTS, batches=5)
        alone = [burst(server, clients=1, batches=50).rate for _ in range(REPEAT)]
        sent = [burst(server, clients=CLIENTS, batches=20) for _ in range(REPEAT)]
        rates, slow = [one.rate for one in sent], [common.pct(one.request_ms, 0.99) for one in sent]
        yield line(
            "P7",
            "span ingest, 4 clients; must: 1 client's rate (the floor here)",
            db=db,
            values=rates,
            unit="spans/s",
            must=statistics.median(alone),
            floor_values=alone,
        )
        what = "span ingest, 4 clients, a request's p99"
        yield line("P7", what, db=db, values=slow, unit="ms", must=150, floor_values=span_floor(), k=1 / span_k())
