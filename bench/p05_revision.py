"""P5: a new version with 1 % of 10,000 tasks changed; only what changed is sent and stored."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator

import common

from bench.floor import copy_floor_s, copy_k
from bench.lines import Line, line
from bench.support import REPEAT, Bench, rows, upload

TASKS, CHANGED = 10_000, 100


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        client, name = bench.server(db).client(), f"revised-{uuid.uuid4().hex[:8]}"
        upload(client, name, rows(TASKS))
        values = []
        for revision in range(1, REPEAT + 1):
            changed = [{**row, "args": common.example(i, rev=revision)} for i, row in enumerate(rows(CHANGED))]
            body = json.dumps({"taskset_name": name, "tasks": changed}).encode()
            began = time.perf_counter()
            done = client.post("/v2/tasks/upload", body)
            values.append(time.perf_counter() - began)
            if done["tasks_updated"] != CHANGED:
                raise RuntimeError(f"{done['tasks_updated']} tasks changed instead of {CHANGED}")
        yield line(
            "P5",
            "new version with 1 % of 10,000 tasks changed",
            db=db,
            values=values,
            unit="s",
            must=0.5,
            floor_values=copy_floor_s(),
            k=copy_k(),
        )
