"""A request id on every exchange, JSON errors under the API's prefixes, and the page's files. All async: one sync middleware in the chain
would cost every request two changes of thread."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

from web.errors import as_app_error, error_response, internal, not_found

logger = logging.getLogger(__name__)
API_PREFIXES = ("/api", "/v2", "/v3", "/hud02", "/task-apps", "/runtime", "/gateway", "/rl", "/auth", "/ws")
Handler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def is_api_path(path: str) -> bool:
    return any(path == prefix or path.startswith(prefix + "/") for prefix in API_PREFIXES)


class RequestIdMiddleware:
    async_capable, sync_capable = True, False

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.request_id = f"err_{uuid.uuid4().hex[:16]}"  # type: ignore[attr-defined]
        response = await self.get_response(request)
        response["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        return response


class JsonErrorsMiddleware:
    """Turns what rises from a view, and Django's own HTML errors, into the one body."""

    async_capable, sync_capable = True, False

    def __init__(self, get_response: Handler) -> None:
        assert iscoroutinefunction(get_response)
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        if response.status_code == 404 and is_api_path(request.path) and response.get("Content-Type", "").startswith("text/html"):
            return error_response(not_found("This address"), request)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        known = as_app_error(error)
        if known is not None:
            return error_response(known, request)
        logger.error("request failed path=%s request_id=%s", request.path, getattr(request, "request_id", None), exc_info=error)
        return internal(request)


class PageFilesMiddleware:
    """WhiteNoise, whose own middleware is sync only."""

    async_capable, sync_capable = True, False

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.noise = WhiteNoiseMiddleware(get_response)
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        file = self.noise.files.get(request.path_info)
        if file is None:
            return await self.get_response(request)
        response: HttpResponseBase = await asyncio.to_thread(self.noise.serve, file, request)
        return response
