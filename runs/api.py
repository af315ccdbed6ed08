"""The native API of jobs and runs: parse a wire model, call one action or query, render. `Steps` and `Matrix` are written as bytes."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
from django.core.files.storage import default_storage
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.callers import Caller
from proctor.wire.base import Page
from proctor.wire.jobs import CancelOut, JobChange, JobIn, JobOut, JobPlanOut, LastJobs, Matrix, RunOut, RunRow, Steps, WorkersOut
from proctor.wire.live import Ticket
from runs.actions import jobs as job_actions
from runs.queries import jobs as job_queries
from runs.queries import live, platform, steps
from runs.queries import runs as run_queries
from runs.render import render_job, render_last_job, render_run, row_facts
from tasksets.queries import resolve_reference
from web.bodies import parse_body
from web.crypto import sign
from web.pages import identity, moment, page_body, page_size, read_key, whole

TICKET_S = 30


def query(name: str, kind: Any = OpenApiTypes.STR) -> OpenApiParameter:
    return OpenApiParameter(name, kind, required=False)


PAGE = [query("limit", OpenApiTypes.INT), query("cursor")]


def one_job(request: Request, caller: Caller, job_id: str) -> Response:
    job = job_queries.get_job(caller, job_id)
    return Response(render_job(job, job_queries.figures(job), job_queries.failures_of(job)))


@extend_schema(methods=["GET"], parameters=[*PAGE, query("taskset"), query("q"), query("state"), query("archived", OpenApiTypes.BOOL)], responses=Page[JobOut])
@extend_schema(methods=["POST"], request=JobIn, responses={201: JobOut, 200: JobOut})
@api_view(["GET", "POST"])
def jobs(request: Request) -> Response:
    if request.method == "POST":
        return _start(request)
    caller = signed_in(request, "read")
    reference = request.GET.get("taskset")
    taskset_id = resolve_reference(caller, reference).taskset.id if reference else None
    found = job_queries.find_jobs(caller, taskset_id=taskset_id, archived=request.GET.get("archived") == "true", text=request.GET.get("q", ""), state=request.GET.get("state", ""))
    size = page_size(request._request)
    rows = list(job_queries.after_job(found, read_key(request._request, moment, identity))[: size + 1])
    shown = rows[:size]
    figures = job_queries.figures_of([job.id for job in shown])
    items = [render_job(job, figures.get(job.id, job_queries.JobFigures())) for job in shown]
    return Response(page_body(items, [shown[-1].created_at.isoformat(), str(shown[-1].id)] if len(rows) > size else None))


def _start(request: Request) -> Response:
    caller = signed_in(request)
    job, made = job_actions.start_job(caller, parse_body(request._request, JobIn))
    return Response(render_job(job, job_queries.figures(job)), status=201 if made else 200)


@extend_schema(request=JobIn, responses=JobPlanOut)
@api_view(["POST"])
def plan(request: Request) -> Response:
    caller = signed_in(request)
    given = parse_body(request._request, JobIn)
    found = job_actions.plan_job(caller, given)
    state = platform.sandbox_state()
    if state.kind is not None and found.is_remote:
        state = platform.REMOTE
    out = JobPlanOut(runs=found.run_count(given.group), tasks=len(found.tasks), sandbox=state.kind, sandbox_note=state.note, problems=list(found.problems))
    return Response(out.model_dump(mode="json"))


@extend_schema(methods=["GET"], responses=JobOut)
@extend_schema(methods=["PATCH"], request=JobChange, responses=JobOut)
@api_view(["GET", "PATCH"])
def job(request: Request, job_id: str) -> Response:
    caller = signed_in(request, "read")
    if request.method == "PATCH":
        change = parse_body(request._request, JobChange)
        job_actions.change_job(caller, job_queries.get_job(caller, job_id), name=change.name, archived=change.archived)
    return one_job(request, caller, job_id)


@extend_schema(request=None, responses=CancelOut)
@api_view(["POST"])
def cancel_job(request: Request, job_id: str) -> Response:
    caller = signed_in(request)
    return Response({"cancelled": job_actions.cancel_job(caller, job_queries.get_job(caller, job_id))})


@extend_schema(request=None, responses={201: JobOut})
@api_view(["POST"])
def again(request: Request, job_id: str) -> Response:
    caller = signed_in(request)
    made = job_actions.run_again(caller, job_queries.get_job(caller, job_id))
    return Response(render_job(made, job_queries.figures(made)), status=201)


@extend_schema(responses=Matrix)
@api_view(["GET"])
def matrix(request: Request, job_id: str) -> HttpResponse:
    found = job_queries.get_job(signed_in(request, "read"), job_id)
    seq = live.cursor_now()
    tasks = [{"task_index": index, "slug": slug, "prompt": prompt_of(text)} for index, slug, text in job_queries.task_texts(found)]
    rows = [row_facts(run) for run in run_queries.rows_of_job(found)]
    head = render_job(found, job_queries.figures(found), job_queries.failures_of(found))
    return json_bytes({"job": head, "tasks": tasks, "runs": rows, "seq": seq})


def prompt_of(text: str) -> str:
    """What a person recognises a task by: the first text among its args, else the args."""
    if not text:
        return ""
    args = msgspec.json.decode(text).get("args") or {}
    first = next((value for value in args.values() if isinstance(value, str)), None)
    return (first if first is not None else msgspec.json.encode(args).decode())[:160]


def json_bytes(value: Any) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(value), content_type="application/json")


@extend_schema(parameters=[*PAGE, query("state"), query("counted")], responses=Page[RunRow])
@api_view(["GET"])
def job_runs(request: Request, job_id: str) -> HttpResponse:
    rows = run_queries.rows_of_job(job_queries.get_job(signed_in(request, "read"), job_id))
    for name in ("state", "counted"):
        if request.GET.get(name):
            rows = rows.filter(**{name: request.GET[name]})
    size = page_size(request._request)
    found = list(run_queries.after_row(rows, read_key(request._request, whole, whole, identity))[: size + 1])
    shown = found[:size]
    key = [shown[-1].task_index, shown[-1].repeat, str(shown[-1].id)] if len(found) > size else None
    return json_bytes(page_body([row_facts(run) for run in shown], key))


@extend_schema(responses=RunOut)
@api_view(["GET"])
def run(request: Request, run_id: str) -> Response:
    found = run_queries.get_run(signed_in(request, "read"), run_id)
    return Response(render_run(found, run_queries.siblings_of(found)))


@extend_schema(request=None, responses=CancelOut)
@api_view(["POST"])
def cancel_run(request: Request, run_id: str) -> Response:
    caller = signed_in(request)
    found = run_queries.get_run(caller, run_id)
    return Response({"cancelled": job_actions.cancel_run(caller, found)})


@extend_schema(parameters=[query("after", OpenApiTypes.INT), query("limit", OpenApiTypes.INT), query("attempt", OpenApiTypes.INT)], responses=Steps)
@api_view(["GET"])
def run_steps(request: Request, run_id: str) -> HttpResponse:
    found = run_queries.get_run(signed_in(request, "read"), run_id)
    return json_bytes(
        steps.read_steps(found, after=number(request, "after") or 0, limit=page_size(request._request, 200), attempt=number(request, "attempt") or None)
    )


def number(request: Request, name: str) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


@extend_schema(responses={(200, "text/plain"): OpenApiTypes.STR})
@api_view(["GET"])
def run_log(request: Request, run_id: str) -> HttpResponse:
    log = run_queries.log_of(run_queries.get_run(signed_in(request, "read"), run_id))
    return HttpResponse(log, content_type="text/plain; charset=utf-8")


@extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
@api_view(["GET"])
def blob(request: Request, sha256: str) -> HttpResponseBase:
    """Immutable by its name; anything that is no plain picture is offered as a file, never rendered in our origin."""
    found, path = steps.get_blob(signed_in(request, "read"), sha256)
    safe = found.mime_type in ("image/png", "image/jpeg", "image/webp", "image/gif")
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "Content-Security-Policy": "sandbox"}
    body = default_storage.open(path).read()
    response = HttpResponse(body, content_type=found.mime_type if safe else "application/octet-stream", headers=headers)
    if not safe:
        response["Content-Disposition"] = f'attachment; filename="{sha256[:16]}"'
    return response


@extend_schema(request=None, responses=Ticket)
@api_view(["POST"])
def ws_ticket(request: Request) -> Response:
    """A ticket is signed, names its caller's key, and is taken once (`runs.consumers`)."""
    caller = signed_in(request, "read")
    ticket = sign("ws", {"n": uuid.uuid4().hex, "team": str(caller.team_id), "key": str(caller.key_id or ""), "user": str(caller.user_id or "")})
    return Response({"ticket": ticket, "expires_in_s": TICKET_S})


@extend_schema(responses=LastJobs)
@api_view(["GET"])
def last_jobs(request: Request) -> Response:
    found = job_queries.last_jobs(signed_in(request, "read"))
    figures = job_queries.figures_of([job.id for job in found])
    items = [render_last_job(job, figures.get(job.id, job_queries.JobFigures())) for job in found]
    return Response({"items": items})


@extend_schema(responses=WorkersOut)
@api_view(["GET"])
def workers(request: Request) -> Response:
    signed_in(request, "read")
    fields = ("id", "host", "slots", "busy", "heartbeat_at", "sandbox", "sandbox_note", "hud_version", "hud_note")
    return Response({"items": [{name: getattr(worker, name) for name in fields} for worker in platform.find_live_workers()]})

