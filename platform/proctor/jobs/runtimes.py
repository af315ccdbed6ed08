"""The places where environments run. A place says whether it can run a task, what the engine is to start for it, and how many at once.

`LocalRuntime`: a process of this machine, or this very process. `DockerRuntime`: a container each. `Runtime`: somebody serves already.
`TunnelRuntime`: the server runs the environment, the agent works here. `HostedRuntime`: the server does all of it.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from proctor.environment.declare import Environment
from proctor.jobs.sources import Declared, declared_in
from proctor.rollout.plan import SandboxEngine, SandboxSpec
from proctor.rollout.taskrow import TaskFacts

if TYPE_CHECKING:
    from proctor.client import Access

DEFAULT_CONCURRENT = max(4, os.cpu_count() or 1)
SERVED_CONCURRENT = 16
KEPT_BACK = frozenset({"PROCTOR_API_KEY", "HUD_API_KEY"})
SDK_INSTANCE = f"sdk-{socket.gethostname()}"
PACKAGES = str(Path(__file__).resolve().parents[2])


class Place(Protocol):
    """What `Taskset.run` asks of a runtime."""

    max_concurrent: int
    """Rollouts at once in this place, whatever the job allows."""

    def why_not(self, task: TaskFacts) -> str | None:
        """Why this task can't run here; None when it can."""

    def describe(self, env: str) -> str:
        """Where this environment runs, for people."""

    def spec(self, task: TaskFacts) -> SandboxSpec:
        """What the engine is to start."""

    def make_engine(self) -> SandboxEngine:
        """Starts those; made once a batch, inside its event loop."""


class LocalRuntime:
    """`LocalRuntime("env.py")`: each rollout has a process of its own that serves the file's environment of the task's name; it sees
    this process's variables, without API keys, and `env_vars`. `LocalRuntime(env)`: a live environment, served in this process."""

    def __init__(self, source: str | Path | Environment, *, env_vars: Mapping[str, str] | None = None, max_concurrent: int | None = None) -> None:
        self._live = source if isinstance(source, Environment) else None
        self._path = None if isinstance(source, Environment) else Path(source).resolve()
        self._env_vars = dict(env_vars or {})
        self._declared: Declared | None = None
        self.max_concurrent = max_concurrent or DEFAULT_CONCURRENT

    @property
    def declared(self) -> Declared:
        """What the source says it holds, read without running it."""
        if self._declared is None:
            self._declared = Declared(frozenset({self._live.name})) if self._live else declared_in(self._path or Path())
        return self._declared

    def why_not(self, task: TaskFacts) -> str | None:
        """The source must declare the environment."""
        return self.declared.why_not(task.env, "the live environment" if self._live else str(self._path))

    def describe(self, env: str) -> str:
        """`process: env.py`."""
        return "this process" if self._live else f"a process of {self._path}"

    def spec(self, task: TaskFacts) -> SandboxSpec:
        """A command that serves on a port it prints."""
        if self._live:
            return SandboxSpec("served", environment=task.env)
        module = "hud.environment.server" if self.declared.is_hud else "proctor.environment"
        command = [sys.executable, "-m", module, str(self._path), "--env", task.env]
        return SandboxSpec("subprocess", command=command, env=self._variables(), environment=task.env)

    def _variables(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in KEPT_BACK}
        path = os.pathsep.join([PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**inherited, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **self._env_vars}

    def make_engine(self) -> SandboxEngine:
        """Processes that die with us; or servers in this loop."""
        if self._live:
            from proctor.jobs.engines import InProcessEngine

            return InProcessEngine(self._live)
        from proctor.rollout.processes import SubprocessEngine

        return SubprocessEngine()


class DockerRuntime:
    """A container for each rollout, of `image` (one for all, or one per environment) unless the task names its own; limits as on the
    server, a task's own first. Needs the extra `rollout`."""

    def __init__(
        self, image: str | Mapping[str, str] | None = None, *, env_vars: Mapping[str, str] | None = None, cpu: float = 1.0,
        memory_mb: int = 2048, nested: bool = False, max_concurrent: int | None = None,
    ) -> None:  # fmt: skip
        self._image, self._env_vars = image, dict(env_vars or {})
        self._cpu, self._memory_mb, self._nested = cpu, memory_mb, nested
        self.max_concurrent = max_concurrent or DEFAULT_CONCURRENT

    def _image_of(self, env: str) -> str | None:
        return self._image if isinstance(self._image, str | None) else self._image.get(env)

    def why_not(self, task: TaskFacts) -> str | None:
        """There must be an image."""
        return None if task.image or self._image_of(task.env) else f"no image is named for {task.env!r}"

    def describe(self, env: str) -> str:
        """`container: image`."""
        return f"a container of {self._image_of(env) or 'the image that the task names'}"

    def spec(self, task: TaskFacts) -> SandboxSpec:
        """The task's own image, processors and memory come first."""
        return SandboxSpec(
            "docker", image=task.image or self._image_of(task.env), env=self._env_vars, cpu=task.wanted.cpu or self._cpu,
            memory_mb=task.wanted.memory_mb or self._memory_mb, nested=self._nested, environment=task.env,
        )  # fmt: skip

    def make_engine(self) -> SandboxEngine:
        """Containers on this machine's engine, labelled so that a killed run's are removed by the next one."""
        from proctor.jobs.containers import LocalDockerEngine

        return LocalDockerEngine(SDK_INSTANCE)


class Runtime:
    """`Runtime("tcp://127.0.0.1:8765")`: an environment that is served already, one session a rollout."""

    def __init__(self, url: str, *, max_concurrent: int = SERVED_CONCURRENT) -> None:
        parts = urlsplit(url)
        if parts.scheme != "tcp" or not parts.hostname or not parts.port:
            raise ValueError(f"a served environment's address is like tcp://127.0.0.1:8765, not {url!r}")
        self._host, self._port = parts.hostname, parts.port
        self.max_concurrent = max_concurrent

    def why_not(self, task: TaskFacts) -> str | None:
        """Known only when asked."""
        del task
        return None

    def describe(self, env: str) -> str:
        """Its address."""
        return f"served at {self._host}:{self._port}"

    def spec(self, task: TaskFacts) -> SandboxSpec:
        """Nothing is started."""
        return SandboxSpec("served", environment=task.env)

    def make_engine(self) -> SandboxEngine:
        """Hands out the address."""
        from proctor.jobs.engines import AddressEngine

        return AddressEngine(self._host, self._port)


class TunnelRuntime:
    """The server lends an environment for each rollout, over a websocket; the agent works here. By the environment's name alone: a
    task's own image and resources are the server's to decide. Needs a key."""

    def __init__(self, *, access: Access | None = None, max_concurrent: int = SERVED_CONCURRENT) -> None:
        self._access = access
        self.max_concurrent = max_concurrent

    def why_not(self, task: TaskFacts) -> str | None:
        """Known only when asked."""
        del task
        return None

    def describe(self, env: str) -> str:
        """The server."""
        return "the server, through a tunnel"

    def spec(self, task: TaskFacts) -> SandboxSpec:
        """By name."""
        return SandboxSpec("served", environment=task.env)

    def make_engine(self) -> SandboxEngine:
        """Sessions on the server."""
        from proctor.client import find_access
        from proctor.jobs.tunnel import TunnelEngine

        return TunnelEngine(self._access or find_access())


@dataclass(frozen=True)
class HostedRuntime:
    """The server runs agent and environment; this process submits the job and follows it. For tasksets that are on the server."""

    poll_s: float = 1.0
    """Seconds between looks at the job."""
