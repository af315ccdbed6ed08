"""Waiting that survives cancellation: work that must come to its end whatever happens to the one who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def finish(work: Coroutine[Any, Any, _T]) -> _T:
    """Run `work` to its end. A cancellation in between is raised afterwards, with the work done."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except Exception:
            break  # the task's own error: raised below by result()
    if cancelled is not None:
        task.exception()  # seen
        raise cancelled
    return task.result()
