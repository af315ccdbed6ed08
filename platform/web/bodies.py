"""Reading request bodies: as a stream under our own caps, then into a wire model or left as bytes.

Django's DATA_UPLOAD_MAX_MEMORY_SIZE would refuse 10,000 tasks, so large bodies are read from the request as a stream.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest
from pydantic import BaseModel, ValidationError

from web.errors import AppError, invalid, problem, problems_of, too_large

M = TypeVar("M", bound=BaseModel)


def read_body(request: HttpRequest, limit_name: str = "body_bytes") -> bytes:
    """The whole body, at most `settings.PROCTOR_LIMITS[limit_name]` bytes. Raises AppError 413, 400 when it was cut short."""
    limit = settings.PROCTOR_LIMITS[limit_name]
    announced = request.META.get("CONTENT_LENGTH") or ""
    if announced.isdigit() and int(announced) > limit:
        raise too_large(limit_name)
    body = request.read(limit + 1)
    if len(body) > limit:
        raise too_large(limit_name)
    if announced.isdigit() and int(announced) != len(body):
        raise AppError("truncated", 400, f"The body ended after {len(body):,} of {int(announced):,} bytes")
    return body


def parse_body(request: HttpRequest, model: type[M], limit_name: str = "body_bytes") -> M:
    """The body as a wire model. Raises AppError 400 for what is no JSON, 422 for what breaks the model."""
    return parse_model(read_body(request, limit_name), model)


def parse_model(body: bytes, model: type[M]) -> M:
    try:
        return model.model_validate(parse_json(body))
    except ValidationError as error:
        raise invalid(problems_of(error)) from None


def parse_json(body: bytes) -> object:
    """Any JSON value; an empty body reads as `{}`. NaN, bad UTF-8 and deep nesting are refused."""
    if not body.strip():
        return {}
    try:
        body.decode()
        return msgspec.json.decode(body)
    except UnicodeDecodeError as error:
        raise AppError("bad_json", 400, f"The body is not UTF-8 (byte {error.start})") from None
    except msgspec.DecodeError as error:
        raise AppError("bad_json", 400, f"The body is not JSON: {error}") from None
    except RecursionError:
        raise invalid([problem("", f"JSON is nested deeper than {settings.PROCTOR_LIMITS['json_depth']} levels")]) from None
