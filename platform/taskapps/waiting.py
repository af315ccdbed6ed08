"""Waiting for a run's end without asking again and again: the process's tailer tells, as it tells open pages."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator

import msgspec

from runs.consumers import tailer
from runs.models import TERMINAL
from runs.tail import Outbox, Subscription
from web.errors import AppError

MAX_OPEN = 200
_FROM_THE_END = 2**62
_open = 0
_waiting: Counter[uuid.UUID] = Counter()


class _State(msgspec.Struct):
    state: str = ""


class _Event(msgspec.Struct):
    run: _State = msgspec.field(default_factory=_State)


_event = msgspec.json.Decoder(_Event)


@contextlib.contextmanager
def room() -> Iterator[None]:
    """One of the 200 places of this process. Raises AppError 429, which clients do not repeat by themselves."""
    global _open
    if _open >= MAX_OPEN:
        raise AppError("too_many", 429, f"{MAX_OPEN} rollouts are open in this process already", headers={"Retry-After": "5"})
    _open += 1
    try:
        yield
    finally:
        _open -= 1


async def until_ended(run_id: uuid.UUID) -> None:
    """Returns when the run is terminal, whenever that was."""
    outbox = Outbox()
    subscription = Subscription(0, "run", run_id, outbox, steps=False)
    _waiting[run_id] += 1
    try:
        await tailer().join(subscription, _FROM_THE_END)
        while not any(_event.decode(event).run.state in TERMINAL for _number, _seq, event in outbox.take()):
            await outbox.wake.wait()
    finally:
        _waiting[run_id] -= 1
        tailer().leave(subscription)


def is_awaited(run_id: uuid.UUID) -> bool:
    """Does another request of this process wait for the run?"""
    return _waiting[run_id] > 0
