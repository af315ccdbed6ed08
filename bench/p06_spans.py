"""P6: spans per second, durable before the answer, one client, batches of 100."""

from __future__ import annotations

from collections.abc import Iterator

from bench.floor import OTLP_COPY_PAGE, span_floor, span_k
from bench.lines import Line, line
from bench.spans import burst
from bench.support import REPEAT, Bench


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        server = bench.server(db)
        burst(server, clients=1, batches=10)
        values = [burst(server, clients=1, batches=50).rate for _ in range(REPEAT)]
        what = "span ingest, durable before the answer, 1 client, batches of 100; must: 25 % of OTLP + COPY lz4"
        yield line("P6", what, db=db, values=values, unit="spans/s", must=0.25 * OTLP_COPY_PAGE, floor_values=span_floor(), k=span_k())
