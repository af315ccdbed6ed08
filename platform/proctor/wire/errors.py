"""The one error body of every endpoint: a sentence, a stable code, and where the problem is."""

from typing import Any

from pydantic import Field

from .base import WireOut


class Problem(WireOut):
    """One thing wrong with a request, with its place."""

    path: str = Field(description="Where in the body, as `tasks[3].args.n`; empty for the whole.")
    rule: str = Field(description="What must hold, as a sentence.")
    value: str | None = Field(default=None, description="What was given, cut at 200 characters.")


class ErrorInfo(WireOut):
    code: str
    message: str
    details: dict[str, Any] = {}
    request_id: str | None = None


class ErrorBody(WireOut):
    """`detail` is what the HUD client prints; `error` is what programs read."""

    detail: str
    error: ErrorInfo
