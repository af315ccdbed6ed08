"""The native API of analyses: begin one, look at it, page through what it found."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.analysis import AnalysisOut, ChecksPage, DuplicateKind, DuplicatePair, LeakPlace
from proctor.wire.base import Page
from tasksets import queries
from tasksets.analysis import actions
from tasksets.analysis.models import Analysis
from tasksets.analysis.queries import environments_of, find_analysis, find_findings
from tasksets.analysis.render import counts_of, render_analysis
from tasksets.queries import Pinned
from web.errors import AppError, invalid, problem
from web.pages import page_body, page_size, read_key, whole

PAGING = [OpenApiParameter("limit", int), OpenApiParameter("cursor", str)]


@extend_schema(methods=["GET"], responses=AnalysisOut)
@extend_schema(methods=["POST"], request=None, responses={202: AnalysisOut})
@api_view(["GET", "POST"])
def analysis(request: Request, ref: str) -> Response:
    """`POST` begins one that is not there or out of date, else changes nothing."""
    caller = signed_in(request, "read")
    found = queries.resolve_reference(caller, ref)
    if request.method == "GET":
        return Response(_render(found, find_analysis(found.version)))
    if found.version is None:
        raise AppError("conflict", 409, f"Taskset {found.taskset.name} has no tasks to analyse")
    return Response(_render(found, actions.start_analysis(caller, found.version)), status=202)


def _render(found: Pinned, made: Analysis | None) -> dict[str, Any]:
    return render_analysis(found.taskset, found.version, made).model_dump(mode="json")


@extend_schema(parameters=PAGING, responses=ChecksPage)
@api_view(["GET"])
def checks(request: Request, ref: str) -> Response:
    found = queries.resolve_reference(signed_in(request, "read"), ref)
    made = find_analysis(found.version)
    page = _page(request, made, "check")
    return Response(
        ChecksPage(
            items=page["items"], next_cursor=page["next_cursor"], status=made.status if made else "none",
            version_number=found.version.number if found.version else None, policy=found.taskset.schema_policy, counts=counts_of(made),
            environments=environments_of(made, found.version),
        ).model_dump(mode="json")
    )  # fmt: skip


@extend_schema(parameters=[OpenApiParameter("kind", str, enum=list(get_args(DuplicateKind))), *PAGING], responses=Page[DuplicatePair])
@api_view(["GET"])
def duplicates(request: Request, ref: str) -> Response:
    """Exact ones in the order of the tasks, near ones the most alike first."""
    found = queries.resolve_reference(signed_in(request, "read"), ref)
    kind = request.GET.get("kind") or None
    if kind not in (None, *get_args(DuplicateKind)):
        raise invalid([problem("kind", f"must be one of {', '.join(get_args(DuplicateKind))}", kind)])
    return Response(_page(request, find_analysis(found.version), *((kind,) if kind else get_args(DuplicateKind))))


@extend_schema(parameters=PAGING, responses=Page[LeakPlace])
@api_view(["GET"])
def leaks(request: Request, ref: str) -> Response:
    found = queries.resolve_reference(signed_in(request, "read"), ref)
    return Response(_page(request, find_analysis(found.version), "leak"))


def _page(request: Request, made: Analysis | None, *kinds: str) -> dict[str, Any]:
    key, size = read_key(request._request, str, whole), page_size(request._request)
    rows = find_findings(made, kinds, (key[0], key[1]) if key else None, size + 1)
    end = [rows[size - 1].kind, rows[size - 1].number] if len(rows) > size else None
    return page_body([msgspec.json.decode(row.body) for row in rows[:size]], end)
