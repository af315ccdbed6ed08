"""One error type, one body: `{"detail", "error": {"code", "message", "details", "request_id"}}`, always an object.

Raise `AppError` (or one of its makers below) anywhere under a view; the DRF handler, the JSON middleware and the async views
all render it here. Hides which framework answers. May not import from the apps above.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, JsonResponse
from pydantic import ValidationError
from rest_framework import exceptions as drf
from rest_framework.response import Response

from proctor.wire.errors import Problem

logger = logging.getLogger(__name__)


class AppError(Exception):
    """A refusal that the caller can act on. `code` is stable; `details` go to programs, `message` to people."""

    def __init__(self, code: str, status: int, message: str, *, headers: Mapping[str, str] | None = None, **details: Any) -> None:
        super().__init__(message)
        self.code, self.status, self.message, self.details, self.headers = code, status, message, details, dict(headers or {})


def not_found(what: str) -> AppError:
    return AppError("not_found", 404, f"{what} not found")


def unauthorized(message: str) -> AppError:
    return AppError("unauthorized", 401, message, headers={"WWW-Authenticate": "Bearer"})


def forbidden(message: str) -> AppError:
    return AppError("forbidden", 403, message)


def conflict(message: str, **details: Any) -> AppError:
    return AppError("conflict", 409, message, **details)


def too_large(limit_name: str) -> AppError:
    limit = settings.PROCTOR_LIMITS[limit_name]
    return AppError("too_large", 413, f"The body is larger than the limit of {limit:,} bytes ({limit_name})", limit=limit_name, limit_bytes=limit)


def invalid(problems: Sequence[Problem]) -> AppError:
    """422 with every problem; the sentence reads the first three and the count."""
    first = "; ".join(f"{problem.path}: {problem.rule}" if problem.path else problem.rule for problem in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return AppError("invalid", 422, first + more, problems=[problem.model_dump() for problem in problems[:1000]], problem_count=len(problems))


def problem(path: str, rule: str, value: object = None) -> Problem:
    return Problem(path=path, rule=rule, value=None if value is None else str(value)[:200])


def problems_of(error: ValidationError) -> list[Problem]:
    """Pydantic's findings as problems, with paths as `tasks[3].args`."""
    return [problem(path_text(item["loc"]), item["msg"], item.get("input")) for item in error.errors(include_url=False)]


def path_text(location: Sequence[int | str]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


def error_body(error: AppError, request_id: str | None) -> dict[str, Any]:
    return {"detail": error.message, "error": {"code": error.code, "message": error.message, "details": error.details, "request_id": request_id}}


def error_response(error: AppError, request: HttpRequest) -> JsonResponse:
    return JsonResponse(error_body(error, getattr(request, "request_id", None)), status=error.status, headers=error.headers)


def as_app_error(error: BaseException) -> AppError | None:
    """The refusal that an exception of a framework means; None for a defect of ours."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, ValidationError):
        return invalid(problems_of(error))
    if isinstance(error, Http404):
        return not_found("This address")
    if isinstance(error, RequestDataTooBig):
        return too_large("body_bytes")
    if isinstance(error, SuspiciousOperation):
        return AppError("parse_error", 400, f"The request could not be read: {error}"[:300])
    if isinstance(error, drf.APIException):
        return _of_drf(error)
    return None


def _of_drf(error: drf.APIException) -> AppError:
    if isinstance(error, drf.NotAuthenticated | drf.AuthenticationFailed):
        return unauthorized("Sign in, or send an API key as 'Authorization: Bearer <key>'")
    code = error.default_code if isinstance(error.default_code, str) else "error"
    return AppError(code, error.status_code, str(error.detail))


def handle_exception(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler; None lets a defect rise to the middleware, which logs it."""
    known = as_app_error(error)
    if known is None:
        return None
    request = context["request"]
    return Response(error_body(known, getattr(request, "request_id", None)), status=known.status, headers=known.headers)


def csrf_failure(request: HttpRequest, reason: str = "") -> JsonResponse:
    return error_response(AppError("csrf_failed", 403, f"The page's token is missing or old; reload the page ({reason})"), request)


def internal(request: HttpRequest) -> JsonResponse:
    request_id = getattr(request, "request_id", None)
    return error_response(AppError("internal", 500, f"Something broke on the server; its log has the cause under {request_id}"), request)
