"""HUD's shapes for models (contracts: 2.9), and the gateway that OpenAI-style clients call (2.10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import caller_of
from accounts.callers import Caller
from accounts.http import endpoint
from gateway import queries
from gateway.forward import pass_through
from gateway.render import render_model
from web.bodies import read_body
from web.errors import AppError, invalid, problem
from web.pages import offset, page_size
from web.threads import in_reader


@endpoint("GET", scope="read")
def list_models(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    found, start = queries.find_endpoints(caller), offset(request)
    return {"items": [render_model(row) for row in found[start : start + page_size(request)]], "total": found.count()}


@csrf_exempt
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    """For keys with the scope `run`, and for run tokens."""
    call = await in_reader(_read_call, request)
    return await pass_through(call.route, "chat/completions", request.headers, call.body, stream=call.stream)


@dataclass(frozen=True)
class _Call:
    route: queries.Route
    body: bytes
    stream: bool


class _Asked(msgspec.Struct):
    """What the gateway reads of a body that it passes on unchanged."""

    model: str
    stream: bool | None = False


def _read_call(request: HttpRequest) -> _Call:
    caller = caller_of(request)
    caller.require("run")
    body = read_body(request, "telemetry_bytes")
    asked = _parse(body)
    route = queries.resolve_model(caller.team_id, asked.model)
    if route is None:
        raise queries.no_such_model(caller.team_id, asked.model)
    return _Call(route, body, bool(asked.stream))


def _parse(body: bytes) -> _Asked:
    try:
        return msgspec.json.decode(body, type=_Asked)
    except msgspec.ValidationError as error:
        raise invalid([problem("", f"must be a chat completions request with a model: {error}")]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AppError("bad_json", 400, f"The body is not JSON: {error}") from None
