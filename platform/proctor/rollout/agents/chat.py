"""One chat-completions call over HTTP: retried where that may help, bounded in time, its failures blamed on the provider.

Hides the transport and the secrets: neither key nor header values get into errors. Knows nothing of tools or steps.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import ModelRoute

log = logging.getLogger(__name__)

RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
RETRY_PAUSES_S = (0.5, 1.0, 2.0)
LONGEST_RETRY_AFTER_S = 60.0
REPLY_LIMIT = 64 * 1024 * 1024
SHOWN_CHARACTERS = 300


@dataclass(frozen=True)
class ChatReply:
    """A reply that has a message. `text` is the body as sent; the rest is read from it."""

    text: str
    model: str | None
    message: dict[str, Any]
    finish_reason: str | None
    usage: Mapping[str, Any] | None


class _TryAgain(Exception):
    def __init__(self, failure: RolloutFailed, after_s: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure, self.after_s = failure, after_s


class ChatClient:
    """Calls one model route for one run. An async context manager."""

    def __init__(self, route: ModelRoute, run_id: str, call_s: float, *, pauses_s: Sequence[float] = RETRY_PAUSES_S) -> None:
        self._route, self._call_s, self._pauses_s = route, call_s, pauses_s
        self._url = route.completions_url or route.base_url.rstrip("/") + "/chat/completions"
        headers = {"Content-Type": "application/json", "Trace-Id": run_id, **route.headers}
        if route.api_key:
            headers.setdefault("Authorization", f"Bearer {route.api_key}")
        verify = _tls() if urlsplit(self._url).scheme == "https" else False
        self._http = httpx.AsyncClient(headers=headers, verify=verify, timeout=httpx.Timeout(None, connect=10.0))

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def complete(self, body: Mapping[str, Any]) -> ChatReply:
        """The reply; `RolloutFailed` with `model_http`, `model_timeout` or `model_reply` otherwise."""
        content = msgspec.json.encode(body)
        try:
            async with asyncio.timeout(self._call_s) as deadline:
                return await self._try_some_times(content)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            message = f"Model {self._route.model!r} at {self._host} did not answer within {self._call_s:g} s."
            raise RolloutFailed("model_timeout", message) from error

    async def _try_some_times(self, content: bytes) -> ChatReply:
        for pause_s in self._pauses_s:
            try:
                return await self._try(content)
            except _TryAgain as again:
                log.info("model call tried again", extra={"model": self._route.model, "reason": str(again)})
                await asyncio.sleep(pause_s * random.uniform(0.75, 1.25) if again.after_s is None else again.after_s)
        try:
            return await self._try(content)
        except _TryAgain as again:
            raise again.failure from again

    async def _try(self, content: bytes) -> ChatReply:
        try:
            async with self._http.stream("POST", self._url, content=content) as response:
                body = await _read(response)
        except httpx.HTTPError as error:
            raise _TryAgain(self._failed("model_http", f"cannot be reached: {error or type(error).__name__}")) from error
        except httpx.InvalidURL as error:
            raise self._failed("model_http", f"has an address that is none: {error}") from error
        if response.status_code == 200:
            return self._read_reply(body)
        failure = self._failed("model_http", f"answered {response.status_code}: {self._shown(body)}")
        if response.status_code in RETRY_STATUS:
            raise _TryAgain(failure, _retry_after(response))
        raise failure

    def _read_reply(self, body: bytes) -> ChatReply:
        try:
            reply = msgspec.json.decode(body)
            choice = reply["choices"][0]
            message, usage = choice["message"], reply.get("usage")
            text = body.decode()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError, TypeError, AttributeError) as error:
            raise self._failed("model_reply", f"sent no chat completion: {self._shown(body)}") from error
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | list | None):
            raise self._failed("model_reply", f"sent a completion without a message: {self._shown(body)}")
        model, finish = reply.get("model"), choice.get("finish_reason")
        return ChatReply(
            text, model if isinstance(model, str) else None, message,
            finish if isinstance(finish, str) else None, usage if isinstance(usage, dict) else None,
        )  # fmt: skip

    @property
    def _host(self) -> str:
        return urlsplit(self._url).netloc.rpartition("@")[2]

    def _failed(self, failure_class: str, what: str) -> RolloutFailed:
        return RolloutFailed(failure_class, self._without_secrets(f"Model {self._route.model!r} at {self._host} {what}"))

    def _shown(self, body: bytes) -> str:
        """Enough to recognise it by; redacted before it is cut, so that no part of a secret is left at the edge."""
        return self._without_secrets(body[:65536].decode(errors="replace"))[:SHOWN_CHARACTERS] or "(empty)"

    def _without_secrets(self, text: str) -> str:
        for secret in (self._route.api_key, *self._route.headers.values()):
            if len(secret) >= 4:
                text = text.replace(secret, "[redacted]")
        return text


@cache
def _tls() -> Any:
    """One context per process: making it costs more than a rollout's whole overhead."""
    return httpx.create_ssl_context()


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > REPLY_LIMIT:
            break
    return bytes(body)


def _retry_after(response: httpx.Response) -> float | None:
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), LONGEST_RETRY_AFTER_S)
    except (KeyError, ValueError):
        return None
