"""Jobs and their figures. A list of jobs costs three queries, however many there are."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, Exists, Max, Min, OuterRef, Q, QuerySet, Subquery

from accounts.callers import Caller
from proctor.outcomes import Tally, job_state
from runs.models import ACTIVE, Job, Run
from tasksets.models import Taskset
from web.errors import not_found
from web.ids import parse_uuid


@dataclass(frozen=True)
class JobFigures:
    """What is derived from a job's runs in one grouped query."""

    tally: Tally = field(default_factory=Tally)
    mean_reward: float | None = None
    passed: int = 0
    started_at: datetime | None = None
    ended_at: datetime | None = None
    sandbox: str | None = None

    @property
    def pass_rate(self) -> float | None:
        return self.passed / self.tally.graded if self.tally.graded else None

    def state(self, job: Job) -> str:
        return job_state(self.tally, cancel_requested=job.cancel_requested_at is not None, started=self.started_at is not None)


def get_job(caller: Caller, job_id: str) -> Job:
    """Raises AppError 404."""
    wire_id = parse_uuid(job_id)
    job = Job.objects.select_related("taskset", "version").filter(team_id=caller.team_id, wire_id=wire_id).first() if wire_id else None
    if job is None:
        raise not_found("Job")
    return job


def find_jobs(caller: Caller, *, taskset_id: uuid.UUID | None = None, archived: bool = False, text: str = "", state: str = "") -> QuerySet[Job]:
    """Newest first. `state`: queued, running, cancelled or completed, derived as `proctor.outcomes.job_state` does."""
    jobs = Job.objects.select_related("taskset", "version").filter(team_id=caller.team_id, archived_at__isnull=not archived)
    if taskset_id:
        jobs = jobs.filter(taskset_id=taskset_id)
    if text:
        jobs = jobs.filter(Q(name__icontains=text) | Q(taskset__name__icontains=text) | Q(model__icontains=text))
    if state:
        jobs = jobs.filter(_in_state(state))
    return jobs.order_by("-created_at", "-id")


def _in_state(state: str) -> Q:
    runs = Run.objects.filter(job=OuterRef("pk"))
    pending, started, cancelled = (Exists(runs.filter(part)) for part in (Q(state__in=["queued", *ACTIVE]), Q(started_at__isnull=False), Q(counted="cancelled")))
    ended, stopped = Q(Exists(runs)) & ~Q(pending), Q(cancel_requested_at__isnull=False) & Q(cancelled)
    states = {
        "queued": ~Q(started) & ~ended, "running": Q(started) & Q(pending), "cancelled": ended & stopped, "completed": ended & ~stopped,
    }  # fmt: skip
    return states.get(state, Q(pk__in=[]))


def last_jobs(caller: Caller) -> list[Job]:
    """The newest job of each taskset of the team."""
    newest = Job.objects.filter(taskset=OuterRef("pk"), archived_at=None).order_by("-created_at").values("id")[:1]
    ids = Taskset.objects.filter(team_id=caller.team_id, archived_at=None).annotate(newest=Subquery(newest)).values("newest")
    return list(Job.objects.filter(id__in=ids))


def after_job(jobs: QuerySet[Job], key: Sequence[Any] | None) -> QuerySet[Job]:
    """The rows behind a cursor of `find_jobs`: (created_at, id) of the last one seen."""
    return jobs.filter(Q(created_at__lt=key[0]) | Q(created_at=key[0], id__lt=key[1])) if key else jobs


def figures_of(job_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, JobFigures]:
    def counted(word: str) -> Count:
        return Count("id", filter=Q(counted=word))

    rows = (
        Run.objects.filter(job_id__in=job_ids)
        .values("job_id")
        .order_by()
        .annotate(
            expected=Count("id"), graded=counted("graded"), failed=counted("failed"), cancelled=counted("cancelled"), queued=Count("id", filter=Q(state="queued")),
            running=Count("id", filter=Q(state__in=ACTIVE)), mean=Avg("reward"), passed=Count("id", filter=Q(reward__gte=1)), started=Min("started_at"),
            ended=Max("ended_at"), sandbox_kind=Min("sandbox"),
        )
    )  # fmt: skip
    return {row["job_id"]: _figures(row) for row in rows}


def _figures(row: Mapping[str, Any]) -> JobFigures:
    tally = Tally(row["expected"], row["graded"], row["failed"], row["cancelled"], row["queued"], row["running"])
    return JobFigures(tally, row["mean"], row["passed"], row["started"], None if tally.pending else row["ended"], row["sandbox_kind"])


def figures(job: Job) -> JobFigures:
    return figures_of([job.id]).get(job.id, JobFigures())


@dataclass(frozen=True)
class FailedAlike:
    failure_class: str
    blame: str | None
    message: str
    count: int
    example_run_ids: list[str]


def failures_of(job: Job, limit: int = 20) -> list[FailedAlike]:
    """Failed runs merged by class, blame and first line, most first."""
    groups: dict[tuple[str, str | None, str], list[str]] = {}
    rows = Run.objects.filter(job=job, counted="failed").order_by("task_index", "repeat").values_list("failure_class", "blame", "error", "wire_id")
    for failure_class, blame, error, wire_id in rows.iterator(2000):
        line = (error or "no message").splitlines()[0][:200] if (error or "").strip() else "no message"
        groups.setdefault((failure_class or "unknown", blame, line), []).append(str(wire_id))
    alike = [FailedAlike(name, blame, line, len(ids), ids[:3]) for (name, blame, line), ids in groups.items()]
    return sorted(alike, key=lambda group: -group.count)[:limit]


def task_texts(job: Job) -> list[tuple[int, str | None, str]]:
    """(task index, slug, the task's text) of each row of the matrix."""
    first = Run.objects.filter(job=job, repeat=0, task_index__isnull=False).select_related("content_row").order_by("task_index")
    return [(run.task_index or 0, run.slug, text_of(run)) for run in first.only("task_index", "slug", "task_text", "content_row__text")]


def text_of(run: Run) -> str:
    """The task's content text; empty when it was never known here."""
    if run.task_text is not None:
        return run.task_text
    text = run.content_row.text if run.content_row else ""
    return text if isinstance(text, str) else bytes(text).decode()
