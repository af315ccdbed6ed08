"""The consumer's own rules, in this process: access is checked again, a slow reader is told to load its snapshot, frames stay small."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from accounts import actions
from accounts.callers import Caller
from environments import actions as environments
from environments.models import EnvironmentVersion
from runs import consumers, tail
from runs.consumers import LiveConsumer, frames
from runs.tail import Outbox
from tests.conftest import Person
from tests.support.environments import add_log


def ticket(person: Person) -> str:
    return str(Client(headers={"authorization": f"Bearer {person.key}"}).post("/api/ws-ticket").json()["ticket"])


async def opened(text: str) -> WebsocketCommunicator:
    socket = WebsocketCommunicator(LiveConsumer.as_asgi(), f"/ws?ticket={text}")
    assert (await socket.connect(timeout=20))[0]
    return socket


@pytest.mark.django_db(transaction=True)
def test_a_revoked_key_closes_its_sockets(ada_person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "RECHECK_S", 0.05)
    text = ticket(ada_person)

    async def story() -> None:
        socket = await opened(text)
        await socket.send_json_to({"op": "ping", "id": 1})
        assert await socket.receive_json_from(timeout=20) == {"id": 1, "pong": True}
        await asyncio.to_thread(_revoke, ada_person.caller)
        assert (await socket.receive_json_from(timeout=20))["error"]["code"] == "unauthorized"
        assert (await socket.receive_output(timeout=20)) == {"type": "websocket.close", "code": 4003}

    from asgiref.sync import async_to_sync

    async_to_sync(story)()


def _revoke(caller: Caller) -> None:
    from django.db import connection

    try:
        actions.revoke_key(caller, caller.key_id)
    finally:
        connection.close()


# — a reader that cannot keep up


def event(size: int) -> bytes:
    return json.dumps({"kind": "job", "job_id": "x" * size}).encode()


def test_a_queue_that_overflows_is_dropped_and_marked() -> None:
    outbox = Outbox()
    for number in range(tail.MAX_WAITING + 1):
        outbox.put(1, number, event(10))
    assert outbox.lagging == {1} and outbox.waiting == [] and outbox.size == 0
    outbox.put(1, 0, event(10))
    assert outbox.waiting == [], "nothing more is kept for it"


def test_a_slow_topic_takes_nothing_from_another_of_the_same_socket() -> None:
    outbox = Outbox()
    outbox.put(2, 1, event(10))
    for number in range(tail.MAX_WAITING):
        outbox.put(1, number, event(10))
    assert [item[0] for item in outbox.take()] == [2]


def test_waiting_events_are_bounded_in_bytes_too() -> None:
    outbox = Outbox()
    for number in range(20):
        outbox.put(1, number, event(1_000_000))
    assert outbox.lagging == {1} and outbox.size == 0


def test_one_event_larger_than_the_bound_still_goes_out() -> None:
    outbox = Outbox()
    outbox.put(1, 1, event(tail.MAX_WAITING_BYTES + 1))
    assert len(outbox.take()) == 1


def test_frames_hold_at_most_a_quarter_of_a_megabyte_and_keep_order() -> None:
    waiting: list[tuple[int, Any, bytes]] = [(1, number, event(60_000)) for number in range(20)]
    waiting[10:10] = [(2, "x", event(5)), (2, "x", b"")]
    made = list(frames(waiting))
    assert all(len(events) <= consumers.FRAME_BYTES + 1000 for _number, _seq, events, _live in made)
    assert [number for number, *_ in made] == [1, 1, 1, 2, 1, 1, 1]
    assert [live for *_, live in made] == [False, False, False, True, False, False, False]
    assert [seq for number, seq, *_ in made if number == 1] == [3, 7, 9, 13, 17, 19]
    assert sum(len(json.loads(f"[{events}]")) for _n, _s, events, _l in made) == 21


def test_a_socket_has_a_bounded_number_of_subscriptions(ada_person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "MAX_SUBSCRIPTIONS", 0)

    async def story() -> None:
        consumer = LiveConsumer()
        consumer.subscriptions = {}
        with pytest.raises(consumers.AppError) as refused:
            await consumer._subscribe(consumers.ClientFrame(op="sub", id=1, topic=f"run:{uuid.uuid4()}"))
        assert refused.value.code == "too_many"

    asyncio.run(story())


@pytest.mark.django_db(transaction=True)
def test_a_build_is_followed_from_its_cursor_to_its_end(ada_person: Person, cy_person: Person) -> None:
    version = environments.register_image(ada_person.caller, name="letters", image="a:1")
    add_log(version, "one\n", "two\n")
    tickets = [ticket(ada_person), ticket(cy_person)]

    async def story() -> None:
        socket = await opened(tickets[0])
        await socket.send_json_to({"op": "sub", "id": 1, "topic": f"build:{version.id}", "after": 1})
        seen = await heard(socket, lambda events: any(event["kind"] == "build" for event in events))
        assert [event.get("text") for event in seen] == ["two\n", None] and seen[1]["version"]["status"] == "pending"
        await sync_to_async(add_log)(version, "three\n")
        await sync_to_async(EnvironmentVersion.objects.filter(id=version.id).update)(status="failed", error="no")
        seen = await heard(socket, lambda events: any(event.get("version", {}).get("status") == "failed" for event in events))
        assert [event["text"] for event in seen if event["kind"] == "build_log"] == ["three\n"]
        await socket.disconnect()

        stranger = await opened(tickets[1])
        await stranger.send_json_to({"op": "sub", "id": 1, "topic": f"build:{version.id}"})
        assert (await stranger.receive_json_from(timeout=20))["error"]["code"] == "not_found"
        await stranger.disconnect()

    asyncio.run(story())


async def heard(socket: WebsocketCommunicator, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    events = list[dict[str, Any]]()
    while not enough(events):
        events += (await socket.receive_json_from(timeout=20)).get("events") or []
    return events
