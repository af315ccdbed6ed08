"""What a worker does with analyses: a process of the lowest priority for as long as something waits. `process_one` is what that process
(`manage.py analyse`) does.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import connections

from tasksets.analysis.claims import claim_waiting, is_waiting
from web.processes import run_quietly
from web.threads import in_reader


def process_one(holder: str, stopping: Callable[[], bool] = bool) -> bool:
    """False when nothing waits. Blocking; ends within a second or so when `stopping` turns true."""
    try:
        held = claim_waiting(holder, stopping)
        if held is None:
            return False
        from tasksets.analysis.run import run_analysis  # only here is numpy needed

        run_analysis(held)
        return True
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


async def run_waiting() -> bool:
    """False when nothing waits; else when a process has done it. Cancelled, it ends the process first, which gives back what it holds."""
    if not await in_reader(is_waiting):
        return False
    await run_quietly("analyse")
    return True
