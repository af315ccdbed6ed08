"""The worker's one way to write: a thread with a connection of its own and a queue. Rollout code never touches the ORM.

Writes that wait commit together (at most 500, after at most 20 ms), each in a savepoint; a caller gets its result after the commit.
A dropped connection is retried for 60 s; then the callers are told.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction

R = TypeVar("R")
logger = logging.getLogger(__name__)
BATCH, GATHER_S, RETRY_S, BOUND = 500, 0.004, 60.0, 10_000


class Write:
    """One waiting write."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None

    def perform(self) -> None:
        try:
            with transaction.atomic():
                self.result = self.call()
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            self.error = error

    def tell(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Ledger:
    """Started once per worker process."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Write | None] = queue.Queue(BOUND)
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Writes what waits, then ends."""
        self._queue.put(None)
        self._thread.join(10)

    async def write(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """Runs a write in the ledger's thread and returns its result once it is committed. Raises what it raised."""
        put = Write(lambda: function(*args, **kwargs))
        if self._queue.full():
            await asyncio.to_thread(self._queue.put, put)
        else:
            self._queue.put_nowait(put)
        result: R = await asyncio.wrap_future(put.future)
        return result

    def write_now(self, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """The same from another thread."""
        put = Write(lambda: function(*args, **kwargs))
        self._queue.put(put)
        result: R = put.future.result()
        return result

    def _run(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            batch, stop = self._gather(first)
            self._commit(batch)
            for write in batch:
                write.tell()
            if stop:
                return

    def _gather(self, first: Write) -> tuple[list[Write], bool]:
        """What waits already, and what comes within a few milliseconds when there is more than one."""
        batch, until = [first], time.monotonic() + GATHER_S
        while len(batch) < BATCH:
            try:
                following = self._queue.get(timeout=max(0.0, until - time.monotonic())) if len(batch) > 1 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return batch, True
            batch.append(following)
        return batch, False

    def _perform(self, batch: list[Write]) -> None:
        """One transaction; a write that comes alone needs no savepoint in it."""
        with transaction.atomic() if len(batch) > 1 else contextlib.nullcontext():
            for write in batch:
                write.error = write.result = None
                write.perform()

    def _commit(self, batch: list[Write]) -> None:
        give_up = time.monotonic() + RETRY_S
        while True:
            try:
                self._perform(batch)
                return
            except Exception as error:
                connection.close()
                if not isinstance(error, OperationalError | InterfaceError) or time.monotonic() > give_up:
                    for write in batch:
                        write.error = error
                    return
                logger.warning("ledger lost the database, trying again error=%s", type(error).__name__)
                time.sleep(0.5)
