"""What rollout tests share: a plan with everything ordinary, and a report that keeps what it was told."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Sequence
from typing import Any

from proctor.rollout.plan import RolloutPlan, SandboxSpec

LABELS = {"proctor.instance": "test", "proctor.run": "r", "proctor.attempt": "1", "proctor.expiry": "4102444800"}


def make_plan(**changes: Any) -> RolloutPlan:
    """A noop rollout against the fake."""
    plan: dict[str, Any] = {
        "run_id": str(uuid.uuid4()), "attempt": 1, "env": "letters", "task_id": "count", "args_text": '{"word":"banana"}',
        "slug": "count-1", "columns_text": None, "agent_type": "noop", "agent_config": {}, "sandbox": SandboxSpec("fake"),
        "labels": LABELS,
    }  # fmt: skip
    return RolloutPlan(**(plan | changes))


class Collected:
    """A report that keeps everything, and may stop the rollout at a phase."""

    def __init__(self, stop_at: str | None = None) -> None:
        self.phases: list[str] = []
        self.facts: dict[str, Any] = {}
        self.spans: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.reached: dict[str, asyncio.Event] = {}
        self._stop_at = stop_at

    async def phase(self, phase: str, **facts: Any) -> None:
        """Kept; cancels when fenced here."""
        self.phases.append(phase)
        self.facts.update(facts)
        self.reached.setdefault(phase, asyncio.Event()).set()
        if phase == self._stop_at:
            raise asyncio.CancelledError

    async def steps(self, spans: Sequence[bytes]) -> None:
        """Kept, as text and parsed."""
        self.texts += [span.decode() for span in spans]
        self.spans += [json.loads(span) for span in spans]

    async def wait_for(self, phase: str) -> None:
        """Until the rollout is in this phase."""
        await self.reached.setdefault(phase, asyncio.Event()).wait()

    def payloads(self, source: str) -> list[dict[str, Any]]:
        """The steps of one source, in order."""
        steps = [span["attributes"]["hud.payload"] for span in self.spans]
        return [step for step in steps if step.get("source") == source]
