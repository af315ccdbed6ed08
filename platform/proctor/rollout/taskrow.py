"""What a rollout needs to know of a task's content text: environment, template, image, resources, limits. Pure; the text itself
is never rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from proctor.rollout.plan import Deadlines

LARGEST = 1e9


@dataclass(frozen=True)
class TaskFacts:
    """`args_text`, `columns_text`, `verifier_text` are JSON texts, exactly as stored; numbers of `resources` as given."""

    env: str
    task_id: str
    args_text: str
    columns_text: str | None
    verifier_text: str | None
    image: str | None = None
    cpu: float | None = None
    memory_mb: int | None = None
    startup_timeout_s: float | None = None
    run_timeout_s: float | None = None
    agent_config: dict[str, Any] = field(default_factory=dict)


class _Row(msgspec.Struct):
    env: str
    id: str
    args: msgspec.Raw = msgspec.Raw(b"{}")
    columns: msgspec.Raw = msgspec.Raw(b"null")
    verifier: msgspec.Raw = msgspec.Raw(b"null")
    agent_config: dict[str, Any] | None = None
    runtime_config: dict[str, Any] | None = None


_row = msgspec.json.Decoder(_Row)


def read_task(text: str | bytes | memoryview) -> TaskFacts:
    row = _row.decode(text if isinstance(text, str) else bytes(text))
    runtime = row.runtime_config or {}
    resources, limits = _object(runtime.get("resources")), _object(runtime.get("limits"))
    image = runtime.get("image")
    return TaskFacts(
        env=row.env, task_id=row.id, args_text=_text(row.args) or "{}", columns_text=_text(row.columns), verifier_text=_text(row.verifier),
        image=image if isinstance(image, str) and image else None, cpu=_positive(resources.get("cpu")), memory_mb=_whole(resources.get("memory_mb")),
        startup_timeout_s=_positive(limits.get("startup_timeout_s")), run_timeout_s=_positive(limits.get("run_timeout_s")), agent_config=row.agent_config or {},
    )  # fmt: skip


def deadlines_for(task: TaskFacts, rollout_timeout_s: float | None, agent_config: Mapping[str, Any]) -> Deadlines:
    """The rollout's own, narrowed by the row's; a config's `timeout_seconds` is the agent's."""
    plain = Deadlines()
    rollout_s = min(rollout_timeout_s or plain.rollout_s, task.run_timeout_s or float("inf"))
    wanted = agent_config.get("timeout_seconds")
    agent_s = float(wanted) if isinstance(wanted, int | float) and not isinstance(wanted, bool) and wanted > 0 else None
    return replace(plain, rollout_s=rollout_s, startup_s=min(task.startup_timeout_s or plain.startup_s, rollout_s), agent_s=agent_s)


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _positive(value: object) -> float | None:
    """Bounded, so that what nobody has (1e308 processors, a number of 400 digits) is still a number, for the engine to refuse."""
    return float(min(value, LARGEST)) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _whole(value: object) -> int | None:
    number = _positive(value)
    return int(number) if number is not None else None
