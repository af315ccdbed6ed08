"""Task Apps, native: register, ask, validate, pull; keys of tasksets that are served. Parse a wire model, call one thing, render."""

from __future__ import annotations

import uuid

from asgiref.sync import async_to_sync
from django.http import HttpRequest
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.queries import public_url
from environments import task_apps
from proctor.taskapp.validate import validate as ask_everything
from proctor.wire.base import Page
from proctor.wire.task_apps import PullIn, PullOut, TaskAppIn, TaskAppKeyIn, TaskAppKeyMade, TaskAppKeyOut, TaskAppOut, TaskAppReport
from taskapps import keys
from taskapps.pull import pull as pull_tasks
from taskapps.render import render_key, render_pull, render_task_app
from tasksets.queries import resolve_reference
from web.bodies import parse_body, parse_json, read_body
from web.errors import invalid, path_text, problem
from web.pages import identity, moment, page_body, page_size, read_key


@extend_schema(request=TaskAppIn, responses={201: TaskAppOut})
@api_view(["POST"])
def register(request: Request) -> Response:
    caller = signed_in(request, "write")
    given = _parse(request._request)
    made = task_apps.register_task_app(caller, name=given.name, url=given.url, api_key=given.api_key)
    return Response(render_task_app(async_to_sync(task_apps.ask)(made)), status=201)


def _parse(request: HttpRequest) -> TaskAppIn:
    """As `parse_body`, but without showing values back: they may be secrets."""
    try:
        return TaskAppIn.model_validate(parse_json(read_body(request)))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise invalid([problem(path_text(item["loc"]), item["msg"]) for item in found]) from None


@extend_schema(responses=TaskAppOut)
@api_view(["GET"])
def task_app(request: Request, reference: str) -> Response:
    return Response(render_task_app(task_apps.get_task_app(signed_in(request, "read"), reference)))


@extend_schema(request=None, responses=TaskAppOut)
@api_view(["POST"])
def probe(request: Request, reference: str) -> Response:
    found = task_apps.get_task_app(signed_in(request, "run"), reference)
    return Response(render_task_app(async_to_sync(task_apps.ask)(found)))


@extend_schema(request=None, responses=TaskAppReport)
@api_view(["POST"])
def validate(request: Request, reference: str) -> Response:
    found = task_apps.get_task_app(signed_in(request, "run"), reference)
    findings = async_to_sync(ask_everything)(task_apps.target_of(found))
    count = {level: sum(finding.level == level for finding in findings) for level in ("error", "warning")}
    return Response({"findings": [finding.as_dict() for finding in findings], "errors": count["error"], "warnings": count["warning"]})


@extend_schema(request=PullIn, responses=PullOut)
@api_view(["POST"])
def pull(request: Request, reference: str) -> Response:
    caller = signed_in(request, "write")
    found = task_apps.get_task_app(caller, reference)
    given = parse_body(request._request, PullIn)
    return Response(render_pull(async_to_sync(pull_tasks)(caller, found, given)))


@extend_schema(methods=["GET"], responses=Page[TaskAppKeyOut])
@extend_schema(methods=["POST"], request=TaskAppKeyIn, responses={201: TaskAppKeyMade})
@api_view(["GET", "POST"])
def taskset_keys(request: Request, ref: str) -> Response:
    caller = signed_in(request, "read")
    taskset = resolve_reference(caller, ref).taskset
    if request.method == "POST":
        made = keys.create_key(caller, taskset, name=parse_body(request._request, TaskAppKeyIn).name)
        url = f"{public_url()}/task-apps/{taskset.name}"
        return Response({"key": render_key(made.key), "secret": made.secret, "url": url}, status=201)
    found, size, after = keys.find_keys(taskset), page_size(request._request), read_key(request._request, moment, identity)
    rows = list((found.filter(created_at__lt=after[0]) if after else found)[: size + 1])
    last = rows[size - 1] if len(rows) > size else None
    return Response(page_body([render_key(row) for row in rows[:size]], [last.created_at.isoformat(), str(last.id)] if last else None))


@extend_schema(request=None, responses=TaskAppKeyOut)
@api_view(["DELETE"])
def taskset_key(request: Request, ref: str, key_id: uuid.UUID) -> Response:
    caller = signed_in(request, "write")
    return Response(render_key(keys.revoke_key(caller, resolve_reference(caller, ref).taskset, key_id)))
