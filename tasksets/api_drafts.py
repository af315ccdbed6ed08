"""The native API of drafts: parse a wire model, call one action or query, render."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.callers import Caller
from proctor.wire.drafts import DraftBulk, DraftCommit, DraftIn, DraftOut
from proctor.wire.tasksets import UploadOut
from tasksets import drafts, queries
from tasksets.api import unpinned
from tasksets.models import Taskset
from tasksets.render import render_upload
from tasksets.render_versions import render_draft
from web.bodies import parse_body
from web.pages import page_size


def _taskset(caller: Caller, ref: str) -> Taskset:
    return unpinned(queries.resolve_reference(caller, ref)).taskset


@extend_schema(methods=["GET"], parameters=[OpenApiParameter("slug", str), OpenApiParameter("limit", int)], responses=DraftOut)
@extend_schema(methods=["PUT"], request=DraftIn, responses=DraftOut)
@extend_schema(methods=["DELETE"], responses={204: None})
@api_view(["GET", "PUT", "DELETE"])
def draft(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    taskset = _taskset(caller, ref)
    if request.method == "DELETE":
        drafts.drop_draft(caller, taskset)
        return Response(status=204)
    if request.method == "GET":
        size = page_size(request._request, drafts.SHOWN_CHANGES)
        found = drafts.get_draft(caller, taskset, slug=request.GET.get("slug"), limit=size)
    else:
        found = drafts.edit_draft(caller, taskset, parse_body(request._request, DraftIn, "upload_bytes").changes)
    return Response(render_draft(found).model_dump(mode="json"))


@extend_schema(request=DraftBulk, responses=DraftOut)
@api_view(["POST"])
def draft_bulk(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    taskset = _taskset(caller, ref)
    found = drafts.edit_many(caller, taskset, parse_body(request._request, DraftBulk, "upload_bytes"))
    return Response(render_draft(found).model_dump(mode="json"))


@extend_schema(request=DraftCommit, responses=UploadOut)
@api_view(["POST"])
def draft_commit(request: Request, ref: str) -> Response:
    caller = signed_in(request, "write")
    taskset = _taskset(caller, ref)
    given = parse_body(request._request, DraftCommit, "upload_bytes")
    done = drafts.commit_draft(caller, taskset, message=given.message, resolve=given.resolve, others=given.others)
    return Response(render_upload(done).model_dump(mode="json"))
