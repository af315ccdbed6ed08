"""From a run of ours to a Task App's rollout response: turns as trajectory steps, the reward at the end, the trace in the form asked for.

A run without a grade has no response: it is an error with its class and blame, never a zero.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from accounts.queries import public_url
from proctor.taskapp.correlation import correlation_id, echo
from proctor.taskapp.rollouts import DecisionSample, RolloutMetrics, RolloutRequest, RolloutResponse, RolloutStep, RolloutTrajectory
from runs.models import Run
from runs.queries.steps import StepOut, read_steps
from web.errors import AppError

STEPS_A_READ = 500
CUT_OFF = frozenset({"max_steps", "timeout", "length"})


@dataclass
class Turn:
    """A model's message and what its tools gave back."""

    agent: dict[str, Any]
    results: list[str] = field(default_factory=list)
    at: float = 0.0


def response_of(run: Run, request: RolloutRequest) -> dict[str, Any]:
    """Raises AppError 502 `rollout_failed`."""
    if run.counted != "graded" or run.reward is None:
        raise AppError(
            "rollout_failed", 502, f"The run {'was cancelled' if run.state == 'cancelled' else 'has no grade'}: {run.error or run.failure_class or run.state}"[:1000],
            run_id=str(run.wire_id), failure_class=run.failure_class, blame=run.blame, url=page_of(run),
        )  # fmt: skip
    turns = list(turns_of(run))
    url = str(request.policy.config.get("inference_url") or "")
    steps = [_step(turn, url, run, last=turn is turns[-1]) for turn in turns] or [RolloutStep(obs={}, tool_calls=[], reward=run.reward, done=True)]
    trajectory = RolloutTrajectory(
        env_id=run.env or "", policy_id=request.policy.policy_name or request.policy.policy_id or run.model or "", steps=steps, final={"reward": run.reward}, length=len(steps),
        inference_url=url, decision_samples=_samples(turns, request) if request.record.logprobs else None,
    )  # fmt: skip
    details = {"run_id": str(run.wire_id), "url": page_of(run), "slug": run.slug, "stop_reason": run.stop_reason, "evaluation": _evaluation(run)}
    response = RolloutResponse(
        run_id=request.run_id, trajectories=[trajectory] if request.record.trajectories else [], aborted=run.stop_reason in ("timeout", "max_steps"),
        metrics=RolloutMetrics(
            episode_returns=[run.reward], mean_return=run.reward, num_steps=len(steps), num_episodes=1, outcome_score=run.reward, details=details
        ),
        ops_executed=len(turns) + sum(bool(turn.results) for turn in turns), trace=_trace(run, turns, request) if request.record.return_trace else None,
        pipeline_metadata={"inference_url": url, "model": run.model},
    ).model_dump()  # fmt: skip
    cid = correlation_id(request.policy.config)
    return echo(response, cid) if cid else response


def page_of(run: Run) -> str:
    return f"{public_url()}/trace/{run.wire_id}"


def turns_of(run: Run) -> Iterator[Turn]:
    """From the steps of the last attempt."""
    turn: Turn | None = None
    for step in _steps(run):
        if step.kind not in ("agent", "tool"):
            continue
        payload = msgspec.json.decode(step.payload)
        if step.kind == "agent":
            if turn is not None:
                yield turn
            turn = Turn(payload, at=step.ended_at.timestamp() if step.ended_at else 0.0)
        elif turn is not None:
            turn.results.append(_text(payload.get("result")))
    if turn is not None:
        yield turn


def _steps(run: Run) -> Iterator[StepOut]:
    after: int | None = 0
    while after is not None:
        found = read_steps(run, after=after, limit=STEPS_A_READ, attempt=None)
        yield from found.items
        after = found.next_after


def _text(result: Any) -> str:
    blocks = result.get("content") if isinstance(result, dict) else None
    return "\n".join(str(block.get("text", "")) for block in blocks or [] if isinstance(block, dict) and block.get("type") == "text")


def _step(turn: Turn, url: str, run: Run, *, last: bool) -> RolloutStep:
    obs: dict[str, Any] = {"results": turn.results} if turn.results else {"answer": turn.agent.get("content") or ""}
    return RolloutStep(
        obs=obs, tool_calls=_calls(turn), reward=run.reward if last else None, done=last, truncated=last and run.stop_reason in CUT_OFF,
        info={"meta": {"inference_url": url}},
    )  # fmt: skip


def _calls(turn: Turn) -> list[dict[str, Any]]:
    return [{"id": call.get("id"), "tool_name": call.get("name"), "arguments": _as_text(call.get("arguments"))} for call in turn.agent.get("tool_calls") or []]


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _evaluation(run: Run) -> Any:
    return json.loads(run.evaluation) if run.evaluation else None


def _logprobs(turn: Turn) -> list[dict[str, Any]]:
    """Of the first choice, as the provider sent them."""
    raw = turn.agent.get("raw")
    choices = raw.get("choices") if isinstance(raw, dict) else None
    found = choices[0].get("logprobs") if choices and isinstance(choices[0], dict) else None
    entries = found.get("content") if isinstance(found, dict) else None
    return [entry for entry in entries or [] if isinstance(entry, dict) and isinstance(entry.get("logprob"), int | float)]


def _samples(turns: list[Turn], request: RolloutRequest) -> list[dict[str, Any]]:
    """A decision sample for each turn, the messages as far as the trace has them."""
    cid, history, samples = correlation_id(request.policy.config), list[dict[str, Any]](), []
    for number, turn in enumerate(turns):
        completion = {"role": "assistant", "content": turn.agent.get("content"), "tool_calls": _calls(turn)}
        tokens = _logprobs(turn)
        sample = DecisionSample(
            step=number, messages=list(history), completion=completion, tool_calls=_calls(turn), tokens=[str(entry.get("token", "")) for entry in tokens],
            logprobs=[float(entry["logprob"]) for entry in tokens], model=turn.agent.get("model"), correlation_id=cid,
        )  # fmt: skip
        samples.append(sample.model_dump(exclude_none=True))
        history += [completion, *({"role": "tool", "content": text} for text in turn.results)]
    return samples


def _trace(run: Run, turns: list[Turn], request: RolloutRequest) -> dict[str, Any]:
    """`compact`, `full` or `structured`."""
    cid = correlation_id(request.policy.config)
    events = list(itertools.chain.from_iterable(_events(run, turn, last=turn is turns[-1]) for turn in turns))
    head = {"session_id": cid or str(run.wire_id), "metadata": {"run_id": request.run_id, "proctor_run": str(run.wire_id), "url": page_of(run), "slug": run.slug}}
    if request.record.trace_format == "compact":
        return {**head, "events_count": len(events)}
    session = {
        **head, "created_at": run.created_at.isoformat(), "session_time_steps": [], "event_history": events, "markov_blanket_message_history": [], "session_metadata": None,
    }  # fmt: skip
    return {"session_trace": session} if request.record.trace_format == "structured" else session


def _events(run: Run, turn: Turn, *, last: bool) -> Iterator[dict[str, Any]]:
    usage = turn.agent.get("usage") or {}
    tokens = {"input_tokens": usage.get("prompt_tokens"), "output_tokens": usage.get("completion_tokens")}
    base = {"time_record": {"event_time": turn.at, "message_time": None}, "metadata": {}, "event_metadata": None}
    calls = [{"name": call["tool_name"], "arguments_json": call["arguments"], "call_id": call["id"]} for call in _calls(turn)]
    record = {
        "call_id": turn.agent.get("id") or "", "api_type": "chat_completions", "provider": "openai_compatible", "model_name": turn.agent.get("model") or run.model or "",
        "schema_version": "1.0", "input_messages": [], "output_text": turn.agent.get("content"), "output_tool_calls": calls, "usage": tokens,
        "finish_reason": turn.agent.get("finish_reason"), "tool_results": [], "outcome": "success", "token_traces": _logprobs(turn) or None,
    }  # fmt: skip
    yield {**base, **tokens, "system_instance_id": "policy", "model_name": record["model_name"], "provider": "openai_compatible", "call_records": [record]}
    state = {"results": turn.results} if turn.results else {"answer": turn.agent.get("content") or ""}
    reward = run.reward if last else None
    yield {**base, "system_instance_id": "environment", "reward": reward, "terminated": last, "truncated": False, "system_state_after": state}
