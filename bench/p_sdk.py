"""TS: how long the SDK takes to be imported and the command line to answer, as whole processes, interpreter included; floor: a bare one.

The modules are in the page cache and compiled (one start before). Goals are this machine's own, as the issue gives them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from bench.lines import Line, line
from bench.support import ROOT, Bench

STARTS = 21
NAMES = "import proctor; proctor.Task, proctor.Taskset, proctor.Job, proctor.Run"


def measure(bench: Bench) -> Iterator[Line]:
    del bench
    python, commands = [sys.executable, "-c"], [sys.executable, "-m", "proctor"]
    bare = starts([*python, "pass"])
    for what, command, must in (
        ("`import proctor`", [*python, "import proctor"], 150),
        ("`import proctor` and its Task, Taskset, Job and Run", [*python, NAMES], 150),
        ("`proctor --version`", [*commands, "--version"], 250),
        ("`proctor --help`", [*commands, "--help"], 250),
        ("`proctor run --help`", [*commands, "run", "--help"], 250),
    ):
        yield line("TS", f"{what}, the whole process", db="none", values=starts(command), unit="ms", must=must, floor_values=bare)


def starts(command: Sequence[str]) -> list[float]:
    """Milliseconds of each start."""
    took = []
    for _ in range(STARTS + 1):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT / "platform")})
        took.append((time.perf_counter() - began) * 1000)
    return took[1:]
