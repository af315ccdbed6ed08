"""Containers for local runs: the rollout engine's own, on the default bridge, so that nothing but containers is ever made.

They carry the id of the process that made them: what a killed process left behind is removed before the next batch starts its first.
Needs the extra `rollout` (aiodocker).
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import SandboxSpec, StartedSandbox

PID_LABEL = "proctor.sdk.pid"
HOST_LABEL = "proctor.sdk.host"


class LocalDockerEngine:
    """See the module. `rollout.sandbox.DockerEngine` does the work."""

    kinds = frozenset({"docker"})

    def __init__(self, instance: str) -> None:
        try:
            from proctor.rollout.sandbox import INSTANCE_LABEL, DockerEngine
        except ImportError as error:
            raise RolloutFailed("platform", "Containers need the extra 'rollout': pip install 'proctor[rollout]'") from error
        self._engine = DockerEngine(own_network=False)
        self._instance = instance
        self._labels = {INSTANCE_LABEL: instance, PID_LABEL: str(os.getpid()), HOST_LABEL: socket.gethostname()}
        self._swept: asyncio.Task[None] | None = None

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> StartedSandbox:
        """A started container. Raises RolloutFailed when the image is not on the engine: nothing is pulled."""
        self._swept = self._swept or asyncio.create_task(self._sweep())
        await asyncio.shield(self._swept)
        return await self._engine.start(spec, {**labels, **self._labels})

    async def close(self) -> None:
        """Close the clients."""
        await self._engine.close()

    async def _sweep(self) -> None:
        for left in await self._engine.list_ours(self._instance):
            if left.labels.get(HOST_LABEL) == socket.gethostname() and not _is_alive(left.labels.get(PID_LABEL, "")):
                await self._engine.remove(left.id)


def _is_alive(pid: str) -> bool:
    if not pid.isdigit():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
