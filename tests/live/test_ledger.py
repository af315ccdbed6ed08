"""The worker's one way to write: what waits commits together, one bad write costs only itself, a lost connection costs only time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from runs import ledger as ledger_module
from runs.ledger import Ledger
from runs.models import Lease

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Ends with its thread's connection closed, as the test's database goes away."""
    ledger = Ledger()
    ledger.start()
    yield ledger
    ledger.write_now(lambda: transaction.on_commit(connection.close))
    ledger.stop()


def take(name: str) -> str:
    Lease.objects.create(name=name, owner="me", until=timezone.now() + timedelta(hours=1))
    return name


def hold(ledger: Ledger) -> threading.Event:
    """Keeps the ledger's thread busy until the event is set, so that what comes meanwhile waits."""
    go, busy = threading.Event(), threading.Event()

    def wait() -> None:
        busy.set()
        assert go.wait(20)

    threading.Thread(target=ledger.write_now, args=(wait,), daemon=True).start()
    assert busy.wait(20)
    return go


async def test_a_write_answers_after_its_commit(ledger: Ledger) -> None:
    assert await ledger.write(take, "a") == "a"
    assert await asyncio.to_thread(names) == ["a"]


def names() -> list[str]:
    try:
        return list(Lease.objects.order_by("name").values_list("name", flat=True))
    finally:
        connection.close()


async def test_writes_that_wait_commit_together(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    commit = ledger._commit
    monkeypatch.setattr(ledger, "_commit", lambda batch: (sizes.append(len(batch)), commit(batch)))
    go = await asyncio.to_thread(hold, ledger)
    writes = [asyncio.create_task(ledger.write(take, f"n{index:03}")) for index in range(100)]
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*writes) == [f"n{index:03}" for index in range(100)]
    assert len(await asyncio.to_thread(names)) == 100
    assert max(sizes) == 100


async def test_a_bad_write_costs_only_itself(ledger: Ledger) -> None:
    await ledger.write(take, "taken")
    go = await asyncio.to_thread(hold, ledger)
    writes = [asyncio.create_task(ledger.write(take, name)) for name in ("before", "taken", "after")]
    broken = asyncio.create_task(ledger.write(lambda: 1 / 0))
    await asyncio.sleep(0)
    go.set()
    before, taken, after = await asyncio.gather(*writes, return_exceptions=True)
    assert (before, after) == ("before", "after") and isinstance(taken, IntegrityError)
    with pytest.raises(ZeroDivisionError):
        await broken
    assert await asyncio.to_thread(names) == ["after", "before", "taken"]


async def test_a_lost_connection_is_tried_again_and_writes_once(ledger: Ledger) -> None:
    failures = iter([OperationalError("the connection was dropped"), OperationalError("and again")])

    def fragile() -> str:
        take("once")
        for error in failures:
            raise error
        return "written"

    assert await asyncio.gather(ledger.write(take, "other"), ledger.write(fragile)) == ["other", "written"]
    assert await asyncio.to_thread(names) == ["once", "other"]


async def test_a_connection_that_stays_away_is_told_to_everyone_who_waits(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "RETRY_S", 0.0)

    def gone() -> None:
        raise OperationalError("no route to the database")

    with pytest.raises(OperationalError):
        await ledger.write(gone)
    assert await ledger.write(take, "later") == "later", "the ledger lives on"


async def test_a_caller_that_is_cancelled_does_not_stop_the_others(ledger: Ledger) -> None:
    go = await asyncio.to_thread(hold, ledger)
    given_up, waiting = asyncio.create_task(ledger.write(take, "given-up")), asyncio.create_task(ledger.write(take, "waiting"))
    await asyncio.sleep(0)
    given_up.cancel()
    go.set()
    assert await waiting == "waiting"


async def test_stopping_writes_what_waits() -> None:
    ledger = Ledger()
    ledger.start()
    go = await asyncio.to_thread(hold, ledger)
    last = asyncio.create_task(ledger.write(take, "last"))
    closing = asyncio.create_task(ledger.write(lambda: transaction.on_commit(connection.close)))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(asyncio.to_thread(ledger.stop))
    go.set()
    assert await last == "last"
    await asyncio.gather(closing, stopping)
    assert not ledger._thread.is_alive()
