"""Long-lived threads for database work of async views, so that a request does not open a connection of its own.

Django gives each ASGI request's sync code a fresh thread, hence a fresh connection. Hot paths (telemetry, export, tail, HUD's
reads) come here instead: `read` has a few threads, `write` one on SQLite (writes are serial there) and as many as the pool
allows on PostgreSQL. Under pytest both run in the caller's thread, so that tests share its transaction; the `server` tests run
the real threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections

P = ParamSpec("P")
R = TypeVar("R")

_POSTGRES = settings.DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql"
_readers = ThreadPoolExecutor(4, thread_name_prefix="read")
_writers = ThreadPoolExecutor(4 if _POSTGRES else 1, thread_name_prefix="write")


async def in_reader(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await _run(_readers, partial(function, *args, **kwargs))


async def in_writer(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await _run(_writers, partial(function, *args, **kwargs))


async def _run(pool: ThreadPoolExecutor, call: Callable[[], R]) -> R:
    if settings.TESTING:
        return await sync_to_async(call, thread_sensitive=True)()
    return await asyncio.get_running_loop().run_in_executor(pool, _with_healthy_connection, call)


def _with_healthy_connection(call: Callable[[], R]) -> R:
    try:
        return call()
    except Exception:
        for connection in connections.all(initialized_only=True):
            connection.close_if_unusable_or_obsolete()
        raise
    finally:
        if _POSTGRES:
            connections.close_all()
