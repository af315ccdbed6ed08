"""P1: upload of 10,000 tasks of 1 KB, from the real SDK to a stored version."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import common

from bench.floor import copy_floor_s, copy_k
from bench.lines import Line, line
from bench.support import REPEAT, Bench, Proctor, run_hud

TASKS = 10_000


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        values = upload_times(bench.server(db))
        what = "upload of 10,000 tasks of 1 KB, SDK to stored version"
        yield line("P1", what, db=db, values=values, unit="s", must=1.6, floor_values=copy_floor_s(), k=copy_k())


def upload_times(server: Proctor, tasks: int = TASKS, repeat: int = REPEAT) -> list[float]:
    """The first upload is not counted. Every set has contents of its own."""
    seconds, first = [], uuid.uuid4().int % 10**9
    for turn in range(repeat + 1):
        with tempfile.TemporaryDirectory(prefix="bench-upload-") as folder:
            file = Path(folder) / "rows.json"
            file.write_text(json.dumps([row(number) for number in range(first + turn * tasks, first + (turn + 1) * tasks)]))
            seconds += run_hud("sdk_upload.py", {"url": server.url, "rows": str(file), "names": [f"up-{uuid.uuid4().hex[:8]}"]})
    return seconds[1:]


def row(number: int) -> dict[str, object]:
    return {"env": "bench", "id": "solve", "slug": f"task-{number:06}", "args": common.example(number)}
