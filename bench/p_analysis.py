"""PA: the analysis of 100,000 tasks by the worker (checks, exact and near duplicates, leaks), from asking for it to its end.

Prompts are of 20 to 100 words; every hundredth repeats another with one word changed, so there is something to find.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import psutil

from bench.lines import Line, line
from bench.support import Bench, Client, Proctor, upload

TASKS, MUST_S, LOOK_S = 100_000, 60.0, 0.2


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("sqlite", "postgres"):
        server = bench.server(db)
        client, name = server.client(), f"analysed-{db}"
        upload(client, name, tasks())
        watch = PeakOfAnalysis(server)
        took = analyse(client, name)
        print({"db": db, "peak_mb": watch.end(), **client.get(f"/api/tasksets/{name}/analysis")["counts"]}, file=sys.stderr)
        yield line("PA", f"analysis of {TASKS:,} tasks", db=db, values=[took], unit="s", must=MUST_S)


def analyse(client: Client, name: str) -> float:
    """Seconds; from the POST, or from when the worker began by itself before it."""
    path, began = f"/api/tasksets/{name}/analysis", time.monotonic()
    client.post(path, None)
    while (found := client.get(path))["status"] != "done":
        if found["status"] == "failed":
            raise RuntimeError(found["error"])
        time.sleep(LOOK_S)
    return time.monotonic() - began


def tasks() -> list[dict[str, Any]]:
    rng = random.Random(1)
    words = [f"{rng.choice('bcdfghklmnprst')}{rng.choice('aeiou')}{n:x}" for n in range(20_000)]
    made: list[list[str]] = []
    for number in range(TASKS):
        if number % 100 == 99:
            text = list(made[rng.randrange(len(made))])
            text[0] = rng.choice(words)
        else:
            text = [words[int(len(words) * rng.random() ** 3)] for _ in range(rng.randint(20, 100))]
        made.append(text)
    return [_task(number, text) for number, text in enumerate(made)]


def _task(number: int, text: list[str]) -> dict[str, Any]:
    args = {"question": f"{' '.join(text)}?", "answer": f"it is {number}", "level": number % 5}
    return {"name": f"task-{number:06}", "env": {"name": "bench"}, "task_id": "solve", "args": args}


class PeakOfAnalysis:
    """The largest resident size, in MB, of a process that analyses, looked at while the measure runs."""

    def __init__(self, server: Proctor) -> None:
        self._server, self._peak, self._over = server, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            for process in self._server.tree():
                try:
                    if process.cmdline()[-1:] == ["analyse"]:
                        self._peak = max(self._peak, process.memory_info().rss / 1e6)
                except psutil.Error:
                    continue

    def end(self) -> float:
        self._over.set()
        self._thread.join()
        return round(self._peak, 1)
