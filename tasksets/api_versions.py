"""The native API of what is done with versions: tags, differences, restore and undo, a task's history,
purge and redaction."""

from __future__ import annotations

from typing import Any, get_args

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.base import Page
from proctor.wire.tasksets import UploadOut
from proctor.wire.versions import (
    DiffKind,
    DiffPage,
    DiffTask,
    PurgeIn,
    PurgeOut,
    RedactIn,
    RedactOut,
    RestoreIn,
    TagIn,
    TagOut,
    TaskHistoryRow,
    UndoIn,
)
from tasksets import api, comparisons, deleting, queries, restores, tags
from tasksets.api import PAGING, SEARCH, unpinned, whole
from tasksets.models import Taskset, Version
from tasksets.render import render_upload
from tasksets.render_versions import render_diff, render_diff_task, render_event, render_purge, render_redaction, render_tag
from web.bodies import parse_body
from web.errors import AppError, invalid, not_found, problem
from web.pages import page_body, page_size, read_cursor

SIDES = [OpenApiParameter("from", str), OpenApiParameter("to", str)]
SLUG = OpenApiParameter("slug", str, required=True)


@extend_schema(parameters=PAGING, responses=Page[TagOut])
@api_view(["GET"])
def taskset_tags(request: Request, ref: str) -> Response:
    taskset = queries.resolve_reference(signed_in(request, "read"), ref).taskset
    after, size = read_cursor(request._request, 1), page_size(request._request)
    found = tags.find_tags(taskset, str(after[0]) if after else "", size + 1)
    items = [render_tag(one).model_dump(mode="json") for one in found[:size]]
    return Response(page_body(items, [found[size - 1].tag.name] if len(found) > size else None))


@extend_schema(methods=["PUT"], request=TagIn, responses=TagOut)
@extend_schema(methods=["DELETE"], responses={204: None})
@api_view(["PUT", "DELETE"])
def taskset_tag(request: Request, ref: str, tag: str) -> Response:
    caller = signed_in(request, "write")
    taskset = unpinned(queries.resolve_reference(caller, ref)).taskset
    if request.method == "DELETE":
        tags.remove_tag(caller, taskset, tag)
        return Response(status=204)
    version = queries.find_version(taskset, parse_body(request._request, TagIn).version)
    return Response(render_tag(tags.set_tag(caller, taskset, tag, version)).model_dump(mode="json"))


@extend_schema(parameters=[*SIDES, OpenApiParameter("kind", str, enum=list(get_args(DiffKind))), SEARCH, *PAGING], responses=DiffPage)
@api_view(["GET"])
def taskset_diff(request: Request, ref: str) -> Response:
    """`q` looks into slugs. Versions never change, so a page's cursor is a place in the whole difference."""
    taskset = queries.resolve_reference(signed_in(request, "read"), ref).taskset
    before, after = _sides(request, taskset)
    difference = comparisons.compare(before, after)
    rows = [row for row in difference.rows if _wanted(row.kind, request) and request.GET.get("q", "").lower() in row.slug.lower()]
    cursor, size = read_cursor(request._request, 1), page_size(request._request)
    start = whole(cursor[0]) if cursor else 0
    page = rows[start : start + size]
    end = page_body([], [start + size] if len(rows) > start + size else None)["next_cursor"]
    made = render_diff(before, after, difference, page, comparisons.texts_of(taskset, page), end)
    return Response(made.model_dump(mode="json", by_alias=True))


def _sides(request: Request, taskset: Taskset) -> tuple[Version | None, Version | None]:
    """`to` is the head unless given, `from` the parent of `to`."""
    to, given = request.GET.get("to"), request.GET.get("from")
    after = queries.find_version(taskset, to) if to else taskset.head
    before = queries.find_version(taskset, given) if given else after.parent if after else None
    for version in (before, after):
        if version:
            version.taskset = taskset
    return before, after


def _wanted(kind: str, request: Request) -> bool:
    wanted = [part for part in request.GET.get("kind", "").split(",") if part]
    unknown = next((part for part in wanted if part not in get_args(DiffKind)), None)
    if unknown:
        raise invalid([problem("kind", f"must be of {', '.join(get_args(DiffKind))}", unknown)])
    return not wanted or kind in wanted


@extend_schema(parameters=[SLUG, *SIDES], responses=DiffTask)
@api_view(["GET"])
def taskset_diff_task(request: Request, ref: str) -> Response:
    taskset = queries.resolve_reference(signed_in(request, "read"), ref).taskset
    slug, sides = _slug(request), _sides(request, taskset)
    tasks = [queries.find_task_content(version, slug) if version else None for version in sides]
    if not any(tasks):
        raise not_found("Task")
    return Response(render_diff_task(slug, sides, (tasks[0], tasks[1])).model_dump(mode="json"))


def _slug(request: Request) -> str:
    slug = request.GET.get("slug")
    if not slug:
        raise invalid([problem("slug", "is missing")])
    return slug


@extend_schema(request=RestoreIn, responses=UploadOut)
@api_view(["POST"])
def taskset_restore(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    taskset = unpinned(queries.resolve_reference(caller, ref)).taskset
    given = parse_body(request._request, RestoreIn)
    done = restores.restore(caller, taskset, queries.find_version(taskset, given.version), message=given.message)
    return Response(render_upload(done).model_dump(mode="json"))


@extend_schema(request=UndoIn, responses=UploadOut)
@api_view(["POST"])
def taskset_undo(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    taskset = unpinned(queries.resolve_reference(caller, ref)).taskset
    given = parse_body(request._request, UndoIn)
    return Response(render_upload(restores.undo(caller, taskset, number=given.version)).model_dump(mode="json"))


@extend_schema(parameters=[SLUG, *PAGING], responses=Page[TaskHistoryRow])
@api_view(["GET"])
def task_history(request: Request, ref: str) -> Any:
    """Without `slug` this is the page of the task that is called `history`."""
    if "slug" not in request.GET:
        return api.task(request._request, ref=ref, slug="history")
    taskset = queries.resolve_reference(signed_in(request, "read"), ref).taskset
    cursor, size = read_cursor(request._request, 1), page_size(request._request)
    events = comparisons.task_history(taskset, _slug(request), whole(cursor[0]) if cursor else None, size + 1)
    if not events and not cursor:
        raise AppError("not_found", 404, f"No version of taskset {taskset.name} has such a task")
    items = [render_event(event).model_dump(mode="json") for event in events[:size]]
    return Response(page_body(items, [events[size - 1].version.number] if len(events) > size else None))


@extend_schema(request=PurgeIn, responses=PurgeOut)
@api_view(["POST"])
def taskset_purge(request: Request, ref: str) -> Response:
    caller = signed_in(request, "admin")
    taskset = unpinned(queries.resolve_reference(caller, ref)).taskset
    done = deleting.purge(caller, taskset, confirm=parse_body(request._request, PurgeIn).confirm)
    return Response(render_purge(done).model_dump(mode="json"))


@extend_schema(request=RedactIn, responses=RedactOut)
@api_view(["POST"])
def taskset_redact(request: Request, ref: str) -> Response:
    caller = signed_in(request, "admin")
    taskset = unpinned(queries.resolve_reference(caller, ref)).taskset
    given = parse_body(request._request, RedactIn)
    done = deleting.redact(caller, taskset, slug=given.slug, reason=given.reason)
    return Response(render_redaction(done).model_dump(mode="json"))
