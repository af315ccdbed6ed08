"""P20: cold start of the whole stack on existing data: PostgreSQL, Redis, web and worker, until `/readyz` says that all are there."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.floor import PG_BIN
from bench.lines import Line, line
from bench.support import REPEAT, Bench, Proctor, redis_server


def measure(bench: Bench) -> Iterator[Line]:
    cluster = bench.cluster()
    url = bench.new_database()
    with tempfile.TemporaryDirectory(prefix="bench-start-") as data:
        start(url, data)
        values = []
        for _ in range(REPEAT):
            pg_ctl(cluster, "-m", "fast", "stop")
            values.append(start(url, data, cluster))
    what = "cold start on existing data: PostgreSQL, Redis, web and worker, until /readyz"
    yield line("P20", what, db="postgres", values=values, unit="s", must=5)


def start(url: str, data: str, cluster: Any = None) -> float:
    """Seconds from the first process to ready."""
    began = time.perf_counter()
    with contextlib.ExitStack() as stack:
        if cluster is not None:
            options = f"-p {cluster.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={cluster.dir}"
            pg_ctl(cluster, "-w", "-l", str(cluster.dir / "log"), "-o", options, "start")
        redis_url, _process = stack.enter_context(redis_server())
        server = stack.enter_context(Proctor(url, redis_url, data=data))
        server.wait_ready()
        return time.perf_counter() - began


def pg_ctl(cluster: Any, *options: str) -> None:
    cluster.sh(Path(PG_BIN) / "pg_ctl", "-D", cluster.dir / "d", *options)
