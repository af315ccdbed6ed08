"""The native API of a task's results: here and not in `tasksets`, because it reads runs."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.base import Page
from proctor.wire.jobs import TaskResult
from runs.queries import results
from runs.render import render_result
from tasksets.queries import find_task_content, resolve_reference
from web.errors import invalid, problem
from web.pages import identity, moment, page_body, page_size, read_key

SLUG = OpenApiParameter("slug", str, required=True)


@extend_schema(parameters=[SLUG, OpenApiParameter("limit", int), OpenApiParameter("cursor", str)], responses=Page[TaskResult])
@api_view(["GET"])
def task_results(request: Request, ref: str) -> Response:
    """A task that is no longer in the version keeps its results."""
    caller, slug = signed_in(request, "read"), request.GET.get("slug", "")
    if not slug:
        raise invalid([problem("slug", "is missing")])
    found = resolve_reference(caller, ref)
    now = find_task_content(found.version, slug) if found.version else None
    runs, key, size = results.results_of(caller, found.taskset, slug), read_key(request._request, moment, identity), page_size(request._request)
    rows = list((results.behind(runs, *key) if key else runs)[: size + 1])
    last = rows[size - 1] if len(rows) > size else None
    items = [render_result(run, now.content_id if now else None) for run in rows[:size]]
    return Response(page_body(items, [last.created_at.isoformat(), str(last.id)] if last else None))
