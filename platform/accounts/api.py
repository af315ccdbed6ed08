"""Sign-in, the page's `me`, and API keys: parse a wire model, call one action or query, render."""

from __future__ import annotations

import uuid

from django.contrib.auth import login, logout
from django.http import HttpResponse
from django.middleware.csrf import get_token
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import actions, preferences, queries, throttle
from accounts.authentication import signed_in
from accounts.callers import Caller
from accounts.models import User
from accounts.render import render_key, render_membership, render_project
from proctor import __version__
from proctor.wire.accounts import KeyIn, KeyMade, KeyOut, Me, SignIn
from proctor.wire.base import Page
from web.bodies import parse_body, read_body
from web.errors import unauthorized


@extend_schema(request=SignIn, responses=Me)
@api_view(["POST"])
@authentication_classes([])
@permission_classes([AllowAny])
def sign_in(request: Request) -> Response:
    given = parse_body(request._request, SignIn)
    names = (f"email:{given.email.strip().lower()}", f"address:{request.META.get('REMOTE_ADDR', '')}")
    throttle.check(*names)
    user = queries.user_with_password(given.email, given.password)
    if user is None:
        throttle.miss(*names)
        raise unauthorized("E-mail or password is wrong")
    throttle.forget(*names)
    login(request._request, user, backend="django.contrib.auth.backends.ModelBackend")
    return Response(render_me(request, user, queries.caller_for_user(user, None)))


@extend_schema(request=None, responses={204: None})
@api_view(["POST"])
@permission_classes([AllowAny])
def sign_out(request: Request) -> Response:
    logout(request._request)
    return Response(status=204)


@extend_schema(responses=Me)
@api_view(["GET"])
def me(request: Request) -> Response:
    caller = signed_in(request)
    if caller.user_id is None:
        raise unauthorized("A run's token has no person behind it")
    return Response(render_me(request, queries.get_user(caller.user_id), caller))


def render_me(request: Request, user: User, caller: Caller) -> dict[str, object]:
    teams = [render_membership(membership) for membership in queries.find_memberships(user.id)]
    current = next(team for team in teams if team.id == str(caller.team_id))
    projects = [render_project(project) for project in queries.find_projects(caller)]
    server = {"version": __version__, "public_url": queries.public_url()}
    token = get_token(request._request) if caller.key_id is None else None
    return Me(
        id=str(user.id), email=user.email, name=user.name, is_instance_admin=user.is_instance_admin, team=current, teams=teams,
        projects=projects, csrf_token=token, server=server,
    ).model_dump(mode="json")  # fmt: skip


@extend_schema(methods=["GET"], responses={200: OpenApiTypes.OBJECT})
@extend_schema(methods=["PUT"], request=OpenApiTypes.OBJECT, responses={204: None})
@api_view(["GET", "PUT"])
def preference(request: Request, name: str) -> HttpResponse:
    caller = signed_in(request, "read")
    if request.method == "GET":
        return HttpResponse(preferences.get_preference(caller, name), content_type="application/json")
    preferences.set_preference(caller, name, read_body(request._request))
    return HttpResponse(status=204)


@extend_schema(methods=["GET"], responses=Page[KeyOut])
@extend_schema(methods=["POST"], request=KeyIn, responses={201: KeyMade})
@api_view(["GET", "POST"])
def keys(request: Request) -> Response:
    caller = signed_in(request)
    if request.method == "GET":
        caller.require("read")
        rows = [render_key(key).model_dump(mode="json") for key in queries.find_keys(caller)[:1000]]
        return Response({"items": rows, "next_cursor": None, "total": len(rows)})
    caller.require("write")
    given = parse_body(request._request, KeyIn)
    made = actions.create_key(caller, name=given.name, scopes=list(given.scopes))
    key = queries.find_keys(caller).get(id=made.key.id)
    return Response(KeyMade(**render_key(key).model_dump(), secret=made.secret).model_dump(mode="json"), status=201)


@extend_schema(request=None, responses=KeyOut)
@api_view(["POST"])
def revoke(request: Request, key_id: uuid.UUID) -> Response:
    caller = signed_in(request, "write")
    return Response(render_key(actions.revoke_key(caller, key_id)).model_dump(mode="json"))
