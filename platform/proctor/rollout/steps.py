"""Writes a rollout's steps as `hud.step.v1` spans in the HUD envelope, in order, through the report.

Hides ids, times and the envelope. JSON that people made (arguments, frames) is spliced in as text, so digits survive.
May import `plan` only.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from proctor.rollout.plan import Report


def now() -> str:
    """UTC, microseconds, `Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def raw(text: str) -> msgspec.Raw:
    """JSON text, to be embedded as it is, on one line (a line break in JSON text is white space between tokens)."""
    return msgspec.Raw(text.replace("\r", " ").replace("\n", " ").encode())


def text_block(text: str) -> dict[str, str]:
    """An MCP text block."""
    return {"type": "text", "text": text}


class Recorder:
    """The steps of one run. `add` collects, `flush` makes durable, `record` does both."""

    def __init__(self, run_id: str, report: Report) -> None:
        self._run_id, self._report = run_id, report
        self._trace_id = uuid.UUID(run_id).hex
        self._steps = 0
        self._waiting: list[bytes] = []

    def add(self, source: str, *, started_at: str | None = None, error: str | None = None, **payload: Any) -> None:
        """One step; keys whose value is None are left out, as HUD does."""
        self._steps += 1
        ended_at = now()
        step = {"step_id": self._steps, "source": source, "messages": [], "started_at": started_at, "ended_at": ended_at}
        step |= {"error": error, "extra": {}, **payload}
        step = {key: value for key, value in step.items() if value is not None}
        self._waiting.append(msgspec.json.encode(self._span(source, step, started_at or ended_at, ended_at, error)))

    @property
    def count(self) -> int:
        """Steps so far."""
        return self._steps

    def pass_on(self, span: bytes, *, is_step: bool) -> None:
        """A span that an agent in another process made, as it sent it; a step is numbered already."""
        self._steps += is_step
        self._waiting.append(span)

    async def flush(self) -> None:
        """Hand over what waits; returns when it is durable."""
        if self._waiting:
            await self._report.steps(self.taken())

    def taken(self) -> list[bytes]:
        """What waits, for somebody else to write."""
        spans, self._waiting = self._waiting, []
        return spans

    async def record(self, source: str, **payload: Any) -> None:
        """`add` and `flush`."""
        self.add(source, **payload)
        await self.flush()

    def task_setup(self, name: str, args_text: str, frame: str, started_at: str) -> None:
        """The task was set up."""
        call = {"phase": "setup", "name": name, "arguments": raw(args_text), "result": raw(frame)}
        self.add("task", started_at=started_at, task_call=call)

    def task_evaluate(self, name: str, answer_text: str, frame: str, started_at: str, error: str | None) -> None:
        """The task was graded."""
        call = {"phase": "evaluate", "name": name, "arguments": raw(f'{{"answer":{answer_text}}}'), "result": raw(frame)}
        self.add("task", started_at=started_at, error=error, task_call=call)

    def user(self, messages: Sequence[dict[str, Any]]) -> None:
        """The opening prompt, one message per block."""
        self.add("user", messages=list(messages))

    def _span(self, source: str, step: dict[str, Any], start: str, end: str, error: str | None) -> dict[str, Any]:
        return {
            "name": f"step.{source}",
            "trace_id": self._trace_id,
            "span_id": secrets.token_hex(8),
            "parent_span_id": None,
            "kind": "INTERNAL",
            "start_time": start,
            "end_time": end,
            "status_code": "ERROR" if error else "OK",
            "status_message": error,
            "attributes": {"hud.schema": "hud.step.v1", "hud.task_run_id": self._run_id, "hud.payload": step},
            "events": [],
        }
