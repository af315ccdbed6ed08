"""Spans of local runs on their way to the server: gathered, sent in batches by run, several requests at once.

A batch goes when there are 100 spans or 1 MiB, and 0.25 s after the first in any case. Recording waits while 64 MiB are on their way. What
the server refuses or can't take after the client's retries is dropped and told once: a run never fails for its telemetry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from proctor.client import AsyncClient, calls
from proctor.errors import RequestFailed

log = logging.getLogger(__name__)

BATCH_SPANS = 100
BATCH_BYTES = 1024 * 1024
BATCH_WAIT_S = 0.25
UPLOADS = 4
WAITING_BYTES = 64 * 1024 * 1024


class Telemetry:
    """`add` from any task of the loop; `close` sends the rest."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._waiting: dict[str, list[bytes]] = {}
        self._spans = self._bytes = self._held = 0
        self._full, self._room = asyncio.Event(), asyncio.Condition()
        self._uploads = asyncio.Semaphore(UPLOADS)
        self._sending: set[asyncio.Task[None]] = set()
        self._closing = False
        self._sender = asyncio.create_task(self._run())
        self.sent = self.dropped = 0

    async def add(self, run_id: str, spans: Sequence[bytes]) -> None:
        """Takes them; waits only when too much is on its way."""
        size = sum(map(len, spans))
        async with self._room:
            await self._room.wait_for(lambda: self._held == 0 or self._held + size <= WAITING_BYTES)
            self._held += size
        self._waiting.setdefault(run_id, []).extend(spans)
        self._spans, self._bytes = self._spans + len(spans), self._bytes + size
        self._full.set()

    async def close(self) -> None:
        """Everything is sent, or dropped, afterwards."""
        self._closing = True
        self._full.set()
        await self._sender
        await asyncio.gather(*self._sending)

    async def _run(self) -> None:
        while not self._closing or self._waiting:
            await self._full.wait()
            self._full.clear()
            await self._fill()
            waiting, self._waiting, self._spans, self._bytes = self._waiting, {}, 0, 0
            for run_id, spans in waiting.items():
                for batch in _batches(spans):
                    await self._uploads.acquire()
                    sending = asyncio.create_task(self._send(run_id, batch))
                    self._sending.add(sending)
                    sending.add_done_callback(self._sending.discard)

    async def _fill(self) -> None:
        """Until there is a batch, or its time is up."""
        until = asyncio.get_running_loop().time() + BATCH_WAIT_S
        while not self._closing and self._spans < BATCH_SPANS and self._bytes < BATCH_BYTES:
            left = until - asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout(left):
                    await self._full.wait()
            except TimeoutError:
                return
            self._full.clear()

    async def _send(self, run_id: str, spans: list[bytes]) -> None:
        try:
            await self._client.send(calls.upload_spans(run_id, spans))
            self.sent += len(spans)
        except RequestFailed as error:
            log.log(logging.DEBUG if self.dropped else logging.WARNING, "steps of run %s did not reach the server: %s", run_id, error)
            self.dropped += len(spans)
        finally:
            self._uploads.release()
            async with self._room:
                self._held -= sum(map(len, spans))
                self._room.notify_all()


def _batches(spans: list[bytes]) -> list[list[bytes]]:
    """In order, each of at most so many spans and bytes (one larger span is alone)."""
    batches: list[list[bytes]] = [[]]
    size = 0
    for span in spans:
        if batches[-1] and (len(batches[-1]) >= BATCH_SPANS or size + len(span) > BATCH_BYTES):
            batches.append([])
            size = 0
        batches[-1].append(span)
        size += len(span)
    return batches
