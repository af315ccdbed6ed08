"""The native API of getting data in: uploads in parts, imports, their errors and edits, templates."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, parser_classes
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.formats import FileRefused
from proctor.wire.base import Page
from proctor.wire.imports import (
    ErrorGroup,
    FolderOutcome,
    ImportCommit,
    ImportIn,
    ImportOut,
    Mapping,
    PartReceived,
    PreviewOut,
    RowChange,
    RowError,
    RowOut,
    UploadSession,
    UploadSessionIn,
)
from proctor.wire.tasksets import UploadOut
from tasksets import queries
from tasksets.imports import actions, committing, listing, sessions, templates
from tasksets.imports.models import Import
from tasksets.imports.render import (
    render_folder,
    render_group,
    render_import,
    render_problem,
    render_row,
    render_trial,
    render_upload_session,
)
from tasksets.render import render_upload
from web.bodies import parse_body
from web.errors import AppError, conflict, invalid, not_found, problem
from web.ids import known_uuid
from web.pages import identity, moment, page_body, page_size, read_key, whole

PAGING = [OpenApiParameter("limit", int), OpenApiParameter("cursor", str)]


class RawBody(BaseParser):
    """Any type; the view reads the stream itself."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return None


@extend_schema(request=UploadSessionIn, responses={201: UploadSession})
@api_view(["POST"])
def uploads(request: Request) -> Response:
    caller = signed_in(request, "write")
    given = parse_body(request._request, UploadSessionIn)
    made = sessions.begin_upload(caller, filename=given.filename, size_bytes=given.size_bytes)
    return Response(render_upload_session(made).model_dump(mode="json"), status=201)


@extend_schema(methods=["GET"], responses=UploadSession)
@extend_schema(methods=["PUT"], parameters=[OpenApiParameter("offset", int)], request=OpenApiTypes.BINARY, responses=PartReceived)
@extend_schema(methods=["DELETE"], responses={204: None})
@api_view(["GET", "PUT", "DELETE"])
@parser_classes([RawBody])
def upload(request: Request, upload_id: str) -> Response:
    caller = signed_in(request, "read" if request.method == "GET" else "write")
    found = sessions.get_upload(caller, upload_id)
    if request.method == "GET":
        return Response(render_upload_session(found).model_dump(mode="json"))
    if request.method == "DELETE":
        sessions.drop_upload(found)
        return Response(status=204)
    announced = request.META.get("CONTENT_LENGTH") or ""
    length = int(announced) if announced.isdigit() else None
    received = sessions.receive(caller, found, request._request, offset=_offset(request), announced=length)  # type: ignore[arg-type]
    return Response({"received_bytes": received})


def _offset(request: Request) -> int:
    text = request.GET.get("offset", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise invalid([problem("offset", "must be a number of bytes", text)])
    return int(text)


@extend_schema(methods=["GET"], parameters=PAGING, responses=Page[ImportOut])
@extend_schema(methods=["POST"], request=ImportIn, responses={201: ImportOut})
@api_view(["GET", "POST"])
def imports(request: Request) -> Response:
    """GET: those of new tasksets that are not finished, newest first."""
    caller = signed_in(request, "read" if request.method == "GET" else "write")
    if request.method == "GET":
        return _listing(request, listing.unfinished(caller))
    given = parse_body(request._request, ImportIn)
    file = sessions.get_upload(caller, given.upload_id)
    pinned = queries.resolve_reference(caller, given.taskset) if given.taskset else None
    if pinned is not None and pinned.pinned:
        raise conflict(f"A version of taskset {pinned.taskset.name} never changes; name the taskset without a version")
    made = actions.begin_import(caller, upload=file, taskset=pinned.taskset if pinned else None, name=given.name or "", wanted=given.format)
    return Response(render_import(made).model_dump(mode="json"), status=201)


@extend_schema(responses=ImportOut)
@api_view(["GET"])
def one_import(request: Request, import_id: str) -> Response:
    caller = signed_in(request, "read")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    quiet = request.GET.get("preview", "1") in ("0", "false")
    return Response(render_import(found, with_preview=not quiet).model_dump(mode="json"))


@extend_schema(parameters=PAGING, responses=Page[ImportOut])
@api_view(["GET"])
def imports_of(request: Request, ref: str) -> Response:
    """Running ones first, then the newest."""
    caller = signed_in(request, "read")
    return _listing(request, listing.imports_of(queries.resolve_reference(caller, ref).taskset))


def _listing(request: Request, found: QuerySet[Import]) -> Response:
    size, after = page_size(request._request), read_key(request._request, whole, moment, identity)
    rows, last = listing.page(found, after, size)
    items = [render_import(row, with_preview=False).model_dump(mode="json") for row in rows]
    return Response(page_body(items, last))


@extend_schema(request=Mapping, responses=ImportOut)
@api_view(["PUT"])
def mapping(request: Request, import_id: str) -> Response:
    caller = signed_in(request, "write")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    done = actions.map_import(caller, found, parse_body(request._request, Mapping))
    return Response(render_import(done).model_dump(mode="json"))


@extend_schema(request=Mapping, responses=PreviewOut)
@api_view(["POST"])
def preview(request: Request, import_id: str) -> Response:
    """What the first rows would become; keeps nothing."""
    caller = signed_in(request, "read")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    return Response(render_trial(found, parse_body(request._request, Mapping)).model_dump(mode="json"))


@extend_schema(methods=["GET"], responses=RowOut)
@extend_schema(methods=["PUT"], request=RowChange, responses=ImportOut)
@api_view(["GET", "PUT"])
def row(request: Request, import_id: str, line: int) -> Response:
    caller = signed_in(request, "read" if request.method == "GET" else "write")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    if request.method == "GET":
        return Response(render_row(found, actions.row_of(found, line)).model_dump(mode="json"))
    changed = actions.edit_row(caller, found, line, parse_body(request._request, RowChange, "task_bytes").values)
    return Response(render_import(changed, with_preview=False).model_dump(mode="json"))


@extend_schema(parameters=[*PAGING, OpenApiParameter("rule", str), OpenApiParameter("column", str)], responses=Page[RowError])
@api_view(["GET"])
def errors(request: Request, import_id: str) -> Response:
    """In the file's order. `rule` and `column`: those of one group; without `column` those that are in none."""
    caller = signed_in(request, "read")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    size, after = page_size(request._request), read_key(request._request, int, int)
    group = (request.GET.get("column"), request.GET["rule"]) if "rule" in request.GET else None
    rows = list(listing.problems(found, after, group)[: size + 1])
    last = rows[size - 1] if len(rows) > size else None
    items = [render_problem(one).model_dump(mode="json") for one in rows[:size]]
    return Response(page_body(items, [last.line, last.id] if last else None, None if group else found.errors_total))


@extend_schema(parameters=PAGING[:1], responses=Page[ErrorGroup])
@api_view(["GET"])
def error_groups(request: Request, import_id: str) -> Response:
    """The largest groups; `total` counts all."""
    caller = signed_in(request, "read")
    groups = listing.problem_groups(actions.get_import(caller, known_uuid(import_id, "Import")))
    items = [render_group(one).model_dump(mode="json") for one in groups[: page_size(request._request)]]
    return Response(page_body(items, None, groups.count()))


@extend_schema(parameters=PAGING, responses=Page[FolderOutcome])
@api_view(["GET"])
def folders(request: Request, import_id: str) -> Response:
    """What became of each task folder of `hud harbor import`; nothing for other imports."""
    caller = signed_in(request, "read")
    report = actions.get_import(caller, known_uuid(import_id, "Import")).report or {}
    size, after = page_size(request._request), read_key(request._request, whole)
    begin = after[0] if after else 0
    tasks = [*report.get("tasks", []), *report.get("jobs", [])]
    items = [render_folder(task).model_dump(mode="json") for task in tasks[begin : begin + size]]
    return Response(page_body(items, [begin + size] if begin + size < len(tasks) else None, len(tasks)))


@extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
@api_view(["GET"])
def errors_csv(request: Request, import_id: str) -> HttpResponseBase:
    caller = signed_in(request, "read")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    name = f"errors-{found.id}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(_stream(_csv_lines(found)), content_type="text/csv; charset=utf-8", headers=headers)


def _csv_lines(found: Import) -> Iterator[str]:
    class Echo:
        def write(self, text: str) -> str:
            return text

    writer = csv.writer(Echo())
    yield writer.writerow(["line", "column", "value", "rule"])
    after: list[int] | None = None
    while rows := list(listing.problems(found, after)[:1000]):
        for one in rows:
            yield writer.writerow([one.line, *(_harmless(text) for text in (one.column, one.value, one.rule))])
        after = [rows[-1].line, rows[-1].id]


def _harmless(text: str | None) -> str:
    """A spreadsheet would take it for a formula."""
    return f"'{text}" if text and text[0] in "=+-@\t\r" else text or ""


async def _stream(lines: Iterator[str]) -> AsyncIterator[str]:
    while block := await sync_to_async(lambda: "".join(islice(lines, 500)))():
        yield block


@extend_schema(request=ImportCommit, responses=UploadOut)
@api_view(["POST"])
def commit(request: Request, import_id: str) -> Response:
    caller = signed_in(request, "write")
    found = actions.get_import(caller, known_uuid(import_id, "Import"))
    given = parse_body(request._request, ImportCommit)
    done = committing.commit_import(caller, found, mode=given.mode, message=given.message, tag=given.tag, leave_out_bad=given.leave_out_bad)
    return Response(render_upload(done).model_dump(mode="json"))


@extend_schema(request=None, responses=ImportOut)
@api_view(["POST"])
def cancel(request: Request, import_id: str) -> Response:
    caller = signed_in(request, "write")
    found = actions.cancel_import(caller, actions.get_import(caller, known_uuid(import_id, "Import")))
    return Response(render_import(found, with_preview=False).model_dump(mode="json"))


@extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
@api_view(["GET"])
def template(request: Request, kind: str) -> HttpResponse:
    signed_in(request, "read")
    if kind not in templates.TYPES:
        raise not_found("Template")
    try:
        body = templates.template(kind)
    except FileRefused as error:
        raise AppError("unavailable", 503, str(error)) from None
    name = f"tasks.{templates.ENDINGS.get(kind, kind)}"
    return HttpResponse(body, content_type=templates.TYPES[kind], headers={"Content-Disposition": f'attachment; filename="{name}"'})
