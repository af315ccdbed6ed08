"""Rules of a model proxy, as pure functions: requests made fit for a vendor, tool calls read out of prose when asked.

`RULES` names the set; a reply that was changed says so. What is synthesised is tagged `synthesised` on each call and on the message, so
that no reader takes it for the model's own. Off unless asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

RULES = "2026-11-1"
NOT_OPENAI = frozenset({"stop_after_tool_calls", "thinking_mode", "thinking_budget", "reasoning"})
LEAST_COMPLETION = 16_000
DEFAULT_TOOL = "interact"
_ACTIONS_LINE = re.compile(r"(?im)^\s*actions?\s*:\s*(.+?)\s*$")
_NUMBERED = re.compile(r"(?im)^\s*action\s+\d+\s*[:.)]\s*(.+?)\s*$")


def fit_request(body: Mapping[str, Any], *, system_hint: str | None = None) -> dict[str, Any]:
    """A copy without what OpenAI refuses; for `gpt-5…` models the renames and limits that they ask for; the hint at most once."""
    fitted = {key: value for key, value in body.items() if key not in NOT_OPENAI}
    if str(body.get("model") or "").startswith("gpt-5"):
        fitted = _for_gpt_5(fitted)
    if system_hint:
        fitted["messages"] = _with_hint(list(fitted.get("messages") or []), system_hint)
    return fitted


def _for_gpt_5(body: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in body.items() if key not in ("max_tokens", "temperature", "top_p")}
    kept["max_completion_tokens"] = max(LEAST_COMPLETION, int(body.get("max_completion_tokens") or body.get("max_tokens") or 0))
    tools = body.get("tools")
    if tools and "tool_choice" not in body:
        kept |= {"tool_choice": {"type": "function", "function": {"name": tools[0]["function"]["name"]}}, "parallel_tool_calls": False}
    return kept


def _with_hint(messages: list[Any], hint: str) -> list[Any]:
    first = messages[0] if messages and isinstance(messages[0], dict) and messages[0].get("role") == "system" else None
    if first is None:
        return [{"role": "system", "content": hint}, *messages]
    if hint in str(first.get("content")):
        return messages
    return [{**first, "content": f"{first.get('content')}\n\n{hint}"}, *messages[1:]]


def actions_in(text: str) -> list[str]:
    """Actions that a text names: JSON with `actions`, else `Action 1: …` lines, else an `Actions: a, b` line."""
    found = _in_json(text)
    if found is not None:
        return found
    numbered = [match.strip() for match in _NUMBERED.findall(text)]
    if numbered:
        return numbered
    line = _ACTIONS_LINE.search(text)
    return [part.strip() for part in re.split(r"[,;]", line[1].strip("[]")) if part.strip()] if line else []


def _in_json(text: str) -> list[str] | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        value = json.loads(text[start : end + 1])
    except ValueError:
        return None
    actions = value.get("actions") if isinstance(value, dict) else None
    if isinstance(actions, str):
        return [actions]
    return [str(action) for action in actions] if isinstance(actions, list) else None


def synthesise_calls(message: Mapping[str, Any], *, tool: str = DEFAULT_TOOL) -> dict[str, Any]:
    """The message with one tagged call made of its text, when it has a text with actions and no call of its own; else the message as it is."""
    content = message.get("content")
    if message.get("tool_calls") or not isinstance(content, str):
        return dict(message)
    actions = actions_in(content)
    if not actions:
        return dict(message)
    arguments = json.dumps({"actions": actions}, ensure_ascii=False)
    call = {"id": "call_synthesised_0", "type": "function", "function": {"name": tool, "arguments": arguments}, "synthesised": True}
    return {**message, "tool_calls": [call], "synthesised": {"rules": RULES}}
