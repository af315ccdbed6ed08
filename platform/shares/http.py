"""What every public route of a share link has: no sign-in, and the link looked up for whoever holds it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpResponseBase
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from accounts import throttle
from shares.models import Share
from shares.queries import open_share

View = Callable[..., HttpResponseBase]


def shared_view(kind: str | None = None) -> Callable[[View], View]:
    """`view(request, share, …)` becomes a GET route with `token` in its address; keys and sessions count for nothing there."""

    def wrap(view: View) -> View:
        def public(request: Request, token: str, **more: Any) -> HttpResponseBase:
            share = open_share(token, request.META.get("REMOTE_ADDR", ""), kind)
            return view(request, share, **more)

        functools.update_wrapper(public, view)
        open_to_all = authentication_classes([])(permission_classes([AllowAny])(public))
        return api_view(["GET", "HEAD"])(open_to_all)

    return wrap


def count_download(share: Share) -> None:
    """Ten files of one link in five minutes. Raises AppError 429."""
    throttle.check(f"share-download:{share.id}")
    throttle.miss(f"share-download:{share.id}")
