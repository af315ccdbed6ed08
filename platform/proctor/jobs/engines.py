"""Sandbox engines for what is not started by a command: an address, a live environment, and several places behind one engine.

`rollout.plan` says what an engine and a sandbox promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from proctor.environment.declare import Environment
from proctor.environment.server import Server
from proctor.jobs.runtimes import Place
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import SandboxEngine, SandboxSpec, StartedSandbox

SERVED = frozenset({"served"})


class ServedSandbox:
    """An environment at an address, that is not ours to end."""

    container_id: str | None = None
    image_id: str | None = None

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    async def locate(self) -> None:
        """The address is known."""

    async def tail(self) -> bytes:
        """Its output is elsewhere."""
        return b""

    async def exit_state(self) -> tuple[int | None, bool] | None:
        """Not known."""
        return None

    async def remove(self) -> bool:
        """Nothing is ours."""
        return True


class AddressEngine:
    """Hands out one address."""

    kinds = SERVED

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> ServedSandbox:
        """The address."""
        del spec, labels
        return ServedSandbox(self._host, self._port)

    async def close(self) -> None:
        """Nothing to release."""


class InProcessEngine:
    """Serves a live environment in this event loop, on a port of its own for each rollout; its hooks run once."""

    kinds = SERVED

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._started: asyncio.Task[None] | None = None

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> _OwnServer:
        """A server that listens already."""
        del spec, labels
        self._started = self._started or asyncio.create_task(self._env.start())
        try:
            await asyncio.shield(self._started)
        except Exception as error:
            raise RolloutFailed("environment_start", f"The environment's initialize hook raised {type(error).__name__}: {error}") from error
        server = Server(self._env)
        await server.__aenter__()
        return _OwnServer(server)

    async def close(self) -> None:
        """Run the shutdown hooks."""
        if self._started is not None and not (await asyncio.gather(self._started, return_exceptions=True))[0]:
            await self._env.stop()


class _OwnServer(ServedSandbox):
    def __init__(self, server: Server) -> None:
        super().__init__("127.0.0.1", server.port)
        self._server: Server | None = server

    async def remove(self) -> bool:
        """Stop serving."""
        server, self._server = self._server, None
        if server is not None:
            await server.__aexit__()
        return True


class Places:
    """One engine for all environments of a batch, each started by its own place's engine, which is made when it is first needed."""

    kinds = frozenset({"docker", "subprocess", "served", "fake"})

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._engines: dict[int, SandboxEngine] = {}

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> StartedSandbox:
        """By the environment's name."""
        place = self._places[spec.environment]
        if id(place) not in self._engines:
            self._engines[id(place)] = place.make_engine()
        return await self._engines[id(place)].start(spec, labels)

    async def close(self) -> None:
        """Close what was made."""
        for engine in self._engines.values():
            await engine.close()
        self._engines.clear()
