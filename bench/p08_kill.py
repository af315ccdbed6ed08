"""P8: answered spans survive `kill -9` of the web process and of the worker; the value is the share that is there."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
import uuid
from collections.abc import Iterator

import psutil

from bench.lines import Line, line
from bench.spans import BATCH, batch, send
from bench.support import REPEAT, Bench, Client, Proctor


def measure(bench: Bench) -> Iterator[Line]:
    with Proctor(bench.new_database()) as server:
        server.wait_ready()
        kept = [share_kept(server) for _ in range(REPEAT)]
    what = "share of answered spans that survive kill -9 of web and worker while more come; must: all"
    yield line("P8", what, db="postgres", values=kept, unit="share", must=1, more_is_better=True)


def share_kept(server: Proctor) -> float:
    run_id, answered = str(uuid.uuid4()), [0]

    def stream() -> None:
        client = server.client()
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                send(client, run_id, batch(run_id, answered[0]))
                answered[0] += BATCH

    sender = threading.Thread(target=stream)
    sender.start()
    time.sleep(1.0)
    for process in reversed(server.tree()[1:]):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    sender.join()
    server.wait_ready()
    stored = stored_spans(server.client(), run_id)
    return min(stored, answered[0]) / answered[0]


def stored_spans(client: Client, run_id: str) -> int:
    total: int = client.get(f"/api/runs/{run_id}/steps?limit=1")["total"]
    return total
