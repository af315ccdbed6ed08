"""Daphne with backpressure and bounds. As it comes, its `send` never waits, frames queue up without end and a body has no limit.

By public Twisted interfaces: on the first body chunk (or websocket frame) an `IPushProducer` is registered, and while Twisted says
"pause", `send` waits. A websocket whose application is slow is not read while 1 MiB of its frames wait. A body announced larger than
the largest cap is refused before it is taken in. The tests with clients that never read and environments that never read
(`tests/live/test_backpressure.py`) guard this against Daphne's upgrades.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

from daphne.http_protocol import WebRequest
from daphne.server import Server
from django.conf import settings
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

LARGEST_BODY = max(settings.PROCTOR_LIMITS["upload_bytes"], settings.PROCTOR_LIMITS["telemetry_bytes"])
SLACK = 1024 * 1024
WAITING_BYTES = 1024 * 1024


@implementer(IPushProducer)
class Flow:
    """Twisted's word on whether a connection takes more."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()

    def pauseProducing(self) -> None:
        self.open.clear()

    def resumeProducing(self) -> None:
        self.open.set()

    def stopProducing(self) -> None:
        self.open.set()


class Inflow:
    """What waits between a websocket and its application. Over the mark, the connection is not read, nor asked for signs of life, which
    could not be seen."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._waiting_bytes, self._paused = 0, False

    def watch(self, queue: asyncio.Queue[dict[str, Any]]) -> None:
        put = queue.put_nowait

        def put_and_count(item: dict[str, Any]) -> None:
            put(item)
            self._count(_size(item))

        queue.put_nowait = put_and_count  # type: ignore[method-assign]

    async def take(self, receive: Any) -> dict[str, Any]:
        message: dict[str, Any] = await receive()
        self._count(-_size(message))
        return message

    def _count(self, size: int) -> None:
        self._waiting_bytes += size
        if not self._paused and self._waiting_bytes > WAITING_BYTES:
            self._paused = True
            self._protocol.last_ping = float("inf")
            if self._protocol.autoPingTimeoutCall is not None:
                self._protocol.autoPingTimeoutCall.cancel()
                self._protocol.autoPingTimeoutCall = None
            self._protocol.transport.pauseProducing()
        elif self._paused and self._waiting_bytes < WAITING_BYTES // 2:
            self._paused = False
            self._protocol.last_ping = time.time()
            self._protocol.transport.resumeProducing()


def _size(message: dict[str, Any]) -> int:
    return len(message.get("bytes") or message.get("text") or b"")


INFLOW = "proctor.inflow"


def flowing(application: Any) -> Any:
    """The application, taking its websocket frames through their `Inflow`."""

    async def run(scope: dict[str, Any], receive: Any, send: Any) -> None:
        inflow: Inflow | None = scope.pop(INFLOW, None)
        await application(scope, receive if inflow is None else partial(inflow.take, receive), send)

    return run


class PatientServer(Server):
    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if scope["type"] != "websocket":
            return super().create_application(protocol, scope)
        inflow = scope[INFLOW] = Inflow(protocol)
        queue = super().create_application(protocol, scope)
        if queue is not None:
            inflow.watch(queue)
        return queue

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        details = self.connections.get(protocol)
        if details is None or details.get("disconnected"):
            return
        kind = message["type"]
        if kind == "websocket.send" or (kind == "http.response.body" and message.get("more_body")):
            await self._flow(protocol, details, kind).open.wait()
        await super().handle_reply(protocol, message)
        if kind == "http.response.body":
            if message.get("more_body"):
                await asyncio.sleep(0)
            elif "flow" in details:
                details.pop("flow").open.set()

    def _flow(self, protocol: Any, details: dict[str, Any], kind: str) -> Flow:
        flow: Flow | None = details.get("flow")
        if flow is None:
            flow = details["flow"] = Flow()
            if kind == "websocket.send":
                protocol.transport.unregisterProducer()
                protocol.transport.registerProducer(flow, True)
            else:
                protocol.registerProducer(flow, True)
        return flow

    def protocol_disconnected(self, protocol: Any) -> None:
        details = self.connections.get(protocol)
        if details is not None:
            if "flow" in details:
                details["flow"].open.set()
            super().protocol_disconnected(protocol)

    def kill_all_applications(self) -> Any:
        """Daphne's own trips over a connection whose application has ended already."""
        for details in self.connections.values():
            task = details.get("application_instance")
            if task is not None and not task.done():
                task.cancel()


def refuse_large_bodies() -> None:
    """Answers 413 from the headers alone; the connection is closed, the body never taken in."""
    got_length = WebRequest.gotLength

    def checked(self: WebRequest, length: int | None) -> None:
        if length is not None and length > LARGEST_BODY + SLACK:
            body = b'{"detail":"The body is larger than any limit","error":{"code":"too_large","message":"The body is larger than any limit","details":{},"request_id":null}}'
            head = f"HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
            self.channel.transport.write(head + body)
            self.channel.transport.loseConnection()
            return
        got_length(self, length)

    WebRequest.gotLength = checked


def break_off_failed_replies() -> None:
    """A reply that fails behind its head ends with its connection, so that nobody takes the part for the whole. Daphne's own would answer a
    second time, which raises in its reaper and stops that for good."""
    answer = WebRequest.handle_exception

    def handled(self: WebRequest, exception: BaseException) -> None:
        if self._response_started:
            self.channel.transport.abortConnection()
        else:
            answer(self, exception)

    WebRequest.handle_exception = handled


def serve(host: str, port: int) -> None:
    """Runs until SIGTERM or SIGINT."""
    from config.asgi import application

    refuse_large_bodies()
    break_off_failed_replies()
    endpoint = f"tcp:port={port}:interface={host.replace(':', chr(92) + ':')}"
    PatientServer(
        flowing(application), endpoints=[endpoint], server_name="proctor", websocket_handshake_timeout=10, ping_interval=20, ping_timeout=30, http_timeout=None, verbosity=0
    ).run()
