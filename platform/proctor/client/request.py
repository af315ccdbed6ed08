"""A request as a value, and what becomes of its answer: when it is sent again, and which error it is. Pure.

Sent again: what never reached the server (connection refused), 429, and for calls that change nothing when repeated also broken
connections, timeouts of connecting, 502, 503, 504. A job submit, say, carries its idempotency key and is such a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from proctor.errors import (
    BadReply,
    Conflict,
    Forbidden,
    NotFound,
    RateLimited,
    Refused,
    RequestFailed,
    ServerFailed,
    ServerProblem,
    Unauthorised,
)

T = TypeVar("T")
TRY_AGAIN = frozenset({502, 503, 504})
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
LONGEST_PAUSE_S = 30.0
SHOWN_PROBLEMS = 5
SAFE = frozenset({"GET", "HEAD", "PUT", "DELETE"})

_BY_STATUS: dict[int, type[RequestFailed]] = {
    400: Refused, 401: Unauthorised, 403: Forbidden, 404: NotFound, 409: Conflict, 410: NotFound, 413: Refused, 415: Refused,
    422: Refused, 429: RateLimited,
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """An answer of status 2xx."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's value. Raises BadReply when it is no JSON."""
        try:
            return msgspec.json.decode(self.body) if self.body else {}
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise BadReply(f"The answer is no JSON: {self.body[:80]!r}.", status=self.status) from None


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request. `path` begins with `/`; `read` makes the result; `repeatable`: a repeat changes nothing."""

    method: str
    path: str
    read: Callable[[Reply], T]
    params: Mapping[str, str | int | Sequence[str]] = field(default_factory=dict)
    body: bytes | Iterable[bytes] | None = None
    content_type: str = "application/json"
    repeatable: bool = False
    timeout_s: float = 60.0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def may_repeat(self) -> bool:
        """Sending it twice does no harm, and its body can be read twice."""
        return (self.repeatable or self.method in SAFE) and isinstance(self.body, bytes | None)


def pause_after(call: Call[Any], status: int, headers: Mapping[str, str], pause_s: float) -> float | None:
    """Seconds until the next try; None for an answer that stands."""
    if status != 429 and not (status in TRY_AGAIN and call.may_repeat):
        return None
    if not isinstance(call.body, bytes | None):
        return None
    try:
        return min(max(float(headers.get("retry-after", pause_s)), 0.0), LONGEST_PAUSE_S)
    except ValueError:
        return pause_s


def error_of(call: Call[Any], status: int, headers: Mapping[str, str], body: bytes) -> RequestFailed:
    """The error that this answer is; its sentence is the server's own."""
    what = f"{call.method} {call.path}"
    if 300 <= status < 400:
        return BadReply(f"{what} was redirected, which the API never does.", status=status)
    error, detail = _parts(body)
    kind = _BY_STATUS.get(status) or (ServerFailed if status >= 500 else RequestFailed)
    problems = [ServerProblem(str(one.get("path", "")), str(one.get("rule", "")), one.get("value")) for one in _problems(error)]
    message = str(error.get("message") or detail or f"{what} was answered {status}.")
    return kind(
        _with_problems(message, problems), status=status, code=str(error.get("code") or ""),
        request_id=error.get("request_id") or headers.get("x-request-id"), problems=problems,
    )  # fmt: skip


def _parts(body: bytes) -> tuple[dict[str, Any], str]:
    """(`error`, `detail`) of the one error body; empty for anything else."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}, ""
    if not isinstance(value, dict):
        return {}, ""
    error, detail = value.get("error"), value.get("detail")
    return error if isinstance(error, dict) else {}, detail if isinstance(detail, str) else ""


def _problems(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = error.get("details")
    found = details.get("problems") if isinstance(details, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _with_problems(message: str, problems: list[ServerProblem]) -> str:
    """Those that the server's own sentence does not hold already, a few of them."""
    untold = [problem for problem in problems if problem.rule not in message]
    lines = [f"  {problem}" for problem in untold[:SHOWN_PROBLEMS]]
    more = [f"  … and {len(untold) - SHOWN_PROBLEMS} more"] if len(untold) > SHOWN_PROBLEMS else []
    return "\n".join([message, *lines, *more])
