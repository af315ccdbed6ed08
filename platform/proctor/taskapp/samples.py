"""Decision samples for training, from whatever a Task App sends: its own `decision_samples`, or the token traces of its model calls.

The wire has the names and no shape; `rollouts.DecisionSample` is ours. Logprobs are read from OpenAI's `{content: [{token, logprob}]}`
and from lists.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from proctor.taskapp.damage import items
from proctor.taskapp.rollouts import DecisionSample
from proctor.taskapp.turns import Turn, number_in


def read_samples(trajectories: list[dict[str, Any]], turns: list[Turn], correlation_id: str | None) -> tuple[dict[int, dict[str, Any]], int]:
    """By turn, and how many could not be read. A sample's step counts within its trajectory."""
    found: dict[int, dict[str, Any]] = {}
    bad = first = 0
    for trajectory in trajectories:
        for number, given in enumerate(items(trajectory.get("decision_samples"))):
            sample = _sample(given, number, correlation_id) if isinstance(given, dict) else None
            if sample is None:
                bad += 1
                continue
            place = first + sample.step
            found[place] = _complete(sample, turns[place] if place < len(turns) else None)
        first += len(items(trajectory.get("steps")))
    for number, turn in enumerate(turns):
        if number not in found and turn.token_traces:
            found[number] = _complete(_of_turn(number, turn, correlation_id), turn)
    return found, bad


def _sample(given: dict[str, Any], number: int, correlation_id: str | None) -> DecisionSample | None:
    tokens, logprobs = _pairs(given.get("logprobs"))
    known = {
        "step": given.get("step", number), "messages": given.get("messages") or [], "completion": given.get("completion") or {}, "model": given.get("model"),
        "tokens": given.get("tokens") or tokens, "token_ids": given.get("token_ids"), "logprobs": logprobs, "reward": given.get("reward"),
        "tool_calls": given.get("tool_calls") or [], "correlation_id": given.get("correlation_id") or correlation_id,
    }  # fmt: skip
    try:
        return DecisionSample.model_validate(known)
    except ValidationError:
        return None


def _pairs(value: Any) -> tuple[list[str], list[float]]:
    """Tokens and logprobs, out of any of the three shapes."""
    entries = items(value.get("content") if isinstance(value, dict) else value)
    if all(isinstance(entry, dict) for entry in entries):
        pairs = [(entry["token"], number) for entry in entries if isinstance(entry.get("token"), str) and (number := number_in(entry.get("logprob"))) is not None]
        return [token for token, _ in pairs], [number for _, number in pairs]
    return [], [number for entry in entries if (number := number_in(entry)) is not None]


def _of_turn(number: int, turn: Turn, correlation_id: str | None) -> DecisionSample:
    tokens, logprobs = _pairs(turn.token_traces)
    messages = [message for message in turn.messages if isinstance(message, dict)]
    completion = {"role": "assistant", "content": turn.text}
    return DecisionSample(step=number, messages=messages, completion=completion, tokens=tokens, logprobs=logprobs, correlation_id=correlation_id)


def _complete(sample: DecisionSample, turn: Turn | None) -> dict[str, Any]:
    """With what the turn knows and the sample did not say."""
    if turn is not None:
        calls = sample.tool_calls or [call.raw for call in turn.tool_calls]
        reward = sample.reward if sample.reward is not None else turn.reward
        sample = sample.model_copy(update={"tool_calls": calls, "reward": reward, "model": sample.model or turn.model})
    return sample.model_dump(exclude_none=True)
