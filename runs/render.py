"""Rows of jobs and runs as wire objects (`proctor.wire.jobs`): the one place where their shape is made."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.outcomes import Tally
from proctor.rollout.taskrow import read_task
from proctor.wire.jobs import Counts, FailureGroup, JobOut, LastJob, RunOut, RunRow, TaskResult, TasksetRef
from runs.models import Job, Run
from runs.queries.jobs import FailedAlike, JobFigures, text_of
from runs.queries.runs import log_of


def render_job(job: Job, figures: JobFigures, failures: list[FailedAlike] | None = None) -> dict[str, Any]:
    return JobOut(
        id=str(job.wire_id), name=name_of(job), source=job.source, state=figures.state(job), counts=render_counts(figures.tally), mean_reward=figures.mean_reward,
        pass_rate=figures.pass_rate, taskset=render_taskset_ref(job), agent_type=job.agent_type, model=job.model, agent_config=json_object(job.agent_config),
        group=job.group, task_count=job.task_count, max_concurrent=job.max_concurrent, rollout_timeout_s=job.rollout_timeout_s, sandbox=figures.sandbox,
        created_by=job.created_by, created_at=job.created_at, started_at=figures.started_at, ended_at=figures.ended_at, archived_at=job.archived_at,
        cancel_requested_at=job.cancel_requested_at, failures=[FailureGroup(**vars(group)) for group in failures or []],
    ).model_dump(mode="json")  # fmt: skip


def render_last_job(job: Job, figures: JobFigures) -> dict[str, Any]:
    last = LastJob(taskset_id=str(job.taskset_id), id=str(job.wire_id), name=name_of(job), mean_reward=figures.mean_reward, created_at=job.created_at)
    return last.model_dump(mode="json")


def name_of(job: Job) -> str:
    """A job that was only ever named by its runs has no name of its own."""
    return job.name or f"Job {str(job.wire_id)[:8]}"


def render_counts(tally: Tally) -> Counts:
    return Counts(
        expected=tally.expected, graded=tally.graded, failed=tally.failed, cancelled=tally.cancelled, pending=tally.pending, running=tally.running, queued=tally.queued
    )


def render_taskset_ref(job: Job | None) -> TasksetRef | None:
    if job is None or job.taskset is None:
        return None
    version = job.version
    return TasksetRef(
        id=str(job.taskset_id), name=job.taskset.name, version_id=str(version.id) if version else None, version_number=version.number if version else None,
        digest=version.digest if version else None, task_count=version.task_count if version else None,
    )  # fmt: skip


def row_facts(run: Run) -> dict[str, Any]:
    """`RunRow` as plain values: the hot shape, of which a job has thousands."""
    return {
        "id": str(run.wire_id), "revision": run.revision, "task_index": run.task_index, "repeat": run.repeat, "slug": run.slug, "group_id": run.group_id,
        "state": run.state, "counted": run.counted, "reward": run.reward, "failure_class": run.failure_class, "blame": run.blame,
        "error": run.error[:300] if run.error else None, "attempt": run.attempt, "created_at": run.created_at, "started_at": run.started_at, "ended_at": run.ended_at,
        "total_tokens": run.prompt_tokens + run.completion_tokens or None, "cost_usd": run.cost_usd, "step_count": run.step_count,
    }  # fmt: skip


def render_result(run: Run, content_id: str | None) -> dict[str, Any]:
    """`content_id` is what the task holds now."""
    job, version = run.job, run.job.version if run.job else None
    return TaskResult(
        **row_facts(run), job_id=str(job.wire_id) if job else "", job_name=name_of(job) if job else "", version_number=version.number if version else None, model=run.model,
        agent_type=run.agent_type, is_same_content=run.content_id == content_id if run.content_id and content_id else None,
    ).model_dump(mode="json")  # fmt: skip


def render_run(run: Run, siblings: list[Run]) -> dict[str, Any]:
    text = text_of(run)
    facts = read_task(text) if text else None
    version = run.environment_version
    return RunOut(
        **row_facts(run), job_id=str(run.job.wire_id) if run.job else None, job_name=name_of(run.job) if run.job else None, source=run.source, env=run.env, task_id=run.task_id,
        args=facts.args_text if facts else None, columns=facts.columns_text if facts else None, model=run.model, agent_type=run.agent_type,
        agent_config=json_object(run.agent_config), stop_reason=run.stop_reason, evaluation=run.evaluation, full_error=run.error, taskset=render_taskset_ref(run.job),
        content_id=run.content_id, environment_id=str(version.environment_id) if version else None, environment_version=version.number if version else None,
        image=run.image, image_id=run.image_id, sandbox=run.sandbox, container_id=run.container_id, exit_code=run.exit_code, phase=run.phase, worker=run.worker_id,
        heartbeat_at=run.worker.heartbeat_at if run.worker and not run.terminal else None, prompt_tokens=run.prompt_tokens, completion_tokens=run.completion_tokens,
        cached_tokens=run.cached_tokens, log_bytes=len(log_of(run)), last_seq=run.last_seq,
        siblings=[RunRow(**row_facts(other)) for other in siblings if other.id != run.id],
    ).model_dump(mode="json")  # fmt: skip


def json_object(text: str | None) -> dict[str, Any] | None:
    value = msgspec.json.decode(text) if text else None
    return value if isinstance(value, dict) else None
