"""Where a policy's model is served, and a client of it: any OpenAI-compatible URL, tools, logprobs, streams.

`normalise_inference_url` takes what people write (a host, `/v1`, a whole completions address) and keeps the query, correlation id
included. Usage is always there; zeros that the provider did not say are marked.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import msgspec

DEFAULT_URL = "https://api.openai.com/v1/chat/completions"
END = "/chat/completions"
RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
TRIES, FIRST_PAUSE_S = 3, 0.2
_BARE_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:[/?]|$)")
_IDS = frozenset({"cid", "trace", "trace_correlation_id"})


def normalise_inference_url(text: str | None, default: str = DEFAULT_URL) -> str:
    """The address of chat completions. Container names, IPv6 and bare hosts are fine. Raises ValueError for what is no http URL."""
    given = (text or "").strip()
    if not given:
        return default
    if _BARE_HOST.match(given):
        given = "http://" + given
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"an inference URL begins with http:// or https:// and names a host: {text!r}")
    path, query = parts.path.rstrip("/"), parts.query
    if query.rstrip("/").endswith(END) or query.rstrip("/").endswith("/v1"):  # the path slid behind the query
        query, _, slid = query.rstrip("/").partition("/")
        path = path or "/" + slid
    query = _encoded(query)
    return f"{parts.scheme}://{parts.netloc}{_completions_path(path)}{'?' + query if query else ''}"


def _completions_path(path: str) -> str:
    if path.endswith(END):
        return path
    if path.endswith("/chat"):
        return path + "/completions"
    return path + END if path.endswith("/v1") else path + "/v1" + END


def _encoded(query: str) -> str:
    """Ids percent-encoded (`cid=a/b` must not look like a path); everything else as it is."""
    if not any(name in _IDS for name, _ in parse_qsl(query)):
        return query
    pairs = [piece.partition("=") for piece in query.split("&")]
    return "&".join(f"{name}{equals}{quote(value, safe='%') if name in _IDS else value}" for name, equals, value in pairs)


@dataclass(frozen=True)
class Completion:
    """One reply. `usage` always has the three counts; `usage_known` is false when the provider sent none. `raw` is the whole body."""

    message: dict[str, Any]
    finish_reason: str | None
    logprobs: Any
    usage: dict[str, int]
    usage_known: bool
    raw: dict[str, Any] = field(repr=False)


class InferenceError(RuntimeError):
    """The model did not answer: status (None without a reply) and what it said, without the key."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(f"{status or 'no reply'}: {message}")
        self.status = status


class InferenceClient:
    """`async with InferenceClient(url, api_key) as model: await model.complete(model="m", messages=[…])`."""

    def __init__(self, url: str | None, api_key: str = "", *, headers: Mapping[str, str] | None = None, within_s: float = 600.0) -> None:
        self.url, self._key, self._within_s = normalise_inference_url(url), api_key, within_s
        known = {**({"Authorization": f"Bearer {api_key}"} if api_key else {}), **(headers or {})}
        self._http = httpx.AsyncClient(headers=known, timeout=httpx.Timeout(within_s, connect=10.0), verify=self.url.startswith("https:"))

    async def __aenter__(self) -> InferenceClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def complete(self, **body: Any) -> Completion:
        """A chat completion. Tried up to three times with growing, jittered pauses where that may help. Raises InferenceError."""
        for number in range(TRIES):
            status, text = await self._post(body)
            if status == 200:
                return _completion(text)
            if (status is not None and status not in RETRY_STATUS) or number == TRIES - 1:
                break
            await asyncio.sleep(FIRST_PAUSE_S * 2**number * random.uniform(0.5, 1.5))
        shown = text.decode(errors="replace").replace(self._key, "[redacted]") if self._key else text.decode(errors="replace")
        raise InferenceError(status, shown[:300])

    async def _post(self, body: Mapping[str, Any]) -> tuple[int | None, bytes]:
        try:
            reply = await self._http.post(self.url, content=msgspec.json.encode(body), headers={"Content-Type": "application/json"})
        except httpx.HTTPError as error:
            return None, (str(error) or type(error).__name__).encode()
        return reply.status_code, reply.content

    async def stream(self, **body: Any) -> AsyncIterator[dict[str, Any]]:
        """The chunks of a streamed completion, as they come. Raises InferenceError."""
        content = msgspec.json.encode({**body, "stream": True})
        async with self._http.stream("POST", self.url, content=content, headers={"Content-Type": "application/json"}) as reply:
            if reply.status_code != 200:
                raise InferenceError(reply.status_code, "no stream")
            async for line in reply.aiter_lines():
                data = line.removeprefix("data:").strip()
                if line.startswith("data:") and data != "[DONE]":
                    yield msgspec.json.decode(data)


def _completion(body: bytes) -> Completion:
    try:
        raw = msgspec.json.decode(body)
        choice = raw["choices"][0]
        message = dict(choice["message"])
    except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
        raise InferenceError(200, f"no chat completion: {error}") from None
    told = raw.get("usage")
    counts = told if isinstance(told, dict) else {}
    prompt, completion = _tokens(counts, "prompt_tokens"), _tokens(counts, "completion_tokens")
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": _tokens(counts, "total_tokens") or prompt + completion}
    return Completion(message, choice.get("finish_reason"), choice.get("logprobs"), usage, isinstance(told, dict), raw)


def _tokens(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
