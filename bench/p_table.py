"""PT: the table of tasks over HTTP at 1,000, 10,000 and 100,000 tasks: open, jump, sort, filter, search, count.

`first` is the first question of its kind in the process, with nothing worked out before; the others are medians of places or texts that
were not asked for yet. The goals at 100,000 are those of the page (open 300 ms, jump 150 ms), of the server alone; what has no goal
there may take 500 ms.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from bench.floor import read_floor_s, read_k
from bench.lines import Line, line
from bench.support import Bench, Client

SIZES = (1_000, 10_000, 100_000)
REPEAT = 9
OPEN_MS, JUMP_MS, OTHER_MS = 300, 150, 500
LEVELS = ("easy", "medium", "hard")


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        client = bench.server(db).client()
        for count in SIZES:
            name = f"table-{count}"
            client.post("/v2/tasks/upload", {"taskset_name": name, "tasks": tasks(count)})
            yield from _measure(client, name, count, db)


def _measure(client: Client, name: str, count: int, db: str) -> Iterator[Line]:
    base, rng = f"/api/tasksets/{name}", random.Random(count)
    places = [rng.randrange(count) for _ in range(REPEAT)]

    def taken(what: str, must: float, paths: Sequence[str]) -> Line:
        values = [_ms(client, path) for path in paths]
        k = read_k()
        return line("PT", f"table of {count:,} tasks: {what}", db=db, values=values, unit="ms", must=must, floor_values=read_floor_s(), k=k)

    yield taken("open, the first 100 rows", OPEN_MS, [f"{base}/tasks?limit=100"] * REPEAT)
    yield taken("jump to any place", JUMP_MS, [f"{base}/tasks?limit=100&at={place}" for place in places])
    _until_made(client, base)
    yield taken("counts of all columns, first", OTHER_MS, [f"{base}/facets"])
    yield taken("counts under a filter", OTHER_MS, [f"{base}/facets?f.ops={n}&f.level=hard" for n in range(REPEAT)])
    yield taken("sort by texts, first", OTHER_MS, [f"{base}/tasks?limit=100&sort=columns.answer"])
    yield taken("sort by numbers, first", OTHER_MS, [f"{base}/tasks?limit=100&sort=-columns.score"])
    yield taken("jump in a sorted table", JUMP_MS, [f"{base}/tasks?limit=100&sort=-columns.score&at={place}" for place in places])
    yield taken("filter, one value", JUMP_MS, [f"{base}/tasks?limit=100&f.ops={n}" for n in range(REPEAT)])
    yield taken(
        "search a text that few hold",
        OTHER_MS,
        [f"{base}/tasks?limit=100&q={quote(word(place) + ' ' + word(place + 1))}" for place in places],
    )
    yield taken("search two letters", OTHER_MS, [f"{base}/tasks?limit=100&q={pair}" for pair in ("ba", "de", "fi", "go", "lu")])


def _ms(client: Client, path: str) -> float:
    began = time.perf_counter()
    client.get(path)
    return (time.perf_counter() - began) * 1000


def _until_made(client: Client, base: str) -> None:
    """What the table needs beside the chunks is made in the background after an upload; one search waits for it."""
    client.get(f"{base}/tasks?limit=1&q=wait")


def word(number: int) -> str:
    rng: Callable[[str], str] = random.Random(number % 5_000).choice
    return rng("bdfgl") + rng("aeiou") + rng("mnprst") + f"{number % 5_000:x}"


def tasks(count: int) -> list[dict[str, Any]]:
    """Of about 1 KB, four columns each, two of them with as many values as tasks."""
    rng = random.Random(1)
    return [
        {
            "name": f"task-{n:06}", "env": {"name": "bench"}, "task_id": "solve",
            "args": {"question": " ".join(word(n + step) for step in range(130))},
            "columns": {"ops": n % 9, "level": LEVELS[n % 3], "answer": str(rng.randrange(10**6)), "score": rng.random()},
        }
        for n in range(count)
    ]  # fmt: skip
