"""Environments, native: parse a wire model or take a tar, call one action or query, render."""

from __future__ import annotations

import re
from typing import get_args

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.callers import Caller
from environments import actions, deploy, queries
from environments.models import EnvironmentVersion
from environments.render import render_environment, render_session, render_version
from environments.sessions.actions import close_session, find_sessions, get_session
from environments.variables import find_variables, remove_variable, set_variables
from proctor.wire.base import Page
from proctor.wire.environments import BuiltKind, EnvironmentIn, EnvironmentOut, EnvironmentVersionOut, SessionOut, VariableOut, VariablesIn
from web.bodies import parse_body
from web.errors import AppError, invalid, not_found, problem
from web.pages import identity, moment, page_body, page_size, read_cursor, read_key

TAR_TYPES = frozenset({"application/x-tar", "application/tar", "application/gzip", "application/x-gzip", "application/x-gtar"})
BUILT_KINDS = get_args(BuiltKind)
BUILD_ARG, MOST_BUILD_ARGS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}=[^\0]*", re.S), 200


@extend_schema(methods=["GET"], responses=Page[EnvironmentOut])
@extend_schema(methods=["POST"], request=EnvironmentIn, responses={202: EnvironmentOut})
@api_view(["GET", "POST"])
def environments(request: Request) -> Response:
    caller = signed_in(request)
    if request.method == "GET":
        caller.require("read")
        return Response(_page(request._request, caller))
    version = _register(request._request, caller)
    return Response(render_environment(queries.describe(version.environment)), status=202)


def _register(request: HttpRequest, caller: Caller) -> EnvironmentVersion:
    media = (request.content_type or "").lower()
    if media == "application/json":
        given = parse_body(request, EnvironmentIn)
        return actions.register_image(caller, name=given.name, image=given.image, kind=given.kind)
    if media not in TAR_TYPES:
        raise AppError(
            "unsupported_media_type",
            415,
            "Send JSON {name, image}, or a tar of a folder with a Dockerfile as application/x-tar or application/gzip",
        )
    name, announced = request.GET.get("name", ""), request.META.get("CONTENT_LENGTH") or ""
    if not name:
        raise invalid([problem("name", "must be given in the address, as ?name=")])
    kind = request.GET.get("kind", actions.KIND)
    if kind not in BUILT_KINDS:
        raise invalid([problem("kind", f"must be one of {', '.join(BUILT_KINDS)}", kind)])
    length, no_cache = int(announced) if announced.isdigit() else None, request.GET.get("no_cache", "0") in ("1", "true")
    return actions.register_context(
        caller, name=name, body=request, announced=length, kind=kind, build_args=_build_args(request), no_cache=no_cache  # type: ignore[arg-type]
    )


def _build_args(request: HttpRequest) -> dict[str, str]:
    """Each as `build_arg=NAME=value`. Raises AppError 422."""
    given = request.GET.getlist("build_arg")
    bad = [problem(f"build_arg.{place}", "must be NAME=value", text[:100]) for place, text in enumerate(given) if not BUILD_ARG.fullmatch(text)]
    if len(given) > MOST_BUILD_ARGS:
        bad = [problem("build_arg", f"at most {MOST_BUILD_ARGS}", len(given))]
    if bad:
        raise invalid(bad)
    return dict(text.split("=", 1) for text in given)


def _page(request: HttpRequest, caller: Caller) -> dict[str, object]:
    found, size, after = queries.find_environments(caller, request.GET.get("q", "")), page_size(request), read_cursor(request, 1)
    rows = queries.list_environments((found.filter(name__gt=after[0]) if after else found)[: size + 1])
    more = [rows[size - 1].environment.name] if len(rows) > size else None
    return page_body([render_environment(row) for row in rows[:size]], more, found.count())


@extend_schema(responses=EnvironmentOut)
@api_view(["GET"])
def environment(request: Request, reference: str) -> Response:
    caller = signed_in(request, "read")
    return Response(render_environment(queries.describe(queries.get_environment(caller, reference))))


@extend_schema(responses=Page[EnvironmentVersionOut])
@api_view(["GET"])
def versions(request: Request, reference: str) -> Response:
    caller = signed_in(request, "read")
    found, size, after = (
        queries.find_versions(queries.get_environment(caller, reference)),
        page_size(request._request),
        read_cursor(request._request, 1),
    )
    rows = list((found.filter(number__lt=after[0]) if after and isinstance(after[0], int) else found)[: size + 1])
    items = [render_version(row).model_dump(mode="json") for row in rows[:size]]
    return Response(page_body(items, [rows[size - 1].number] if len(rows) > size else None, found.count()))


@extend_schema(responses=EnvironmentVersionOut)
@api_view(["GET"])
def version(request: Request, reference: str, number: int) -> Response:
    caller = signed_in(request, "read")
    found = queries.get_numbered(queries.get_environment(caller, reference), number)
    return Response(render_version(found, with_log=True).model_dump(mode="json"))


@extend_schema(responses={(200, "text/plain"): str})
@api_view(["GET"])
def version_log(request: Request, reference: str, number: int) -> HttpResponseBase:
    """The whole log, as text."""
    caller = signed_in(request, "read")
    found = queries.get_numbered(queries.get_environment(caller, reference), number)
    return HttpResponse(queries.log_pieces(found.id), content_type="text/plain; charset=utf-8")


@extend_schema(request=None, responses=EnvironmentVersionOut)
@api_view(["POST"])
def cancel_version(request: Request, reference: str, number: int) -> Response:
    caller = signed_in(request, "write")
    found = queries.get_numbered(queries.get_environment(caller, reference), number)
    return Response(render_version(deploy.cancel(caller, found)).model_dump(mode="json"))


@extend_schema(methods=["GET"], responses=Page[VariableOut])
@extend_schema(methods=["PUT"], request=VariablesIn, responses=Page[VariableOut])
@api_view(["GET", "PUT"])
def variables(request: Request, reference: str) -> Response:
    caller = signed_in(request, "read" if request.method == "GET" else "write")
    environment = queries.get_environment(caller, reference)
    if request.method == "PUT":
        set_variables(caller, environment, parse_body(request._request, VariablesIn).values)
    rows = [VariableOut(name=row.name, updated_by=row.updated_by, updated_at=row.updated_at) for row in find_variables(environment)]
    return Response(page_body([row.model_dump(mode="json") for row in rows], None, len(rows)))


@extend_schema(responses={204: None})
@api_view(["DELETE"])
def variable(request: Request, reference: str, name: str) -> Response:
    caller = signed_in(request, "write")
    remove_variable(caller, queries.get_environment(caller, reference), name)
    return Response(status=204)


@extend_schema(responses=Page[SessionOut])
@api_view(["GET"])
def sessions(request: Request, reference: str) -> Response:
    """Those that have not ended, newest first."""
    caller, size = signed_in(request, "read"), page_size(request._request)
    found, after = find_sessions(queries.get_environment(caller, reference)), read_key(request._request, moment, identity)
    rows = list((found.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], id__lt=after[1])) if after else found)[: size + 1])
    more = [rows[size - 1].created_at.isoformat(), str(rows[size - 1].id)] if len(rows) > size else None
    return Response(page_body([render_session(row).model_dump(mode="json") for row in rows[:size]], more, found.count()))


@extend_schema(responses={204: None})
@api_view(["DELETE"])
def session(request: Request, reference: str, session_id: str) -> Response:
    caller = signed_in(request, "run")
    found = get_session(caller, session_id)
    if found.version.environment_id != queries.get_environment(caller, reference).id:
        raise not_found("Session")
    close_session(caller, found)
    return Response(status=204)
