"""What the platform needs to know of a task's content text: environment, template, image, resources, limits. Pure; the text itself
is never rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

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
