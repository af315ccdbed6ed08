"""Headers of whatever stands under a share link: its address is a secret, so it goes into no referrer, index or shared cache."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

PREFIXES = ("/share/", "/api/shared/")
HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "private, no-store"}


class ShareHeadersMiddleware:
    async_capable, sync_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        if request.path.startswith(PREFIXES):
            for name, value in HEADERS.items():
                response[name] = value
        return response
