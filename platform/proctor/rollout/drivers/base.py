"""The driver contract: how one task is set up, graded and cancelled in a started environment.

A driver opens a `Session`; JSON that the environment made (`start`, `grade`) is handed on as the text it sent. A session
raises `ControlError` when the environment answers with an error, `ControlLost` when it is gone, and `RolloutFailed` when it
does not keep to the protocol. May import `plan` and `errors` only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Capability:
    """Something an agent may use in the environment. `url` is local to the environment: reach it by `Session.address_of`."""

    name: str
    protocol: str
    url: str
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Manifest:
    """What the environment said of itself."""

    session_id: str
    env_name: str
    env_version: str
    capabilities: Sequence[Capability] = ()


@dataclass(frozen=True)
class SessionTool:
    """A tool that the session itself gives the agent: `call` takes arguments and returns an MCP result. `_meta` with `proctor/ends` true
    in it: the environment says that there is nothing left to do."""

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]] = field(repr=False)


class Session(Protocol):
    """One connection to one environment, calls one at a time."""

    manifest: Manifest
    address: tuple[str, int] | None
    """Host and port of the control channel, for who opens a session of their own; None when there is no such channel."""
    tools: Sequence[SessionTool]
    """Beside those of capabilities; known once the task is started."""
    lost: asyncio.Future[None]
    """Ends with the exception that ended the connection, as soon as that is known."""

    async def start(self, task_id: str, args_text: str) -> str:
        """Set the task up; the start frame (`{"prompt": …}`) as text."""

    async def grade(self, answer_text: str) -> str:
        """Grade an answer, given as JSON text; the grade frame as text."""

    async def list_tasks(self) -> str:
        """The manifest of tasks, as text."""

    async def cancel(self, within_s: float) -> None:
        """Ask for the task's teardown, also while a call is outstanding; never raises, never takes longer."""

    async def address_of(self, capability: Capability) -> str:
        """A URL on this machine that leads to the capability."""

    async def close(self) -> None:
        """Say goodbye and release everything. Never raises."""


class Driver(Protocol):
    """Opens sessions. Raises `ControlLost` while nobody serves at the address yet."""

    async def connect(self, host: str, port: int) -> Session:
        """One try."""
