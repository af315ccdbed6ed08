"""The floor of a rollout: bare aiodocker on the product's own sample image, and no row is written.

Create, start, wait until the port answers, `hello`, `tasks.start`, `tasks.grade`, kill, remove. The container is asked for in the very
words in which the product asks for its own (image, limits, network, init), which are read off one of the product's containers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

import aiodocker
from aiodocker.exceptions import DockerError

from bench.control import connect

LABEL = "proctor-bench.floor"
PORT = 8765


@dataclass(frozen=True)
class Task:
    id: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Life:
    """Seconds from the beginning: the engine says it runs; it answered `hello`."""

    started: float
    ready: float


async def request_like(instance: str) -> dict[str, Any]:
    """Waits for a container of this instance; returns a request for more of the kind."""
    filters = json.dumps({"label": [f"proctor.instance={instance}"]})
    async with aiodocker.Docker() as docker:
        while not (found := await docker.containers.list(filters=filters)):
            await asyncio.sleep(0.02)
        shown = await found[0].show()
    kept = {name: shown["Config"][name] for name in ("Image", "Env", "Cmd", "Entrypoint", "ExposedPorts")}
    return {**kept, "HostConfig": shown["HostConfig"], "Labels": {LABEL: "1"}}


async def rollout(docker: aiodocker.Docker, request: dict[str, Any], task: Task) -> Life:
    began = time.perf_counter()
    container = await docker.containers.create(request, name=f"bench-{uuid.uuid4().hex[:12]}")
    await container.start()
    started = time.perf_counter() - began
    shown = await container.show()
    control = await connect(*address(shown["NetworkSettings"]))
    ready = time.perf_counter() - began
    await control.call("tasks.start", id=task.id, args=task.args)
    await control.call("tasks.grade", answer="")
    control.writer.close()
    await container.kill()
    await container.delete(force=True)
    return Life(started, ready)


def address(settings: dict[str, Any]) -> tuple[str, int]:
    """The published port on loopback, else the container's own address."""
    if published := (settings["Ports"] or {}).get(f"{PORT}/tcp"):
        return "127.0.0.1", int(published[0]["HostPort"])
    return next(network["IPAddress"] for network in settings["Networks"].values()), PORT


async def rollouts(request: dict[str, Any], task: Task, *, concurrency: int, total: int) -> tuple[float, list[Life]]:
    """Seconds for all, and each one's life."""
    gate = asyncio.Semaphore(concurrency)

    async def one(docker: aiodocker.Docker) -> Life:
        async with gate:
            return await rollout(docker, request, task)

    async with aiodocker.Docker() as docker:
        began = time.perf_counter()
        try:
            lives = await asyncio.gather(*(one(docker) for _ in range(total)))
            return time.perf_counter() - began, list(lives)
        finally:
            await remove_left(docker)


async def remove_left(docker: aiodocker.Docker) -> None:
    for container in await docker.containers.list(all=True, filters=json.dumps({"label": [LABEL]})):
        with contextlib.suppress(DockerError):  # an interrupted rollout removes its own, too
            await container.delete(force=True)


def run_floor(request: dict[str, Any], task: Task, *, concurrency: int, total: int) -> tuple[float, list[Life]]:
    return asyncio.run(rollouts(request, task, concurrency=concurrency, total=total))
