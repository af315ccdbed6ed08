"""Heavy work beside a worker: a process of the lowest priority that ends with who waits for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from web.processes import LOWEST, run_quietly

PROGRAM = """
import os, pathlib, signal, sys, time
place = pathlib.Path(sys.argv[0]).parent
signal.signal(signal.SIGTERM, lambda *_: ((place / "told").touch(), sys.exit(0)))
(place / "began").write_text(sys.argv[1])
while sys.argv[1] == "wait" or os.nice(0) != %d:
    time.sleep(0.01)
sys.exit(3)
"""


@pytest.fixture
def place(settings: Any, tmp_path: Path) -> Path:
    """Where `manage.py` is a program of ours."""
    settings.ROOT = tmp_path
    (tmp_path / "manage.py").write_text(PROGRAM % LOWEST)
    return tmp_path


async def test_it_runs_at_the_lowest_priority_and_tells_its_exit_code(place: Path) -> None:
    assert await asyncio.wait_for(run_quietly("work"), 60) == 3
    assert (place / "began").read_text() == "work"


async def test_cancelled_it_tells_the_process_and_waits_for_its_end(place: Path) -> None:
    task = asyncio.create_task(run_quietly("wait"))
    while not (place / "began").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (place / "told").exists()
