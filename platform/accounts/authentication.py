"""Who is asking, from a request: Bearer key for the API, session + CSRF for the page; never both.

`signed_in(request)` gives the caller of DRF views, `caller_of(request)` that of HUD's surface: it serves plain async views and
belongs in a database thread. Bearer comes first, so that a missing credential is 401 and not 403.
"""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from accounts.callers import Caller
from accounts.models import User
from accounts.queries import caller_for_key, caller_for_user
from web.errors import unauthorized

MISSING = "Sign in, or send an API key as 'Authorization: Bearer <key>'"


def bearer_text(request: HttpRequest) -> str | None:
    header = request.META.get("HTTP_AUTHORIZATION", "")
    scheme, _, text = header.partition(" ")
    return text.strip() if scheme.lower() == "bearer" and text.strip() else None


def caller_of(request: HttpRequest) -> Caller:
    """Raises AppError 401. A session counts only for reads here: HUD's surface has no CSRF token."""
    text = bearer_text(request)
    if text:
        return caller_for_key(text)
    user = get_user(request)
    if isinstance(user, User) and request.method in ("GET", "HEAD"):
        return caller_for_user(user, wanted_team(request))
    raise unauthorized(MISSING)


def signed_in(request: Request, scope: str | None = None) -> Caller:
    """The caller that authentication found. Raises AppError 403 without the scope."""
    caller = cast(Caller, request.user)
    if scope is not None:
        caller.require(scope)
    return caller


def wanted_team(request: HttpRequest) -> str | None:
    return request.META.get("HTTP_X_TEAM") or request.GET.get("team")


class BearerAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        text = bearer_text(request._request)
        return (caller_for_key(text), None) if text else None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class PageAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        user = getattr(request._request, "user", None)
        if not isinstance(user, User) or not user.is_active:
            return None
        self._enforce_csrf(request)
        return caller_for_user(user, wanted_team(request._request)), None

    def _enforce_csrf(self, request: Request) -> None:
        check: Any = CSRFCheck(lambda _request: HttpResponse())
        check.process_request(request._request)
        reason = check.process_view(request._request, None, (), {})
        if reason:
            raise PermissionDenied(f"The page's token is missing or old; reload the page ({reason})")
