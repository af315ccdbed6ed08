"""The native API of tasksets: parse a wire model, call one action or query, render."""

from __future__ import annotations

from typing import Any, cast, get_args

from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.callers import Caller
from proctor.wire.base import Page
from proctor.wire.tasksets import TaskOut, TasksetChange, TasksetIn, TasksetOut, UploadMode, UploadOut, VersionOut
from tasksets import actions, queries
from tasksets.models import Version
from tasksets.queries import Pinned
from tasksets.render import render_task, render_taskset, render_upload, render_version
from tasksets.serving import export_view
from web.bodies import parse_body, read_body
from web.errors import conflict, invalid, not_found, problem
from web.ids import known_uuid
from web.pages import page_body, page_size, read_cursor

PAGING = [OpenApiParameter("limit", int), OpenApiParameter("cursor", str)]
SEARCH = OpenApiParameter("q", str)


@extend_schema(methods=["GET"], parameters=[SEARCH, OpenApiParameter("archived", bool), *PAGING], responses=Page[TasksetOut])
@extend_schema(methods=["POST"], request=TasksetIn, responses={201: TasksetOut})
@api_view(["GET", "POST"])
def tasksets(request: Request) -> Response:
    caller = signed_in(request)
    if request.method == "GET":
        return _list(request, caller)
    caller.require("write")
    given = parse_body(request._request, TasksetIn)
    project_id = known_uuid(given.project_id, "Project") if given.project_id else None
    made = actions.create_taskset(caller, name=given.name, project_id=project_id)
    return Response(render_taskset(made).model_dump(mode="json"), status=201)


def _list(request: Request, caller: Caller) -> Response:
    caller.require("read")
    archived = request.GET.get("archived", "").lower() in ("1", "true", "yes")
    found = queries.find_tasksets(caller, q=request.GET.get("q", ""), archived=archived)
    after = read_cursor(request._request, 2)
    if after:
        found = queries.behind(found, _moment(after[0]), known_uuid(str(after[1]), "Page"))
    size = page_size(request._request)
    rows = list(found[: size + 1])
    last = rows[size - 1] if len(rows) > size else None
    items = [render_taskset(row).model_dump(mode="json") for row in rows[:size]]
    return Response(page_body(items, [last.changed_at.isoformat(), last.id] if last else None))


def _moment(text: Any) -> Any:
    moment = parse_datetime(text) if isinstance(text, str) else None
    if moment is None:
        raise invalid([problem("cursor", "must be the `next_cursor` of a page before", text)])
    return moment


@extend_schema(methods=["GET"], responses=TasksetOut)
@extend_schema(methods=["PATCH"], request=TasksetChange, responses=TasksetOut)
@api_view(["GET", "PATCH"])
def taskset(request: Request, ref: str) -> Response:
    caller = signed_in(request, "read")
    found = queries.resolve_reference(caller, ref)
    if request.method == "GET":
        return Response(render_taskset(found.taskset, found.version if found.pinned else None).model_dump(mode="json"))
    given = parse_body(request._request, TasksetChange)
    unpinned(found)
    changed = actions.change_taskset(caller, found.taskset.id, **given.model_dump())
    return Response(render_taskset(changed).model_dump(mode="json"))


@extend_schema(parameters=PAGING, responses=Page[VersionOut])
@api_view(["GET"])
def versions(request: Request, ref: str) -> Response:
    caller = signed_in(request, "read")
    taskset = queries.resolve_reference(caller, ref).taskset
    found = queries.find_versions(taskset).defer("chunk_ids", "parent__chunk_ids")
    after = read_cursor(request._request, 1)
    if after:
        found = found.filter(number__lt=whole(after[0]))
    size = page_size(request._request)
    rows = list(found[: size + 1])
    items = [render_version(row).model_dump(mode="json") for row in rows[:size]]
    return Response(page_body(items, [rows[size - 1].number] if len(rows) > size else None))


def whole(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise invalid([problem("cursor", "must be the `next_cursor` of a page before", value)])
    return value


@extend_schema(responses=VersionOut)
@api_view(["GET"])
def version(request: Request, ref: str, number: int) -> Response:
    caller = signed_in(request, "read")
    found = queries.find_version(queries.resolve_reference(caller, ref).taskset, number)
    return Response(render_version(found).model_dump(mode="json"))


@extend_schema(responses=TaskOut)
@api_view(["GET"])
def task(request: Request, ref: str, slug: str) -> Response:
    return task_response(queries.resolve_reference(signed_in(request, "read"), ref).version, slug)


def task_response(version: Version | None, slug: str) -> Response:
    """Raises AppError 404."""
    found = queries.find_task_content(version, slug) if version else None
    if version is None or found is None:
        raise not_found("Task")
    return Response(render_task(found, version).model_dump(mode="json"))


@extend_schema(
    parameters=[OpenApiParameter("mode", str, enum=list(get_args(UploadMode))), OpenApiParameter("message", str)],
    request={"application/json": dict},
    responses=UploadOut,
)
@api_view(["POST"])
def upload(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    found = unpinned(queries.resolve_reference(caller, ref))
    mode = request.GET.get("mode", "merge")
    if mode not in get_args(UploadMode):
        raise invalid([problem("mode", "must be merge, replace or remove", mode)])
    message = request.GET.get("message", "")[:1000]
    body = read_body(request._request, "upload_bytes")
    done = actions.upload(caller, taskset_id=found.taskset.id, body=body, mode=cast(UploadMode, mode), message=message)
    return Response(render_upload(done).model_dump(mode="json"))


def unpinned(found: Pinned) -> Pinned:
    """Raises AppError 409: a version never changes."""
    if found.pinned:
        raise conflict(f"A version of taskset {found.taskset.name} never changes; name the taskset without a version")
    return found


export = export_view(queries.resolve_reference)
