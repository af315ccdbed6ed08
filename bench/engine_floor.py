"""The floor of a rollout: bare aiodocker on the product's own sample image, and no row is written.

Create, start, wait until the port answers, `hello`, `tasks.start`, `tasks.grade`, kill, remove. The container has no limits, no
network and no init of its own: a plain one on the engine's default bridge, its port published on loopback.
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
PORT = "8765/tcp"


@dataclass(frozen=True)
class Task:
    id: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Life:
    """Seconds from the beginning: the engine says it runs; it answered `hello`."""

    started: float
    ready: float


async def rollout(docker: aiodocker.Docker, image: str, task: Task) -> Life:
    began = time.perf_counter()
    config = {
        "Image": image,
        "Labels": {LABEL: "1"},
        "ExposedPorts": {PORT: {}},
        "HostConfig": {"PortBindings": {PORT: [{"HostIp": "127.0.0.1", "HostPort": ""}]}},
    }
    container = await docker.containers.create(config, name=f"bench-{uuid.uuid4().hex[:12]}")
    await container.start()
    started = time.perf_counter() - began
    shown = await container.show()
    control = await connect("127.0.0.1", int(shown["NetworkSettings"]["Ports"][PORT][0]["HostPort"]))
    ready = time.perf_counter() - began
    await control.call("tasks.start", id=task.id, args=task.args)
    await control.call("tasks.grade", answer="")
    control.writer.close()
    await container.kill()
    await container.delete(force=True)
    return Life(started, ready)


async def rollouts(image: str, task: Task, *, concurrency: int, total: int) -> tuple[float, list[Life]]:
    """Seconds for all, and each one's life."""
    gate = asyncio.Semaphore(concurrency)

    async def one(docker: aiodocker.Docker) -> Life:
        async with gate:
            return await rollout(docker, image, task)

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


def run_floor(image: str, task: Task, *, concurrency: int, total: int) -> tuple[float, list[Life]]:
    return asyncio.run(rollouts(image, task, concurrency=concurrency, total=total))
