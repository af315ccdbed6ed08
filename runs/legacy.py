"""Steps of a run as HUD 0.2.x wants trajectories. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def trajectory_of(payloads: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """`{observation_url, observation_text, actions, start_timestamp, end_timestamp}` of each tool step."""
    return [_step(payload) for kind, payload in payloads if kind == "tool" and isinstance(payload.get("call"), Mapping)]


def _step(payload: Mapping[str, Any]) -> dict[str, Any]:
    call, result = payload["call"], payload.get("result")
    content = result.get("content") or [] if isinstance(result, Mapping) else []
    text = next((block.get("text") for block in content if isinstance(block, Mapping) and block.get("type") == "text"), None)
    return {
        "observation_url": None,
        "observation_text": text,
        "actions": _actions(call.get("arguments"), str(call.get("name", ""))),
        "start_timestamp": payload.get("started_at"),
        "end_timestamp": payload.get("ended_at"),
    }


def _actions(arguments: Any, name: str) -> list[dict[str, Any]]:
    """The actions of a step, of a record of 0.2.10's own, or the call itself."""
    if isinstance(arguments, Mapping):
        args = arguments.get("args")
        for listed in (arguments.get("actions"), args[0] if isinstance(args, list) and args else None):
            if isinstance(listed, list) and all(isinstance(action, Mapping) for action in listed):
                return [dict(action) for action in listed]
    return [{"type": "custom", "action": {"name": name, "arguments": arguments}}]
