"""Agents without a model: `replay` gives an answer recorded beforehand, `noop` the empty text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from proctor.rollout.agents.base import AgentRun
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import RolloutPlan
from proctor.rollout.steps import now


class NoopAgent:
    """Says nothing."""

    async def run(self, run: AgentRun) -> None:
        """An empty answer."""
        _say(run, "", "noop")


class ReplayAgent:
    """Says what a column of the task, or the configuration, holds for it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config

    async def run(self, run: AgentRun) -> None:
        """The recorded answer; none is the agent's failure."""
        _say(run, self._recorded(run.plan), "replay")

    def _recorded(self, plan: RolloutPlan) -> str:
        if "column" in self._config:
            return _column(plan, self._config["column"])
        text = self._config["answers"].get(plan.slug)
        if text is None:
            raise RolloutFailed("agent", f"replay has no answer for task {plan.slug!r}: add it to config.answers.")
        return str(text)


def _column(plan: RolloutPlan, name: str) -> str:
    columns = msgspec.json.decode(plan.columns_text) if plan.columns_text else {}
    value = columns.get(name) if isinstance(columns, dict) else None
    if not isinstance(value, str):
        raise RolloutFailed("agent", f"replay finds no text in column {name!r} of task {plan.slug!r}.")
    return value


def _say(run: AgentRun, text: str, model: str) -> None:
    run.answer = text
    said: dict[str, Any] = {"content": text, "tool_calls": [], "done": True, "finish_reason": "stop", "citations": [], "model": model}
    run.recorder.add("agent", started_at=now(), **said)
