"""Control sessions: which task belongs to whom, and what each JSON-RPC method answers.

A session survives its connection. A dropped connection *parks* its task; a later `hello` with the session's id, or a bare
`tasks.grade` while exactly one task is parked, takes it up again. Codes: -32601 unknown method, -32602 bad parameters,
-32600 wrong moment, -32000 everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from .declare import Environment
from .frames import FrameError, MessageId, encode, error_frame, read_frame, result_frame
from .runner import TaskRunner

log = logging.getLogger(__name__)

Message = dict[str, Any]


class RpcError(Exception):
    """A refusal with its JSON-RPC code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def params_of(message: Message) -> dict[str, Any]:
    params = message.get("params") or {}
    if not isinstance(params, dict):
        raise RpcError(-32602, f"{message.get('method')}: 'params' must be an object")
    return params


class Channel:
    """The state of one served environment: a suspended task per session, and the sessions that have a connection."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.live: set[str] = set()
        self._runners: dict[str, TaskRunner] = {}

    async def start(self, session_id: str, task_id: str, args: dict[str, Any]) -> dict[str, Any]:
        """A second start replaces the first."""
        await self.cancel(session_id)
        runner = self._runners[session_id] = TaskRunner(self.env.templates[task_id], args)
        try:
            return await runner.start()
        except BaseException:
            await self.cancel(session_id)
            raise

    async def grade(self, session_id: str, answer: Any) -> dict[str, Any]:
        runner = self._runners.pop(session_id, None) or self._take_parked()
        return await runner.grade(answer)

    def _take_parked(self) -> TaskRunner:
        parked = sorted(self._runners.keys() - self.live)
        if not parked:
            raise RpcError(-32600, "no task in progress")
        if len(parked) > 1:
            raise RpcError(-32600, f"{len(parked)} parked sessions ({', '.join(parked)}); resume one by sending hello with its session_id")
        return self._runners.pop(parked[0])

    async def cancel(self, session_id: str) -> None:
        runner = self._runners.pop(session_id, None)
        if runner is not None:
            await runner.cancel()

    async def cancel_all(self) -> None:
        for session_id in list(self._runners):
            await self.cancel(session_id)

    def resume(self, current: str, requested: Any) -> str:
        """Make the connection of `current` speak for the parked session `requested`."""
        if not isinstance(requested, str):
            raise RpcError(-32602, "hello: 'session_id' must be a string")
        if requested in self.live:
            raise RpcError(-32600, f"session {requested!r} has a live connection")
        if requested not in self._runners:
            raise RpcError(-32600, f"unknown session: {requested!r}")
        self.live.discard(current)
        self.live.add(requested)
        return requested


class Session:
    """One control connection. Start and grade run the author's code, which takes as long as it likes: they run beside the
    read loop, so that a cancel or a bye still gets through. When the peer hangs up, a start may finish, to be parked; a
    grade is stopped, for nobody is left to receive it."""

    def __init__(self, channel: Channel, writer: asyncio.StreamWriter) -> None:
        self._channel, self._env, self._writer = channel, channel.env, writer
        self._id = "sess-" + secrets.token_hex(4)
        self._work: asyncio.Task[None] | None = None
        self._work_message: Message = {}
        channel.live.add(self._id)
        self._methods: dict[str, Callable[[Message], Awaitable[dict[str, Any]]]] = {
            "hello": self._hello,
            "tasks.list": self._list,
            "tasks.start": self._start,
            "tasks.grade": self._grade,
        }

    async def run(self, first: Message, reader: asyncio.StreamReader) -> None:
        message: Message | None = first
        try:
            while message is not None and await self._receive(message):
                message = await read_frame(reader)
            if self._work is not None and self._work_message["method"] == "tasks.start":
                await self._work
        finally:
            await self._stop_work()
            self._channel.live.discard(self._id)

    async def _receive(self, message: Message) -> bool:
        """Act on one message; False once the peer has said goodbye."""
        method = message.get("method")
        if method in ("tasks.cancel", "bye"):
            return await self._interrupt(method, message)
        if self._work is not None:
            await self._send(message, error_frame(message.get("id"), -32600, f"{method}: a task call is still running"))
        elif method in ("tasks.start", "tasks.grade"):
            self._work_message = message
            self._work = asyncio.create_task(self._do_work(message))
        else:
            await self._send(message, await self._answer(message))
        return True

    async def _interrupt(self, method: str, message: Message) -> bool:
        if self._work is not None:
            interrupted = self._work_message
            await self._stop_work()
            await self._send(interrupted, error_frame(interrupted.get("id"), -32000, f"{method} interrupted the task"))
        await self._channel.cancel(self._id)
        done = {"goodbye": True} if method == "bye" else {"cancelled": True}
        await self._send(message, result_frame(message.get("id"), done))
        return method != "bye"

    async def _do_work(self, message: Message) -> None:
        frame = await self._answer(message)
        self._work = None  # from here on the call is over: nothing can interrupt its reply
        if not await self._send(message, frame) and message["method"] == "tasks.start":
            await self._channel.cancel(self._id)

    async def _stop_work(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def _answer(self, message: Message) -> Message:
        method, message_id = message.get("method"), message.get("id")
        try:
            handler = self._methods.get(method) if isinstance(method, str) else None
            if handler is None:
                raise RpcError(-32601, f"method not found: {method}")
            return result_frame(message_id, await handler(params_of(message)))
        except RpcError as error:
            return error_frame(message_id, error.code, str(error))
        except Exception as error:
            log.exception("%s failed in environment %r", method, self._env.name)
            return error_frame(message_id, -32000, str(error) or type(error).__name__)

    async def _send(self, message: Message, frame: Message) -> bool:
        """Send a reply, or why it cannot be sent; False in the second case. A notification (no id) gets none, and a peer that
        has gone needs none."""
        message_id: MessageId = message.get("id")
        if message_id is None:
            return True
        sent = True
        try:
            data = encode(frame)
        except FrameError as error:
            log.error("%s: %s", message.get("method"), error)
            data, sent = encode(error_frame(message_id, -32000, str(error))), False
        with contextlib.suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()
        return sent

    async def _hello(self, params: Message) -> dict[str, Any]:
        requested = params.get("session_id")
        if requested is not None and requested != self._id:
            self._id = self._channel.resume(self._id, requested)
        for key in ("workspace_routes", "connections"):
            _refuse_workspaces(key, params.get(key, []))
        return {
            "session_id": self._id,
            "env": {"name": self._env.name, "version": self._env.version},
            "bindings": [capability.to_manifest() for capability in self._env.capabilities],
        }

    async def _list(self, params: Message) -> dict[str, Any]:
        return {"tasks": [template.manifest_entry() for template in self._env.templates.values()]}

    async def _start(self, params: Message) -> dict[str, Any]:
        task_id, args = params.get("id"), params.get("args")
        if not isinstance(task_id, str):
            raise RpcError(-32602, "tasks.start: 'id' must be a string")
        if args is not None and not isinstance(args, dict):
            raise RpcError(-32602, "tasks.start: 'args' must be an object")
        if task_id not in self._env.templates:
            raise RpcError(-32602, f"unknown task: {task_id!r}")
        return await self._channel.start(self._id, task_id, args or {})

    async def _grade(self, params: Message) -> dict[str, Any]:
        return await self._channel.grade(self._id, params.get("answer"))


def _refuse_workspaces(key: str, entries: Any) -> None:
    """Routes and relayed connections belong to workspaces, and this server has none."""
    if not isinstance(entries, list):
        raise RpcError(-32602, f"hello: {key!r} must be a list")
    for entry in entries:
        name = entry.get("capability") if isinstance(entry, dict) else entry
        raise RpcError(-32000, f"workspace capability {name!r} does not exist")
