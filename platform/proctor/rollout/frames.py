"""Reads the frames an environment sends: the prompt of a start frame, the score of a grade frame. Pure.

What is kept is always the text; this only looks into it. May import `errors` only.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from proctor.rollout.errors import RolloutFailed


def prompt_messages(frame: str) -> list[dict[str, Any]]:
    """The prompt as `{role, content: MCP block}` messages: a text is one user message, a list of turns one message per block.
    Roles other than `assistant` become `user`, as in the HUD client. Empty when the frame has no prompt."""
    try:
        prompt = msgspec.json.decode(frame, type=dict[str, Any]).get("prompt")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RolloutFailed("environment_protocol", f"The start frame cannot be read: {error}") from error
    if prompt is None:
        return []
    turns = prompt if isinstance(prompt, list) else [prompt]
    return [message for turn in turns for message in _turn_messages(turn)]


def _turn_messages(turn: Any) -> list[dict[str, Any]]:
    if not isinstance(turn, dict):
        turn = {"content": turn if isinstance(turn, str) else str(turn)}
    role = "assistant" if turn.get("role") == "assistant" else "user"
    content = turn.get("content")
    blocks = content if isinstance(content, list) else [content]
    return [{"role": role, "content": _block(block)} for block in blocks]


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, dict) and isinstance(block.get("type"), str):
        return block
    return {"type": "text", "text": block if isinstance(block, str) else "" if block is None else str(block)}


def grade_problem(frame: str) -> str | None:
    """Why this is no grade; None when `score` is a finite number and `isError` not true. Looks at nothing else."""
    try:
        grade = msgspec.json.decode(frame, type=dict[str, msgspec.Raw])
        seen = {key: json.loads(bytes(grade[key])) for key in ("score", "isError", "content") if key in grade}
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return f"The grade cannot be read: {error}"
    if seen.get("isError") is True:
        return f"The grader reported an error: {seen.get('content') or 'without a message'}"
    score = seen.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        return f"The grade has no numeric score (score is {score!r})."
    return None if _finite(score) else "The grade's score is not finite."


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond the doubles
        return False
