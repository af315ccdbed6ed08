"""What a rollout needs to know of a task's content text: environment, template, image, resources, limits. Pure; the text itself
is never rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from proctor.rollout.plan import Deadlines
from proctor.rollout.resources import Resources, read_resources


@dataclass(frozen=True)
class TaskFacts:
    """`args_text`, `columns_text`, `verifier_text` are JSON texts, exactly as stored; `wanted` is what its runtime config asks for."""

    env: str
    task_id: str
    args_text: str
    columns_text: str | None
    verifier_text: str | None
    image: str | None = None
    wanted: Resources = field(default_factory=Resources)
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
    image = runtime.get("image")
    return TaskFacts(
        env=row.env, task_id=row.id, args_text=_text(row.args) or "{}", columns_text=_text(row.columns), verifier_text=_text(row.verifier),
        image=image if isinstance(image, str) and image else None, wanted=read_resources(runtime), agent_config=row.agent_config or {},
    )  # fmt: skip


def deadlines_for(task: TaskFacts, rollout_timeout_s: float | None, agent_config: Mapping[str, Any]) -> Deadlines:
    """The rollout's own, narrowed by the row's; a config's `timeout_seconds` is the agent's."""
    plain = Deadlines()
    rollout_s = min(rollout_timeout_s or plain.rollout_s, task.wanted.run_timeout_s or float("inf"))
    wanted = agent_config.get("timeout_seconds")
    agent_s = float(wanted) if isinstance(wanted, int | float) and not isinstance(wanted, bool) and wanted > 0 else None
    return replace(plain, rollout_s=rollout_s, startup_s=min(task.wanted.startup_timeout_s or plain.startup_s, rollout_s), agent_s=agent_s)


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text
