"""What outside runs tell (HUD's enter and exit): upserts on the client's ids, in any order, any number of times.

`enter` never leaves a terminal state, `exit` before `enter` creates the run, the last `exit` wins, repeats change nothing. Runs that
we execute ourselves are not touched from here.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone

from accounts.callers import Caller
from proctor.outcomes import count, evaluation_of
from runs.models import TERMINAL, Job, Run
from tasksets.models import Version
from tasksets.queries import find_pinned, find_task_content
from web.ids import parse_uuid, wire_uuid
from web.live import hint_after_commit


@dataclass(frozen=True)
class RunExit:
    """An exit as sent; `evaluation_text` and `metadata_text` are JSON texts, exactly."""

    status: str
    reward: float | None = None
    error: str | None = None
    evaluation_text: str | None = None
    stop_reason: str | None = None
    metadata_text: str | None = None


def enter_job(caller: Caller, job_id: str, *, name: str, group: int, taskset_id: str | None) -> Job:
    """Makes the job or fills what it lacked. A `taskset_id` that names nothing of this team is left out."""
    caller.require("run")
    pinned = find_pinned(caller, found) if taskset_id and (found := parse_uuid(taskset_id)) else None
    facts = {"name": name[:255], "group": group, "taskset": pinned.taskset if pinned else None, "version": pinned.version if pinned else None}
    with transaction.atomic():
        job = ensure_job(caller, wire_uuid(job_id), facts)
        if not job.name or (pinned and job.taskset_id is None):
            Job.objects.filter(id=job.id).update(**facts)
        hint_after_commit()
    return job


def ensure_job(caller: Caller, wire_id: uuid.UUID, facts: dict[str, Any] | None = None, source: str = "reported") -> Job:
    found = Job.objects.filter(team_id=caller.team_id, wire_id=wire_id).first()
    if found is not None:
        return found
    job = Job(team_id=caller.team_id, wire_id=wire_id, source=source, created_by=caller.label, user_id=caller.user_id, **(facts or {"name": ""}))
    Job.objects.bulk_create([job], ignore_conflicts=True)
    return Job.objects.get(team_id=caller.team_id, wire_id=wire_id)


def ensure_run(caller: Caller, run_text: str) -> tuple[Run, bool]:
    """The run of this wire id, made on demand as an outside run; True when it was made."""
    wire_id = wire_uuid(run_text)
    found = Run.objects.filter(team_id=caller.team_id, wire_id=wire_id).first()
    if found is not None:
        return found, False
    now = timezone.now()
    alias = None if parse_uuid(run_text) else run_text[:255]
    run = Run(
        team_id=caller.team_id, wire_id=wire_id, alias=alias, source="reported", state="running", attempt=1,
        started_at=now, last_seen_at=now, changed_at=now,
    )  # fmt: skip
    Run.objects.bulk_create([run], ignore_conflicts=True)
    return Run.objects.get(team_id=caller.team_id, wire_id=wire_id), True


def lock_run(run_id: uuid.UUID) -> Run:
    """The run, held until the transaction ends (SQLite's transactions hold the whole file already)."""
    runs = Run.objects.select_related("job__version")
    if connection.vendor == "postgresql":
        runs = runs.select_for_update(of=("self",))
    return runs.get(id=run_id)


def enter_run(
    caller: Caller, run_text: str, *, job_id: str | None = None, group_id: str | None = None, slug: str | None = None,
    model: str | None = None, parent_id: str | None = None,
) -> Run:  # fmt: skip
    caller.require("run")
    with transaction.atomic():
        run, _made = ensure_run(caller, run_text)
        run = lock_run(run.id)
        if run.source == "hosted":
            return run
        if run.job_id is None and job_id:
            _join(caller, run, job_id, group_id, slug)
        run.model = run.model or (None if model in (None, "unknown") else model)
        run.parent_wire_id = run.parent_wire_id or (wire_uuid(parent_id) if parent_id else None)
        _save(run)
    return run


def _join(caller: Caller, run: Run, job_id: str, group_id: str | None, slug: str | None) -> None:
    job = ensure_job(caller, wire_uuid(job_id))
    run.job, run.group_id, run.slug = job, group_id and group_id[:64], slug and slug[:255]
    place_in_job(run, job)
    pin_task(run, job.version)


def place_in_job(run: Run, job: Job) -> None:
    """Gives a run its row (task) and column (repeat) of the job's matrix, under the job's row lock."""
    locked = Job.objects.filter(id=job.id)
    if connection.vendor == "postgresql":
        locked = locked.select_for_update()
    list(locked.values_list("id"))
    others = Run.objects.filter(job=job).exclude(id=run.id)
    same = others.filter(group_id=run.group_id) if run.group_id else others.filter(slug=run.slug)
    of_task = same.aggregate(index=Max("task_index"), last=Max("repeat"))
    if of_task["index"] is not None:
        run.task_index, run.repeat = of_task["index"], of_task["last"] + 1
        return
    last = others.aggregate(index=Max("task_index"))["index"]
    run.task_index, run.repeat = (0 if last is None else last + 1), 0
    Job.objects.filter(id=job.id).update(task_count=F("task_count") + 1)


def pin_task(run: Run, version: Version | None) -> None:
    """Ties an outside run to the task it measures, when its job's version has that slug."""
    task = find_task_content(version, run.slug) if version is not None and run.slug else None
    if task is not None:
        run.content_id, run.env, run.task_id = task.content_id, task.env, task.task_id
        run.task_text = task.text if isinstance(task.text, str) else bytes(task.text).decode()


def exit_run(caller: Caller, run_text: str, exit: RunExit) -> Run:
    caller.require("run")
    with transaction.atomic():
        run, _made = ensure_run(caller, run_text)
        run = lock_run(run.id)
        if run.source == "hosted" or _same(run, exit):
            return run
        counted = count(exit.status, evaluation_of(exit.evaluation_text), exit.reward)
        run.state, run.error, run.stop_reason = exit.status, exit.error, exit.stop_reason
        run.evaluation, run.metadata = exit.evaluation_text, exit.metadata_text
        run.counted, run.reward, run.failure_class = counted.counted, counted.reward, counted.failure_class
        run.blame = "grader" if counted.failure_class == "grading" else None
        run.ended_at = timezone.now()
        _save(run)
    return run


def _same(run: Run, exit: RunExit) -> bool:
    before = (run.state, run.error, run.stop_reason, run.evaluation, run.metadata)
    counted = count(exit.status, evaluation_of(exit.evaluation_text), exit.reward)
    return run.state in TERMINAL and run.failure_class != "lost" and before == (
        exit.status, exit.error, exit.stop_reason, exit.evaluation_text, exit.metadata_text,
    ) and (run.counted, run.reward) == (counted.counted, counted.reward)  # fmt: skip



def _save(run: Run) -> None:
    run.revision += 1
    run.changed_at = run.last_seen_at = timezone.now()
    run.save()
    hint_after_commit()
