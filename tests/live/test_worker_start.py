"""What a worker does with messages that come before it knows what it can start, and with last steps that no database takes. Whole workers: tests/journeys/test_kill.py."""

from __future__ import annotations

import asyncio
import threading
import uuid
from typing import Any

import pytest

from proctor.rollout.plan import Outcome
from runs import actors
from runs.actions.spans import Prepared
from runs.planning import Able
from runs.worker import WorkerProcess


class Ledger:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def write(self, *call: Any) -> bool:
        """No claim is ever given."""
        self.asked.append(call)
        return False


def no_plan(*_: object) -> None:
    raise LookupError("read beside the claim, and wanted by nobody when there is no claim")


async def test_a_message_waits_until_the_worker_knows_what_it_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = WorkerProcess.__new__(WorkerProcess)
    worker.id, worker.ready, worker.stopping, worker.ledger = "w1", threading.Event(), False, Ledger()  # type: ignore[assignment]
    worker.able = Able(docker=False)
    monkeypatch.setattr(actors, "current", lambda: worker)
    monkeypatch.setattr(actors, "plan_rollout", no_plan)
    message = asyncio.create_task(actors.execute_run.fn.__wrapped__(str(uuid.uuid4()), 0))
    await asyncio.sleep(0.2)
    assert worker.ledger.asked == []  # type: ignore[attr-defined]
    worker.ready.set()
    await message
    assert len(worker.ledger.asked) == 1  # type: ignore[attr-defined]


async def test_a_run_whose_last_steps_cannot_be_written_ends_all_the_same() -> None:
    worker, ended = WorkerProcess.__new__(WorkerProcess), []

    class Refusing:
        async def write(self, _function: Any, _run: Any, _attempt: int, outcome: Outcome, last: Prepared | None) -> None:
            if last is not None:
                raise ValueError("no such text")
            ended.append(outcome)

    worker.ledger = Refusing()  # type: ignore[assignment]
    await actors.finish(worker, uuid.uuid4(), 1, Outcome("completed", evaluation_text='{"score": 1}'), Prepared([], []))
    assert [(outcome.status, outcome.failure and outcome.failure.failure_class) for outcome in ended] == [("error", "platform")]
