"""Single runs and rows of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from accounts.callers import Caller
from runs.models import Job, Run
from web.errors import not_found
from web.ids import wire_uuid

ROW_FIELDS = (
    "wire_id", "revision", "task_index", "repeat", "slug", "group_id", "state", "counted", "reward", "failure_class", "blame", "error", "attempt", "created_at",
    "started_at", "ended_at", "prompt_tokens", "completion_tokens", "cost_usd", "step_count", "id", "job_id", "changed_at", "last_seq",
)  # fmt: skip


def get_run(caller: Caller, run_id: str) -> Run:
    """By any spelling of its wire id, also text that is no UUID. Raises AppError 404. A run's own token sees that run alone."""
    runs = Run.objects.select_related("job__taskset", "job__version", "environment_version__environment", "content_row", "worker")
    run = runs.filter(team_id=caller.team_id, wire_id=wire_uuid(run_id)).first()
    if run is None or (caller.run_id is not None and caller.run_id != run.id):
        raise not_found("Run")
    return run


def rows_of_job(job: Job) -> QuerySet[Run]:
    """Light rows in matrix order."""
    return Run.objects.filter(job=job).only(*ROW_FIELDS).order_by("task_index", "repeat", "id")


def after_row(runs: QuerySet[Run], key: Sequence[Any] | None) -> QuerySet[Run]:
    """The rows behind (task_index, repeat, id)."""
    if not key:
        return runs
    index, repeat, run_id = key
    return runs.filter(Q(task_index__gt=index) | Q(task_index=index, repeat__gt=repeat) | Q(task_index=index, repeat=repeat, id__gt=run_id))


def siblings_of(run: Run) -> list[Run]:
    """The repeats of the same task in the same job, this one included."""
    if run.job_id is None or run.task_index is None:
        return []
    return list(Run.objects.filter(job_id=run.job_id, task_index=run.task_index).only(*ROW_FIELDS).order_by("repeat")[:1000])


def log_of(run: Run) -> bytes:
    return bytes(run.log_tail) if run.log_tail is not None else b""
