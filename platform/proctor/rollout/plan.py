"""The values that cross the boundary of the engine: a plan goes in, reports come out while it runs, an outcome at the end.

Plain frozen dataclasses, no behaviour beyond tiny properties. JSON that belongs to people (args, grade frames, steps) stays
text or bytes, exactly as it was. May import nothing but the standard library.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Blame = Literal["agent", "environment", "grader", "provider", "task", "platform"]
Status = Literal["completed", "error", "cancelled"]
Phase = Literal["starting", "setup", "running", "waiting_model", "grading", "stopping"]


@dataclass(frozen=True)
class ModelRoute:
    """Where the run's model is served. `api_key` and header values are secrets: never in logs, spans or errors."""

    model: str
    base_url: str
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    completions_url: str = ""
    """The whole address of chat completions, query and all; empty: below `base_url`."""


@dataclass(frozen=True)
class SandboxSpec:
    """What to start. `docker`: `image` on the engine. `subprocess`: `command` runs unsandboxed (shipped samples, and the SDK's local
    runs of the caller's own code). `served`: somebody serves already, or lends one; the given engine knows where. `fake`: the
    in-process double. `remote`: nothing of ours, the plan's `task_app` runs the task."""

    kind: Literal["docker", "subprocess", "served", "fake", "remote"]
    image: str | None = None
    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cpu: float = 1.0
    memory_mb: int = 2048
    pids: int = 512
    speaks: Literal["control", "hud02"] = "control"
    """How the environment is driven: HUD's control channel on a port, or function calls inside the container (HUD 0.2.x)."""
    nested: bool = False
    """The environment keeps a sandbox of its own inside (a `ssh/2` workspace): it gets HUD's system-call profile, not the engine's."""
    environment: str = ""
    """The environment's name, for engines that serve several."""
    network: str | None = None
    """Name of a network that worker and sandbox share: then the address is the container's own. None: a published port on 127.0.0.1."""


@dataclass(frozen=True)
class TaskAppRoute:
    """A Task App that runs whole rollouts, its policy included. `policy` is the policy's config as the app gets it; `secrets` are the texts
    (keys, in `policy` too) that are taken out of whatever it answers."""

    url: str
    key: str = field(default="", repr=False)
    public_only: bool = True
    policy: Mapping[str, Any] = field(default_factory=dict, repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True)
class Deadlines:
    """Seconds. `rollout_s` bounds the whole; the others nest inside it."""

    rollout_s: float = 3600.0
    startup_s: float = 240.0
    setup_s: float = 300.0
    grading_s: float = 600.0
    agent_s: float | None = None
    """None: what the rollout has, less 60 s (half of it when that is under 120)."""
    model_call_s: float = 600.0


@dataclass(frozen=True)
class RolloutPlan:
    """One attempt at one run."""

    run_id: str
    """Dashed UUID, as on the wire."""
    attempt: int
    env: str
    task_id: str
    args_text: str
    """A JSON object, as text."""
    slug: str | None
    columns_text: str | None
    agent_type: str
    agent_config: Mapping[str, Any]
    sandbox: SandboxSpec
    model: ModelRoute | None = None
    task_app: TaskAppRoute | None = None
    """Set for sandbox kind `remote`: the rollout happens there."""
    verifier_text: str | None = None
    """The verifier's task row (`env`, `id`, `args`, …) as JSON text."""
    verifier_sandbox: SandboxSpec | None = None
    """None: the verifier shares this run's sandbox."""
    deadlines: Deadlines = Deadlines()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels for everything made on the engine: instance, run, attempt, expiry."""


@dataclass(frozen=True)
class Failure:
    """Why a run has no grade. `failure_class` is a stable word: `image_missing`, `environment_start`, `environment_exit`,
    `environment_protocol`, `environment_lost`, `setup`, `agent`, `model_http`, `model_timeout`, `model_reply`, `model_refused`,
    `timeout`, `grading`, `ungraded`, `cancelled`, `lost`, `platform`; of a Task App `peer_unreachable`, `peer_auth`, `peer_refused`,
    `peer_error`, `peer_lost`, `peer_timeout`, `peer_reply`."""

    failure_class: str
    blame: Blame
    message: str
    """What happened, to which object, what to try; holds no secret; at most 4,000 characters."""
    again: bool = False
    """The run had no part in it: another attempt may go better."""


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended. `evaluation_text` is the grade frame as the environment sent it (JSON text), None when ungraded.
    A failed grade has `failure` set and whatever frame there was. `status` uses HUD's words."""

    status: Status
    evaluation_text: str | None = None
    failure: Failure | None = None
    stop_reason: str | None = None
    """`done`, `max_steps`, `length`, `timeout`, `malformed_tool_call`, …"""
    answer: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    container_id: str | None = None
    image_id: str | None = None
    exit_code: int | None = None
    oom_killed: bool = False
    container_leaked: bool = False
    log_tail: bytes = b""
    """The last 256 KiB of the container's output."""
    steps: Sequence[bytes] = ()
    """The last spans, which no report had: whoever writes the end writes them with it, in one go."""


class Report(Protocol):
    """Where a rollout tells what it does. Every method may raise `asyncio.CancelledError` (fenced: somebody else holds the run):
    the rollout then cleans up and ends."""

    async def phase(self, phase: Phase, **facts: Any) -> None:
        """`starting`: nothing yet. `setup`: sandbox answers; facts `container_id`, `image_id`. `running`: the prompt is there.
        `waiting_model` and back: about every model call. `grading`. Facts are JSON values."""

    async def steps(self, spans: Sequence[bytes]) -> None:
        """Spans as JSON objects in the HUD envelope (`contracts/hud.md` 3.2), each `hud.step.v1`. Returns when they are durable."""


class Sandbox(Protocol):
    """A started environment: an address, and what became of it."""

    host: str
    port: int
    container_id: str | None
    image_id: str | None

    async def tail(self) -> bytes:
        """The last 256 KiB of output so far."""

    async def exit_state(self) -> tuple[int | None, bool] | None:
        """(exit code, killed for memory) when it has ended, else None."""


class StartedSandbox(Sandbox, Protocol):
    """What a sandbox engine hands to the rollout: a sandbox, its readiness, and its end."""

    async def locate(self) -> None:
        """Look again where the environment serves (the announced port), so that `host` and `port` are the best known."""

    async def remove(self) -> bool:
        """Kill and remove, with everything inside. True: verified gone; False: it leaked. May be called twice."""


class SandboxEngine(Protocol):
    """Starts sandboxes. One engine serves many rollouts on one event loop."""

    kinds: frozenset[str]
    """The `SandboxSpec.kind` values it serves; for another kind `run_rollout` makes its own engine."""

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> StartedSandbox:
        """A started sandbox, its process not yet ready. Raises `errors.RolloutFailed`; then, or when cancelled, nothing is left."""

    async def close(self) -> None:
        """Release clients. Started sandboxes are not touched."""


def outcome_of(cancelled: asyncio.CancelledError) -> Outcome | None:
    """What became of a cancelled rollout (container_leaked, tokens, log tail): `run_rollout` hangs it on the exception it re-raises."""
    return getattr(cancelled, "outcome", None)
