"""The agent contract: a prompt and an environment in, an answer and a stop reason out, steps recorded on the way.

The engine owns deadlines and grading; an agent that is cut off leaves what it had in `AgentRun`. An agent raises
`RolloutFailed` for what ends the run without a grade. May import `plan`, `steps`, `drivers.base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor.rollout.drivers.base import Session
from proctor.rollout.plan import Report, RolloutPlan
from proctor.rollout.steps import Recorder


@dataclass
class Usage:
    """Tokens and cost so far."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None


@dataclass
class AgentRun:
    """What an agent works with, and where it leaves its results as it goes."""

    plan: RolloutPlan
    report: Report
    recorder: Recorder
    session: Session
    prompt: Sequence[dict[str, Any]]
    """`{role, content: MCP block}` messages."""
    answer: str | None = None
    """The best answer so far: graded also when time runs out."""
    unanswered: bool = False
    """The agent waits for a first word of its model: when time runs out now, there is nothing of the agent's to grade."""
    stop_reason: str = "done"
    usage: Usage = field(default_factory=Usage)


class Agent(Protocol):
    """Drives one task."""

    async def run(self, run: AgentRun) -> None:
        """Fill `run.answer` and `run.stop_reason`."""
