"""Proctor's SDK: tasks and tasksets, runs anywhere, environments, and the server's client. Needs neither Django nor the server.

    import proctor

    taskset = proctor.Taskset.from_file("tasks.jsonl")
    job = taskset.run_sync(proctor.openai_compatible("gpt-5"), runtime=proctor.LocalRuntime("env.py"))
    print(job.reward, job.counts)

Names are loaded when they are first used, so that `import proctor` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.agents import AgentContext, noop, openai_compatible, replay
    from proctor.client import AsyncClient, Client
    from proctor.environment import Environment
    from proctor.errors import ProctorError
    from proctor.jobs import DockerRuntime, HostedRuntime, Job, LocalRuntime, Run, Runtime, TunnelRuntime
    from proctor.tasks import Task, Taskset

__version__ = "0.1.0"

_HOMES = {
    "AgentContext": "proctor.agents", "noop": "proctor.agents", "openai_compatible": "proctor.agents", "replay": "proctor.agents",
    "AsyncClient": "proctor.client", "Client": "proctor.client", "Environment": "proctor.environment", "ProctorError": "proctor.errors",
    "DockerRuntime": "proctor.jobs", "HostedRuntime": "proctor.jobs", "Job": "proctor.jobs", "LocalRuntime": "proctor.jobs",
    "Run": "proctor.jobs", "Runtime": "proctor.jobs", "TunnelRuntime": "proctor.jobs", "Task": "proctor.tasks", "Taskset": "proctor.tasks",
}  # fmt: skip

__all__ = [
    "AgentContext", "AsyncClient", "Client", "DockerRuntime", "Environment", "HostedRuntime", "Job", "LocalRuntime", "ProctorError", "Run",
    "Runtime", "Task", "Taskset", "TunnelRuntime", "__version__", "noop", "openai_compatible", "replay",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'proctor' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
