"""Is a Task App up? Its five endpoints asked once each, with the key, within a time, and the cause of each failure.

`/rollout` is only looked at: a GET that an app answers 405 shows that the route is there and starts nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proctor.taskapp.auth import key_headers
from proctor.taskapp.client import Target
from proctor.taskapp.damage import NotJson, read_json
from proctor.taskapp.errors import read_error, without_secrets
from proctor.taskapp.transport import CallFailed, Cause, Reply, call

ENDPOINTS = ("/", "/health", "/info", "/task_info", "/rollout")
PROBE_S = 5.0
PROBE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Check:
    """One endpoint. `cause` and `message` are empty when it is well; `latency_ms` is null when nothing came back."""

    endpoint: str
    ok: bool
    status: int | None = None
    cause: Cause | None = None
    message: str = ""
    latency_ms: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def probe(target: Target, *, within_s: float = PROBE_S, endpoints: Sequence[str] = ENDPOINTS) -> list[Check]:
    """All at once, so that a peer that hangs costs `within_s` seconds and no more."""
    return list(await asyncio.gather(*(_check(target, endpoint, within_s) for endpoint in endpoints)))


async def health(target: Target, *, within_s: float = PROBE_S) -> Check:
    """The cheap question: HEAD of the root, GET of `/health` where HEAD is not served."""
    check = await _check(target, "/", within_s, "HEAD")
    return check if check.ok or check.status not in (404, 405, 501) else await _check(target, "/health", within_s)


async def _check(target: Target, endpoint: str, within_s: float, method: str = "GET") -> Check:
    started = time.monotonic()
    try:
        reply = await call(
            method, target.url.rstrip("/") + endpoint, headers=key_headers(target.key), within_s=within_s, public_only=target.public_only, reply_bytes=PROBE_BYTES
        )
    except CallFailed as error:
        return Check(endpoint, False, error.status, error.cause, without_secrets(error.message, [target.key]))
    took_ms = round((time.monotonic() - started) * 1000, 1)
    cause, message = _verdict(endpoint, method, reply)
    return Check(endpoint, cause is None, reply.status, cause, without_secrets(message, [target.key]), took_ms)


def _verdict(endpoint: str, method: str, reply: Reply) -> tuple[Cause | None, str]:
    error = read_error(reply.status, reply.body)
    if endpoint == "/rollout" and reply.status in (405, 400, 422) and not error.auth:
        return None, ""
    if error.auth:
        return "auth", f"the key was refused: {error}"
    if reply.status >= 500:
        return "server_error", str(error)
    if reply.status >= 300:
        return "refused_request", str(error)
    if method == "HEAD":
        return None, ""
    try:
        value, _marks = read_json(reply.body)
    except NotJson as problem:
        return "bad_reply", str(problem)
    if endpoint == "/health" and isinstance(value, dict) and value.get("healthy") is False:
        return "server_error", "it says that it is not healthy"
    return None, ""
