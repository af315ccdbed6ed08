"""The in-process double of a sandboxed environment: a scriptable control channel on a loopback port.

It speaks the real protocol through the real driver, so only the container is pretended. The same story with a real engine
and a real server is `tests/docker/test_engine_docker.py`. Keeps a tally of what was asked, for tests and demonstrations.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import SandboxSpec

Reply = Callable[[dict[str, Any]], Any]


class Refuse(Exception):
    """Raised by a scripted reply: answer with this error frame."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def _echo_prompt(params: dict[str, Any]) -> Any:
    return {"prompt": f"Task {params.get('id')}"}


def _grade_any_answer(params: dict[str, Any]) -> Any:
    return {"score": 1.0 if params.get("answer") else 0.0}


@dataclass
class FakeScript:
    """How the environment behaves. A reply is a function of the params: what it returns is the result (a `str` is sent as the
    result's text, unparsed); `Refuse` answers with an error."""

    start: Reply = _echo_prompt
    grade: Reply = _grade_any_answer
    hello: Reply = lambda params: {"session_id": "sess-fake", "env": {"name": "fake", "version": "0"}, "bindings": []}
    silent: frozenset[str] = frozenset()
    """Methods never answered."""
    garbage: frozenset[str] = frozenset()
    """Methods answered with a line that is no reply."""
    hang_up: frozenset[str] = frozenset()
    """Methods at which the environment dies."""
    refuse_connects: int = 0
    """So many connections are accepted and closed first, as a port proxy does before the application listens."""
    fail_start: RolloutFailed | None = None
    exit_state: tuple[int | None, bool] | None = None
    output: bytes = b"fake environment\n"
    leaks: bool = False


@dataclass
class Tally:
    """What happened to all sandboxes of one engine."""

    started: int = 0
    removed: int = 0
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def methods(self) -> list[str]:
        """The methods called, in order."""
        return [method for method, _ in self.calls]


class FakeEngine:
    """Starts fake sandboxes; stands in for every kind."""

    kinds = frozenset({"fake", "docker", "subprocess"})

    def __init__(self, script: FakeScript | None = None) -> None:
        self.script = script or FakeScript()
        self.tally = Tally()

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> FakeSandbox:
        """A sandbox that serves already."""
        del spec, labels
        if self.script.fail_start is not None:
            raise self.script.fail_start
        sandbox = FakeSandbox(self.script, self.tally)
        await sandbox.serve()
        self.tally.started += 1
        return sandbox

    async def close(self) -> None:
        """Nothing to release."""


class FakeSandbox:
    """One fake environment. `plan.StartedSandbox` says what its methods promise."""

    image_id: str | None = "sha256:fake"

    def __init__(self, script: FakeScript, tally: Tally) -> None:
        self.host, self.port = "127.0.0.1", 0
        self.container_id: str | None = f"fake-{tally.started + 1}"
        self._script, self._tally = script, tally
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()
        self._refuse = script.refuse_connects
        self._dead = False

    async def serve(self) -> None:
        """Listen on a free loopback port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=16 * 1024 * 1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def locate(self) -> None:
        """The address is known."""

    async def tail(self) -> bytes:
        """The scripted output."""
        return self._script.output

    async def exit_state(self) -> tuple[int | None, bool] | None:
        """The scripted end, once it has died."""
        return self._script.exit_state if self._dead or self._refuse > 0 else None

    async def remove(self) -> bool:
        """Stop serving."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._tally.removed += 1
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        return not self._script.leaks

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._talk(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._refuse > 0:
                self._refuse -= 1
                return
            while line := await reader.readline():
                if not await self._answer(json.loads(line), writer):
                    return
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _answer(self, call: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """False: hang up."""
        method, params = call["method"], call.get("params") or {}
        self._tally.calls.append((method, params))
        if method in self._script.hang_up:
            self._dead = True
            return False
        if method in self._script.silent:
            return True
        writer.write(b"this is not a reply\n" if method in self._script.garbage else self._reply(call["id"], method, params))
        await writer.drain()
        return True

    def _reply(self, call_id: int, method: str, params: dict[str, Any]) -> bytes:
        replies: dict[str, Reply] = {
            "hello": self._script.hello,
            "tasks.start": self._script.start,
            "tasks.grade": self._script.grade,
            "tasks.list": lambda _: {"tasks": []},
            "tasks.cancel": lambda _: {"cancelled": True},
        }
        try:
            result = replies[method](params)
        except Refuse as refused:
            error = {"code": refused.code, "message": refused.message}
            return json.dumps({"jsonrpc": "2.0", "id": call_id, "error": error}).encode() + b"\n"
        text = re.sub(r"\n", " ", result) if isinstance(result, str) else json.dumps(result)
        return f'{{"jsonrpc":"2.0","id":{call_id},"result":{text}}}\n'.encode()
