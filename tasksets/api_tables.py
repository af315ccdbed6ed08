"""The native API of a version's table of tasks: parse, ask the table, render.

A cursor names the version that its first page came from, so a commit meanwhile moves nothing under who reads on, and the question.
"""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.base import Page
from proctor.wire.tables import FacetsOut
from proctor.wire.tasksets import TaskRow
from tasksets import queries
from tasksets.api import PAGING, SEARCH
from tasksets.models import Version
from tasksets.queries import Pinned
from tasksets.render import render_row
from tasksets.render_tables import render_facets
from tasksets.tables.asking import column_name
from tasksets.tables.facets import Facets, count_facets
from tasksets.tables.questions import asked_of, mark_of
from tasksets.tables.reading import Table
from web.pages import bad_cursor, page_body, page_size, place, read_key, whole

SORT = OpenApiParameter(
    "sort", str, description="`position`, `slug`, `env`, `task_id`, `columns.<name>`; `-` before it for descending; several with commas."
)
FILTER = OpenApiParameter("f.<column>", str, description="`a,b`: one of these; `!a`: not this; `>=2,<=5`: a range; `\\-`: no value.")
AT = OpenApiParameter("at", int, description="The place of the first task, counted from 0 in what is asked.")


@extend_schema(parameters=[SEARCH, SORT, FILTER, AT, *PAGING], responses=Page[TaskRow])
@api_view(["GET"])
def tasks(request: Request, ref: str) -> Response:
    return tasks_response(request, queries.resolve_reference(signed_in(request, "read"), ref))


def tasks_response(request: Request, found: Pinned, *, only_this: bool = False) -> Response:
    """`only_this`: a cursor that names another version is refused, for who may see this one alone."""
    asked = asked_of(request._request)
    key, mark = read_key(request._request, whole, whole, whole), mark_of(request._request)
    if key and (key[2] != mark or (only_this and found.version and key[0] != found.version.number)):
        raise bad_cursor(request.GET["cursor"])
    version, start = _from_cursor(found, key) if key else (found.version, place(request._request))
    if version is None:
        return Response(page_body([], None, 0))
    table, size = Table(version), page_size(request._request)
    total, rows = table.total(asked), table.page(asked, start, size)
    after = [version.number, start + size, mark] if start + size < total else None
    return Response(page_body([render_row(row).model_dump(mode="json") for row in rows], after, total))


def _from_cursor(found: Pinned, key: list[int]) -> tuple[Version, int]:
    number, start, _mark = key
    version = found.version if found.version and found.version.number == number else queries.find_version(found.taskset, number)
    return version, start


@extend_schema(
    parameters=[SEARCH, FILTER, OpenApiParameter("column", str, many=True), OpenApiParameter("facet_q", str)], responses=FacetsOut
)
@api_view(["GET"])
def facets(request: Request, ref: str) -> Response:
    version, asked = queries.resolve_reference(signed_in(request, "read"), ref).version, asked_of(request._request)
    names = [column_name(name) for name in request.GET.getlist("column")]
    counted = count_facets(Table(version), asked, names=names, facet_q=request.GET.get("facet_q", "")) if version else Facets(0, [], [])
    return Response(render_facets(counted).model_dump(mode="json"))
