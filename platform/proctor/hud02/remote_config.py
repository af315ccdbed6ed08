"""Which call a remote environment gets for `setup` or `evaluate`: `create_remote_config`, as in 0.2.x but without touching its input.

Five cases, the first that fits: an explicit config; the task's attribute of that name; the task's `config`; the task's id; nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from proctor.hud02.calls import ANSWER_FUNCTIONS, Call, answered, expand_calls, with_argument

PRIVATE_PREFIX = "private_"


class LegacyTask(Protocol):
    """What is read of a task; `setup` and `evaluate` too, when the call is for them."""

    @property
    def id(self) -> str | None: ...

    @property
    def config(self) -> Mapping[str, Any] | None: ...


def create_remote_config(
    task: LegacyTask | None,
    function: str | None,
    config: Any = None,
    *,
    final_response: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Call]:
    """The call of `function` (`setup` or `evaluate`), the chosen calls nested in its arguments; with function None, the config's own calls.

    `final_response` is the agent's answer, appended where 0.2.10 does. An explicit config carries `metadata`, all else the task's.
    Raises ValueError when there is nothing to call, `BadCall` for a config that is none.
    """
    if function is None:
        if not config:
            raise ValueError("Name a function or give a config")
        return expand_calls(config)
    if config:
        return [Call(function, _answered_by_argument(expand_calls(config), final_response), metadata=dict(metadata or {}))]
    if task is None:
        raise ValueError("Give a task or a config")
    return [replace(_from_task(task, function, final_response), metadata=task_metadata(task))]


def task_metadata(task: LegacyTask) -> dict[str, Any]:
    """The task's metadata for the environment, its `sensitive_data` among it."""
    found = {str(key): value for key, value in (getattr(task, "metadata", None) or {}).items()}
    sensitive = getattr(task, "sensitive_data", None)
    return {**found, "sensitive_data": sensitive} if sensitive else found


def _from_task(task: LegacyTask, function: str, answer: str | None) -> Call:
    if chosen := getattr(task, function, None):
        calls = expand_calls(chosen)
        first = replace(calls[0], id=task.id) if task.id else calls[0]
        return Call(function, (answered(first, answer or None), *calls[1:]))
    if task.config:
        return Call(function, (_merged(task.config, task.id, answer),))
    answers = () if not answer else (answer,)
    return Call(f"{PRIVATE_PREFIX}{function}", (task.id, *answers)) if task.id else Call(function, answers)


def _answered_by_argument(calls: Sequence[Call], answer: str | None) -> tuple[Call, ...]:
    """Of an explicit config 0.2.10 asks the first call's first argument, not its name, whether answers are compared."""
    first = calls[0]
    asked = first.args[0] if first.args else None
    wanted = bool(answer) and isinstance(asked, str) and asked in ANSWER_FUNCTIONS
    return (with_argument(first, answer) if wanted else first, *calls[1:])


def _merged(config: Mapping[str, Any], id: str | None, answer: str | None) -> dict[str, Any]:
    merged = {**config, "id": id} if id else dict(config)
    if answer:
        args = merged.get("args", [])
        merged["args"] = [*(args if isinstance(args, list) else [args]), answer]
    return merged
