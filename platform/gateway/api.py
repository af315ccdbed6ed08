"""Model endpoints, native: parse a wire model, call one action or query, render."""

from __future__ import annotations

import uuid

from django.http import HttpRequest
from drf_spectacular.utils import extend_schema
from pydantic import ValidationError
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from accounts.callers import Caller
from gateway import actions, queries
from gateway.render import render_endpoint
from proctor.wire.base import Page
from proctor.wire.models import ModelEndpointIn, ModelEndpointOut
from web.bodies import parse_json, read_body
from web.errors import invalid, path_text, problem
from web.pages import page_body, page_size, read_cursor


@extend_schema(methods=["GET"], responses=Page[ModelEndpointOut])
@extend_schema(methods=["POST"], request=ModelEndpointIn, responses={201: ModelEndpointOut})
@api_view(["GET", "POST"])
def endpoints(request: Request) -> Response:
    caller = signed_in(request)
    if request.method == "GET":
        caller.require("read")
        return Response(_page(request, caller))
    given = _parse(request._request)
    made = actions.create_endpoint(caller, pattern=given.pattern, base_url=given.base_url, api_key=given.api_key, headers=given.headers)
    return Response(render_endpoint(made), status=201)


def _parse(request: HttpRequest) -> ModelEndpointIn:
    """As `parse_body`, but without showing values back: they may be secrets."""
    try:
        return ModelEndpointIn.model_validate(parse_json(read_body(request)))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise invalid([problem(path_text(item["loc"]), item["msg"]) for item in found]) from None


def _page(request: Request, caller: Caller) -> dict[str, object]:
    found, size = queries.find_endpoints(caller), page_size(request._request)
    after = read_cursor(request._request, 1)
    rows = list((found.filter(pattern__gt=after[0]) if after else found)[: size + 1])
    return page_body([render_endpoint(row) for row in rows[:size]], [rows[size - 1].pattern] if len(rows) > size else None, found.count())


@extend_schema(request=None, responses={204: None})
@api_view(["DELETE"])
def endpoint(request: Request, endpoint_id: uuid.UUID) -> Response:
    actions.delete_endpoint(signed_in(request), endpoint_id)
    return Response(status=204)
