"""Heavy work beside a worker: `manage.py <command>` in a process of the lowest priority, so that rollouts neither wait for its CPU nor lose
their memory to it."""

from __future__ import annotations

import asyncio
import os
import sys

from django.conf import settings

LOWEST = 19


async def run_quietly(command: str) -> int:
    """Its exit code. Cancelled, it sends the process TERM first and waits for its end."""
    process = await asyncio.create_subprocess_exec(sys.executable, str(settings.ROOT / "manage.py"), command, stdout=sys.stderr)
    try:
        os.setpriority(os.PRIO_PROCESS, process.pid, LOWEST)
        return await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
