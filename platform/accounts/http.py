"""The decorator of HUD-shaped endpoints: plain async views, one caller, one error shape, no DRF on the way.

    @endpoint("GET", scope="read")
    def get_trace(request, caller, trace_id) -> dict | HttpResponse: …

The function is sync and runs in a long-lived database thread (`web.threads`); it returns JSON values, bytes of JSON, or a response.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import caller_of
from web.errors import AppError
from web.threads import in_reader, in_writer

View = Callable[..., Any]


def endpoint(*methods: str, scope: str, writes: bool | None = None) -> Callable[[View], View]:
    """`writes` picks the thread pool; by default what is not GET writes."""
    run = in_writer if (writes if writes is not None else methods != ("GET",)) else in_reader

    def wrap(function: View) -> View:
        def work(request: HttpRequest, **params: Any) -> HttpResponseBase:
            caller = caller_of(request)
            caller.require(scope)
            return render(function(request, caller, **params))

        @csrf_exempt
        @functools.wraps(function)
        async def view(request: HttpRequest, **params: Any) -> HttpResponseBase:
            return await run(work, request, **params)

        view.methods = methods  # type: ignore[attr-defined]
        return view

    return wrap


def async_endpoint(scope: str) -> Callable[[View], View]:
    """For work that itself awaits (a sandbox, a worker): the function is async; only who is asking is found in a reader's thread."""

    def wrap(function: View) -> View:
        @csrf_exempt
        @functools.wraps(function)
        async def view(request: HttpRequest, **params: Any) -> HttpResponseBase:
            caller = await in_reader(caller_of, request)
            caller.require(scope)
            return render(await function(request, caller, **params))

        return view

    return wrap


def methods(**views: View) -> View:
    """One URL, a view per method: `methods(GET=list_projects, POST=create_project)`; others answer 405."""

    @csrf_exempt
    async def dispatch(request: HttpRequest, **params: Any) -> HttpResponseBase:
        view = views.get("GET" if request.method == "HEAD" else request.method or "")
        if view is None:
            raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": ", ".join(views)})
        return await view(request, **params)  # type: ignore[no-any-return]

    return dispatch


def render(value: Any) -> HttpResponseBase:
    if isinstance(value, HttpResponseBase):
        return value
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return HttpResponse(body, content_type="application/json")
