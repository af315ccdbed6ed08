"""The websocket `/ws` (`proctor.wire.live`): who may watch what, and the frames. The tailer does the reading.

Signed in by session cookie (then the Origin must be this host) or by a single-use ticket. Team and role are checked at each `sub` and
every 30 s; access gone closes the socket with 4003.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
import weakref
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import IntegrityError, transaction
from django.http import HttpRequest, parse_cookie
from django.utils import timezone
from pydantic import ValidationError

from accounts.callers import Caller
from accounts.models import ApiKey, User
from accounts.queries import caller_for_user
from environments.queries import build_key
from proctor.wire.live import ClientFrame
from runs.models import Lease
from runs.queries import live
from runs.tail import Outbox, Subscription, Tailer
from web.crypto import unsign
from web.errors import AppError, not_found, unauthorized
from web.ids import parse_uuid
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)
FRAME_BYTES = 256_000
MAX_SUBSCRIPTIONS = 64
RECHECK_S = 30
_tailers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Tailer] = weakref.WeakKeyDictionary()


def tailer() -> Tailer:
    """The tailer of this event loop."""
    return _tailers.setdefault(asyncio.get_running_loop(), Tailer())


class LiveConsumer(AsyncWebsocketConsumer):
    caller: Caller | None = None

    async def connect(self) -> None:
        self.outbox = Outbox()
        self.subscriptions: dict[int, Subscription] = {}
        self.tasks: list[asyncio.Task[None]] = []
        try:
            self.caller = await self._who()
        except AppError as error:
            await self.accept()
            await self.send(text_data=json.dumps({"id": 0, "error": {"code": error.code, "message": error.message, "details": {}, "request_id": None}}))
            await self.close(code=4003)
            return
        await self.accept()
        self.tasks = [asyncio.create_task(self._send_all()), asyncio.create_task(self._recheck())]

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        for subscription in self.subscriptions.values():
            tailer().leave(subscription)

    async def _who(self) -> Caller:
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        ticket = query.get("ticket", [""])[0]
        if ticket:
            return await in_writer(caller_for_ticket, ticket)
        if not same_origin(self.scope):
            raise unauthorized("This socket may be opened from the page itself, or with a ticket")
        headers = dict(self.scope["headers"])
        cookies = parse_cookie(headers.get(b"cookie", b"").decode("latin-1"))
        return await in_reader(caller_for_cookie, cookies.get(settings.SESSION_COOKIE_NAME, ""), query.get("team", [None])[0])

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        number = 0
        try:
            frame = ClientFrame.model_validate_json(text_data or "")
            number = frame.id
            await self._obey(frame)
        except ValidationError:
            await self._error(number, AppError("bad_frame", 422, "A frame is {op: sub|unsub|ping, id, topic?, after?}"))
        except AppError as error:
            await self._error(number, error)

    async def _obey(self, frame: ClientFrame) -> None:
        if frame.op == "ping":
            await self.send(text_data=json.dumps({"id": frame.id, "pong": True}))
        elif frame.op == "unsub":
            self._leave(frame.id)
        else:
            await self._subscribe(frame)

    def _leave(self, number: int) -> None:
        subscription = self.subscriptions.pop(number, None)
        self.outbox.drop(number)
        if subscription is not None:
            tailer().leave(subscription)

    async def _subscribe(self, frame: ClientFrame) -> None:
        if len(self.subscriptions) >= MAX_SUBSCRIPTIONS:
            raise AppError("too_many", 429, f"A socket has at most {MAX_SUBSCRIPTIONS} subscriptions")
        self._leave(frame.id)
        self.outbox.lagging.discard(frame.id)
        kind, key = await in_reader(watched, self._caller(), frame.topic or "")
        subscription = Subscription(frame.id, kind, key, self.outbox)
        self.subscriptions[frame.id] = subscription
        await tailer().join(subscription, frame.after)
        self.outbox.put(frame.id, subscription.cursor, b"")

    def _caller(self) -> Caller:
        if self.caller is None:
            raise unauthorized("Sign in")
        return self.caller

    async def _send_all(self) -> None:
        """Writes what waits; all of it in as few frames as fit. An empty event is the mark of being live."""
        while True:
            await self.outbox.wake.wait()
            for number, seq, events, is_live in frames(self.outbox.take()):
                if events:
                    await self.send(text_data=f'{{"id":{number},"seq":{json.dumps(seq)},"events":[{events}]}}')
                if is_live:
                    await self.send(text_data=json.dumps({"id": number, "live": True}))
            for number in [number for number in self.outbox.lagging if number in self.subscriptions]:
                self._leave(number)
                await self.send(text_data=json.dumps({"id": number, "resync": True}))

    async def _recheck(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_S)
            try:
                await in_reader(still_allowed, self._caller())
            except AppError as error:
                await self._error(0, error)
                await self.close(code=4003)
                return

    async def _error(self, number: int, error: AppError) -> None:
        await self.send(text_data=json.dumps({"id": number, "error": {"code": error.code, "message": error.message, "details": {}, "request_id": None}}))


def frames(waiting: Iterable[tuple[int, Any, bytes]]) -> Iterable[tuple[int, Any, str, bool]]:
    """(subscription, seq, events joined by commas, live) with at most FRAME_BYTES of events each, order kept."""
    number, seq, size = 0, None, 0
    events: list[str] = []
    for next_number, next_seq, event in waiting:
        if events and (next_number != number or size + len(event) > FRAME_BYTES):
            yield number, seq, ",".join(events), False
            events, size = [], 0
        number, seq = next_number, next_seq
        if event:
            events.append(event.decode())
            size += len(event)
        else:
            yield number, seq, ",".join(events), True
            events, size = [], 0
    if events:
        yield number, seq, ",".join(events), False


def same_origin(scope: dict[str, Any]) -> bool:
    headers = dict(scope["headers"])
    origin = headers.get(b"origin", b"").decode("latin-1")
    return bool(origin) and (urlsplit(origin).netloc == headers.get(b"host", b"").decode("latin-1") or origin in settings.CSRF_TRUSTED_ORIGINS)


def caller_for_cookie(session_key: str, team: str | None) -> Caller:
    request = HttpRequest()
    request.session = SessionStore(session_key or None)
    user = get_user(request)
    if not isinstance(user, User):
        raise unauthorized("Sign in")
    return caller_for_user(user, team)


def caller_for_ticket(ticket: str) -> Caller:
    """Takes the ticket: a second use is refused, also by another web process."""
    value = unsign("ws", ticket, max_age_s=30)
    if value is None:
        raise unauthorized("This ticket is wrong or too old")
    try:
        with transaction.atomic():
            Lease.objects.create(name=f"ticket:{value['n']}", owner="ws", until=timezone.now() + timedelta(seconds=60))
    except IntegrityError:
        raise unauthorized("This ticket was used already") from None
    user = User.objects.filter(id=value["user"] or uuid.UUID(int=0)).first()
    if user is None:
        raise unauthorized("This ticket is wrong or too old")
    caller = caller_for_user(user, value["team"])
    return Caller(**{**vars(caller), "key_id": uuid.UUID(value["key"]) if value["key"] else None})


def still_allowed(caller: Caller) -> None:
    """Raises AppError when the person left the team, or the key was revoked."""
    user = User.objects.filter(id=caller.user_id, is_active=True).first() if caller.user_id else None
    if user is None or (caller.key_id and ApiKey.objects.filter(id=caller.key_id, revoked_at__isnull=False).exists()):
        raise unauthorized("Access ended")
    caller_for_user(user, str(caller.team_id))


def watched(caller: Caller, topic: str) -> tuple[str, uuid.UUID]:
    """The kind and own key of a topic. Raises AppError 404 for another team's and for unknown kinds."""
    caller.require("read")
    kind, _, text = topic.partition(":")
    if kind == "team":
        return kind, caller.team_id
    find = {"run": live.run_key, "job": live.job_key, "build": build_key}.get(kind)
    wire_id = parse_uuid(text)
    key = find(caller, wire_id) if find and wire_id else None
    if key is None:
        raise not_found("Topic")
    return kind, key


