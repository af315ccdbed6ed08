"""A rollout's turns: one decision of the policy and what the environment made of it, from a trace's events or a trajectory's steps.

Tool calls come in two shapes, `{tool_name, arguments}` and OpenAI's `{function: {name, arguments}}`; both are read, the raw is kept.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from proctor.taskapp.damage import items, mend
from proctor.taskapp.traces import event_kind


@dataclass(frozen=True)
class ToolCall:
    """`arguments` is the text sent when that is no JSON object. `synthesised`: made from prose by a proxy, not called by the model."""

    id: str | None
    name: str
    arguments: dict[str, Any] | str
    raw: dict[str, Any]
    synthesised: bool = False


@dataclass(frozen=True)
class Turn:
    """`reward` is None where the environment gave none; `usage` counts tokens; `token_traces` is `[{token, logprob}]`."""

    tool_calls: list[ToolCall] = field(default_factory=list)
    reward: float | None = None
    done: bool = False
    truncated: bool = False
    observation: Any = None
    has_environment: bool = False
    text: str | None = None
    messages: list[Any] = field(default_factory=list)
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    finish_reason: str | None = None
    error: str | None = None
    token_traces: list[Any] | None = None
    sample: dict[str, Any] | None = None


def turns_of_trajectory(trajectory: dict[str, Any]) -> list[Turn]:
    return [_turn_of_step(step) for step in items(trajectory.get("steps")) if isinstance(step, dict)]


def _turn_of_step(step: dict[str, Any]) -> Turn:
    return Turn(
        read_calls(step.get("tool_calls")), number_in(step.get("reward")), step.get("done") is True, step.get("truncated") is True,
        step.get("obs"), has_environment=True,
    )  # fmt: skip


def turns_of_trace(events: list[dict[str, Any]]) -> list[Turn]:
    """A turn ends with the environment's event; calls of the policy that none followed make a last one."""
    turns: list[Turn] = []
    waiting: list[dict[str, Any]] = []
    for event in events:
        kind = event_kind(event)
        if kind == "llm":
            waiting.append(event)
        elif kind == "environment":
            turns.append(_turn_of_events(waiting, event))
            waiting = []
    return [*turns, _turn_of_events(waiting, None)] if waiting else turns


def _turn_of_events(llm: list[dict[str, Any]], environment: dict[str, Any] | None) -> Turn:
    records = [record for event in llm for record in items(event.get("call_records")) if isinstance(record, dict)]
    last, record = (llm[-1] if llm else {}), (records[-1] if records else {})
    happened = environment or {}
    return Turn(
        tool_calls=[call for one in records for call in read_calls(one.get("output_tool_calls"))], reward=number_in(happened.get("reward")),
        done=happened.get("terminated") is True, truncated=happened.get("truncated") is True, observation=happened.get("system_state_after"),
        has_environment=environment is not None, text=_said(record), messages=items(record.get("input_messages")), model=_text(last.get("model_name")),
        prompt_tokens=_tokens(llm, "input_tokens"), completion_tokens=_tokens(llm, "output_tokens"), cost_usd=number_in(last.get("cost_usd")),
        finish_reason=_text(record.get("finish_reason")), error=None if record.get("error") is None else str(record["error"]),
        token_traces=items(record.get("token_traces")) or None,
    )  # fmt: skip


def _tokens(events: list[dict[str, Any]], name: str) -> int | None:
    counts = [event[name] for event in events if isinstance(event.get(name), int) and not isinstance(event[name], bool)]
    return sum(counts) if counts else None


def _said(record: dict[str, Any]) -> str | None:
    """The call's text: as such, or the text parts of its messages."""
    if isinstance(record.get("output_text"), str):
        return str(record["output_text"])
    messages = [message for message in items(record.get("output_messages")) if isinstance(message, dict)]
    parts = [part.get("text") for message in messages for part in items(message.get("parts")) if isinstance(part, dict)]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None


def read_calls(value: Any) -> list[ToolCall]:
    return [_read_call(call) for call in items(value) if isinstance(call, dict)]


def _read_call(call: dict[str, Any]) -> ToolCall:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = inner.get("name") or call.get("tool_name") or call.get("tool") or ""
    arguments = inner.get("arguments") if inner.get("arguments") is not None else inner.get("arguments_json", call.get("args"))
    given = call.get("id") or call.get("call_id")
    return ToolCall(str(given) if given else None, str(name), _arguments(arguments), call, call.get("synthesised") is True)


def _arguments(value: Any) -> dict[str, Any] | str:
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {} if value is None else json.dumps(value)
    try:
        parsed = mend(json.loads(value or "{}"))[0]
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict) else value


def number_in(value: Any) -> float | None:
    """A finite number as a float; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
