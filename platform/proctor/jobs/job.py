"""`Job` and `Run`: the receipt of a batch and of each repeat of each task. A run counts as the server counts it (`proctor.outcomes`).

A run without a grade has no reward: it is never a zero, and stays out of the mean.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from proctor.outcomes import CountedAs, Tally
from proctor.tasks.task import Task

JobState = Literal["running", "completed", "completed_with_errors", "cancelled"]


@dataclass
class Run:
    """One repeat of one task. `state` is `queued`, a phase of the engine while it goes on, then `completed`, `error` or `cancelled`."""

    id: str
    job_id: str
    task: Task
    index: int
    """Its place in the job: tasks in order, the repeats of each together."""
    repeat: int
    group_id: str
    state: str = "queued"
    counted: CountedAs = "pending"
    reward: float | None = None
    """A finite number when it is graded, else None."""
    failure_class: str | None = None
    blame: str | None = None
    error: str | None = None
    answer: str | None = None
    stop_reason: str | None = None
    evaluation_text: str | None = None
    """The grade frame, exactly as the environment gave it."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    log_tail: bytes = field(default=b"", repr=False)
    """The last 256 KiB that its environment printed."""
    recalled: bool = False
    """It ended before an interruption, and was read from the state file."""

    @property
    def slug(self) -> str:
        """The task's."""
        return self.task.slug

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """The grade frame, decoded."""
        value = json.loads(self.evaluation_text) if self.evaluation_text else None
        return value if isinstance(value, dict) else None

    @property
    def seconds(self) -> float | None:
        """From start to end."""
        return (self.ended_at - self.started_at).total_seconds() if self.started_at and self.ended_at else None

    @property
    def is_over(self) -> bool:
        """It counts as something."""
        return self.counted != "pending"


@dataclass
class Job:
    """The runs of one or more calls of `Taskset.run`, in order. `url` is set when a server has it too."""

    id: str
    name: str
    group: int = 1
    runs: list[Run] = field(default_factory=list)
    taskset: str | None = None
    """`name@3` for a taskset of the server."""
    task_total: int | None = None
    """How many tasks that version has; with fewer here, the job is partial."""
    url: str | None = None

    @classmethod
    def start(cls, name: str, *, group: int = 1) -> Job:
        """A job to pass as `job=` to several calls, which gather their runs in it."""
        return cls(str(uuid.uuid4()), name, group)

    @property
    def tally(self) -> Tally:
        """How many runs count as what; their sum is `expected`."""
        kinds = [run.counted for run in self.runs]
        return Tally(len(kinds), kinds.count("graded"), kinds.count("failed"), kinds.count("cancelled"))

    @property
    def counts(self) -> dict[str, int]:
        """The same as a dict: expected, graded, failed, cancelled, pending."""
        tally = self.tally
        return {"expected": tally.expected, "graded": tally.graded, "failed": tally.failed, "cancelled": tally.cancelled, "pending": tally.pending}

    @property
    def state(self) -> JobState:
        """`completed_with_errors` when some run has no grade."""
        tally = self.tally
        if tally.pending:
            return "running"
        if tally.cancelled:
            return "cancelled"
        return "completed_with_errors" if tally.failed else "completed"

    @property
    def reward(self) -> float | None:
        """The mean over graded runs; None when there are none."""
        rewards = [run.reward for run in self.runs if run.reward is not None]
        return sum(rewards) / len(rewards) if rewards else None

    @property
    def errors(self) -> list[Run]:
        """Runs that ended without a grade."""
        return [run for run in self.runs if run.counted == "failed"]

    @property
    def results(self) -> dict[str, list[Run]]:
        """The runs of each task, by slug."""
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.slug, []).append(run)
        return found

    @property
    def scope(self) -> str:
        """`2 of 10 tasks` for a part of a taskset, else `2 tasks`."""
        tasks = len({run.slug for run in self.runs})
        plural = "task" if tasks == 1 else "tasks"
        return f"{tasks} of {self.task_total} tasks" if self.task_total and tasks < self.task_total else f"{tasks} {plural}"


def job_name(taskset_name: str, tasks: list[Task], group: int) -> str:
    """As HUD's SDK names its jobs: `id (3 times)` for one task, `name (4 tasks)` for several."""
    times = f" ({group} times)" if group > 1 else ""
    return f"{tasks[0].id}{times}" if len(tasks) == 1 else f"{taskset_name} ({len(tasks)} tasks){times}"
