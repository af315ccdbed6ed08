"""HUD's shapes for jobs, traces, telemetry and rollouts (contracts of HUD: 2.3, 2.4, 2.5, 3.1), thin over the same actions and queries."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest

from accounts.callers import Caller
from accounts.http import endpoint
from proctor.content import BadContent, parse_row
from proctor.wire.jobs import AgentIn
from runs.actions import jobs as job_actions
from runs.actions import reports
from runs.actions.spans import prepare, record_spans
from runs.models import Job, Run
from runs.queries import jobs as job_queries
from runs.queries import runs as run_queries
from runs.queries import steps
from runs.render import name_of
from runs.spans import BadBatch, parse_batch
from web.bodies import parse_json, read_body
from web.errors import AppError, invalid, problem
from web.ids import parse_uuid
from web.pages import offset, page_size

RUN_STATUSES = ("completed", "error", "cancelled")


class JobEnter(msgspec.Struct):
    name: str = ""
    group: int | None = 1
    taskset_id: str | None = None


class RunEnter(msgspec.Struct):
    job_id: str | None = None
    group_id: str | None = None
    task_slug: str | None = None
    model: str | None = None
    parent_trace_id: str | None = None


class RunExit(msgspec.Struct):
    status: str
    reward: Any = None
    error: str | None = None
    evaluation_result: msgspec.Raw = msgspec.Raw(b"null")
    stop_reason: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class Agent(msgspec.Struct):
    type: str
    config: dict[str, Any] = {}


class Submit(msgspec.Struct):
    trace_id: str
    job_id: str
    env: str
    task: str
    agent: Agent
    group_id: str | None = None
    parent_trace_id: str | None = None
    slug: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")
    runtime_config: msgspec.Raw = msgspec.Raw(b"null")
    verifier: msgspec.Raw = msgspec.Raw(b"null")


class Cancel(msgspec.Struct):
    trace_id: str | None = None
    job_id: str | None = None


def parse(request: HttpRequest, shape: type[Any]) -> Any:
    """The body as a struct; unknown keys are let through, as newer clients send more. Raises AppError 400, 422."""
    body = read_body(request, "telemetry_bytes") or b"{}"
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise invalid([problem("", str(error))]) from None
    except (msgspec.DecodeError, RecursionError):
        parse_json(body)
        raise AppError("bad_json", 400, "The body is not JSON of the expected shape") from None


@endpoint("POST", scope="run")
def enter_job(request: HttpRequest, caller: Caller, job_id: str) -> dict[str, Any]:
    given = parse(request, JobEnter)
    job = reports.enter_job(caller, job_id, name=given.name, group=given.group or 1, taskset_id=given.taskset_id)
    return {"job_id": str(job.wire_id)}


@endpoint("POST", scope="run")
def enter_run(request: HttpRequest, caller: Caller, trace_id: str) -> dict[str, Any]:
    given = parse(request, RunEnter)
    run = reports.enter_run(
        caller, trace_id, job_id=given.job_id, group_id=given.group_id, slug=given.task_slug, model=given.model, parent_id=given.parent_trace_id
    )
    return {"trace_id": str(run.wire_id), "status": run.state}


@endpoint("POST", scope="run")
def exit_run(request: HttpRequest, caller: Caller, trace_id: str) -> dict[str, Any]:
    given = parse(request, RunExit)
    if given.status not in RUN_STATUSES:
        raise invalid([problem("status", f"must be one of {', '.join(RUN_STATUSES)}", given.status)])
    exit = reports.RunExit(given.status, given.reward, given.error, _text(given.evaluation_result), _cut(given.stop_reason, 40), _text(given.metadata))
    run = reports.exit_run(caller, trace_id, exit)
    return {"trace_id": str(run.wire_id), "status": run.state}


def _text(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return None if text == "null" else text


def _cut(text: str | None, length: int) -> str | None:
    return text[:length] if text else text


@endpoint("POST", scope="run")
def upload_telemetry(request: HttpRequest, caller: Caller, trace_id: str) -> dict[str, Any]:
    body = read_body(request, "telemetry_bytes")
    try:
        batch = parse_batch(body, max_span_bytes=settings.PROCTOR_LIMITS["span_bytes"])
    except BadBatch as error:
        raise invalid([problem("telemetry", str(error))]) from None
    run, _made = reports.ensure_run(caller, trace_id)
    rejected = [{"index": index, "reason": reason} for index, reason in batch.rejected]
    if run.source == "hosted" and caller.run_id != run.id:
        return {"accepted": 0, "rejected": rejected}
    attempt, fence = (caller.attempt, True) if run.source == "hosted" else (1, False)
    new = record_spans(run.id, attempt, prepare(caller.team_id, batch.spans), fence=fence) if batch.spans else 0
    return {"accepted": len(batch.spans), "new": new, "rejected": rejected}


@endpoint("GET", scope="read")
def get_trace(request: HttpRequest, caller: Caller, trace_id: str) -> dict[str, Any]:
    run = run_queries.get_run(caller, trace_id)
    graded = run.counted == "graded"
    return {
        "id": str(run.wire_id), "status": run.state, "error": run.error, "reward": run.reward,
        "evaluation_result": msgspec.Raw(run.evaluation.encode()) if graded and run.evaluation else None, "stop_reason": run.stop_reason,
        "job_id": str(run.job.wire_id) if run.job else None, "created_at": run.created_at,
    }  # fmt: skip


@endpoint("GET", scope="read")
def get_events(request: HttpRequest, caller: Caller, trace_id: str) -> dict[str, Any]:
    return {"events": steps.events_of(run_queries.get_run(caller, trace_id))}


@endpoint("GET", scope="read")
def list_jobs(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    found = job_queries.find_jobs(caller)
    start = offset(request)
    jobs = list(found[start : start + page_size(request, 20)])
    figures = job_queries.figures_of([job.id for job in jobs])
    return {"items": [_job(job, figures.get(job.id, job_queries.JobFigures())) for job in jobs], "total": found.count()}


def _job(job: Job, figures: job_queries.JobFigures) -> dict[str, Any]:
    return {
        "id": str(job.wire_id), "name": name_of(job), "taskset_name": job.taskset.name if job.taskset else None, "status": figures.state(job),
        "created_at": job.created_at, "reward": figures.mean_reward, "trace_count": figures.tally.expected,
    }  # fmt: skip


@endpoint("GET", scope="read")
def list_traces(request: HttpRequest, caller: Caller, job_id: str) -> dict[str, Any]:
    rows = run_queries.rows_of_job(job_queries.get_job(caller, job_id))
    start = offset(request)
    return {"items": [_trace(run) for run in rows[start : start + page_size(request)]], "total": rows.count()}


def _trace(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.wire_id), "status": run.state, "reward": run.reward, "error": run.error, "start_time": run.started_at, "created_at": run.created_at,
        "task_slug": run.slug, "group_id": run.group_id,
    }  # fmt: skip


@endpoint("POST", scope="run")
def submit(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse(request, Submit)
    run = job_actions.submit_run(caller, _submission(given))
    return {"status": "accepted", "trace_id": str(run.wire_id), "job_id": str(run.job.wire_id) if run.job else None}


def _submission(given: Submit) -> job_actions.Submission:
    row = msgspec.json.encode(
        {"env": given.env, "id": given.task, "slug": given.slug or given.task, "args": given.args, "runtime_config": given.runtime_config, "verifier": given.verifier}
    )
    try:
        task = parse_row(row)
    except BadContent as error:
        raise invalid(error.problems) from None
    return job_actions.Submission(
        trace_id=_uuid(given.trace_id, "trace_id"), job_id=_uuid(given.job_id, "job_id"), group_id=given.group_id and given.group_id[:64],
        parent_id=parse_uuid(given.parent_trace_id) if given.parent_trace_id else None, slug=given.slug, row_text=_as_text(task.text), content_id=task.content_id,
        agent=AgentIn(type=given.agent.type, config=given.agent.config),
    )  # fmt: skip


def _as_text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode()


def _uuid(text: str, field: str) -> uuid.UUID:
    found = parse_uuid(text)
    if found is None:
        raise invalid([problem(field, "must be a UUID", text)])
    return found


@endpoint("POST", scope="run")
def cancel(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = parse(request, Cancel)
    wire_id = parse_uuid(given.trace_id or "")
    cancelled = job_actions.cancel_runs(caller, Q(wire_id=wire_id)) if wire_id else 0
    return {"status": "accepted" if cancelled else "not_found"}


@endpoint("POST", scope="run")
def cancel_job(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    wire_id = parse_uuid(parse(request, Cancel).job_id or "")
    job = Job.objects.filter(team_id=caller.team_id, wire_id=wire_id).first() if wire_id else None
    return {"cancelled": job_actions.cancel_job(caller, job) if job else 0}


@endpoint("POST", scope="run")
def cancel_user_jobs(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    ended = job_actions.cancel_team_jobs(caller)
    details = [{"job_id": str(job.wire_id), "cancelled": cancelled} for job, cancelled in ended]
    return {"jobs_cancelled": len(ended), "total_tasks_cancelled": sum(cancelled for _job, cancelled in ended), "job_details": details}

