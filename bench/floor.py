"""The floors: scripts of `bench/floors`, run as they are; here only their lines are caught, with all values of each summary.

Each floor is taken once per call of `make bench` and shared by the measures that are judged by it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

FLOORS = Path(__file__).parent / "floors"
PG_BIN = os.environ.get("PROCTOR_PG_BIN", "/usr/lib/postgresql/15/bin")
PG_USER = "postgres" if os.getuid() == 0 else os.environ.get("USER", "postgres")
READ_PAGE_S, OTLP_COPY_PAGE, COPY_PAGE_S = 0.058, 15_800, 0.5
"""What these floors were on the page of goals."""

_RUN_WITH_VALUES = """
import runpy, sys
folder, script = sys.argv[1], sys.argv[2]
sys.path.insert(0, folder)
import common
short = common.summary
common.summary = lambda values, digits=3: {**short(values, digits), "values": list(values)}
sys.argv = sys.argv[2:]
runpy.run_path(f"{folder}/{script}", run_name="__main__")
"""


@cache
def run_floor(script: str, *arguments: str) -> list[dict[str, Any]]:
    """The lines that a script prints."""
    command = [sys.executable, "-c", _RUN_WITH_VALUES, str(FLOORS), script, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(text) for text in done.stdout.splitlines()]


def _pick(lines: list[dict[str, Any]], how: str, field: str) -> list[float]:
    found: list[float] = next(line[field]["values"] for line in lines if line["how"] == how)
    return found


def read_floor_s() -> list[float]:
    """Raw SQL + orjson over 10,000 rows of 1 KB, in PostgreSQL."""
    lines = run_floor("bench_db.py", "read", "--db", "postgres", "--repeat", "5", "--pg-bin", PG_BIN, "--pg-user", PG_USER)
    return [ms / 1000 for ms in _pick(lines, "raw SQL + orjson", "ms")]


def _write_floor() -> list[dict[str, Any]]:
    options = ("--db", "postgres", "--toast", "lz4", "--rows", "5000", "--repeat", "5", "--pg-bin", PG_BIN, "--pg-user", PG_USER)
    return run_floor("bench_db.py", "write", *options)


def span_floor() -> list[float]:
    """Spans per second: an OTLP body parsed and copied into PostgreSQL, in one process."""
    return _pick(_write_floor(), "OTLP parse + copy", "rows_per_s")


def copy_floor_s() -> list[float]:
    """Seconds to copy 10,000 rows of 2 KB in batches of 100."""
    return [10_000 / rate for rate in _pick(_write_floor(), "copy", "rows_per_s")]


def read_k() -> float:
    return statistics.median(read_floor_s()) / READ_PAGE_S


def copy_k() -> float:
    return statistics.median(copy_floor_s()) / COPY_PAGE_S


def span_k() -> float:
    return statistics.median(span_floor()) / OTLP_COPY_PAGE
