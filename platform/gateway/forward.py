"""One call passed through to a model endpoint: our credential replaced by its key, the body unchanged, the reply as it comes.

Nothing of ours goes out (cookies, sessions, our Authorization) and nothing of theirs but status, body and a few headers comes
back, the endpoint's secrets taken out. One HTTP client per process and event loop. Raises AppError 502 and 504.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Mapping

import httpcore
import httpx
import msgspec
from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from gateway.addresses import PrivateAddress, PublicOnly, private_refusal
from gateway.queries import Route
from gateway.redact import Redactor
from web.errors import AppError

logger = logging.getLogger(__name__)

CALL_S, CONNECT_S = 600.0, 10.0
SENT_ON = frozenset(
    {
        "accept",
        "content-type",
        "trace-id",
        "x-hud-parent-trace-id",
        "user-agent",
        "traceparent",
        "tracestate",
        "openai-organization",
        "openai-project",
    }
)
PASSED_BACK = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "cache-control", "openai-processing-ms", "openai-version", "x-should-retry"}
)
LIMITS = httpx.Limits(max_connections=500, max_keepalive_connections=50, keepalive_expiry=30)
_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx.AsyncClient]] = weakref.WeakKeyDictionary()


class _PublicTransport(httpx.AsyncHTTPTransport):
    """httpx offers no way to choose the network backend of its pool, so the pool is replaced."""

    def __init__(self) -> None:
        super().__init__()
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(), max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections, keepalive_expiry=LIMITS.keepalive_expiry, network_backend=PublicOnly(),
        )  # fmt: skip


def _client(may_lead_inside: bool) -> httpx.AsyncClient:
    mine = _clients.setdefault(asyncio.get_running_loop(), {})
    if may_lead_inside not in mine:
        transport = httpx.AsyncHTTPTransport(limits=LIMITS) if may_lead_inside else _PublicTransport()
        mine[may_lead_inside] = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
    return mine[may_lead_inside]


async def pass_through(route: Route, tail: str, headers: Mapping[str, str], body: bytes, *, stream: bool) -> HttpResponseBase:
    """POST `body` to `{base_url}/{tail}` and answer what the endpoint answers."""
    redactor = Redactor([route.api_key, *route.headers.values()])
    client = _client(route.may_lead_inside)
    request = client.build_request(
        "POST",
        f"{route.base_url}/{tail}",
        content=body,
        headers=_outgoing(route, headers),
        timeout=httpx.Timeout(CALL_S, connect=CONNECT_S),
    )
    try:
        async with asyncio.timeout(CALL_S):
            response = await client.send(request, stream=True)
            if response.is_redirect:
                await response.aclose()
                raise AppError(
                    "model_redirect", 502, f"The model endpoint for {route.model} answered with a redirect ({response.status_code})"
                )
            if not stream:
                return await _whole(route, response, redactor)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise _late(route, error) from None
    except PrivateAddress as error:
        raise private_refusal(str(error)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _down(route, error, redactor) from None
    return StreamingHttpResponse(_relay(route, response, redactor), status=response.status_code, headers=_incoming(response, redactor))


def _outgoing(route: Route, headers: Mapping[str, str]) -> dict[str, str]:
    """The few headers of the caller's that go on, then the endpoint's own. Compression would hide secrets from the redactor."""
    sent = {name.lower(): value for name, value in headers.items() if name.lower() in SENT_ON}
    if route.api_key:
        sent["authorization"] = f"Bearer {route.api_key}"
    return {**sent, **{name.lower(): value for name, value in route.headers.items()}, "accept-encoding": "identity"}


def _incoming(response: httpx.Response, redactor: Redactor) -> dict[str, str]:
    kept = {name: value for name, value in response.headers.items() if name in PASSED_BACK or name.startswith("x-ratelimit-")}
    clean = {name: redactor.whole(value.encode("ascii", "replace")).decode() for name, value in kept.items()}
    return {"content-type": "application/octet-stream", **clean}


async def _whole(route: Route, response: httpx.Response, redactor: Redactor) -> HttpResponse:
    limit = settings.PROCTOR_LIMITS["telemetry_bytes"]
    body = bytearray()
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > limit:
                raise AppError("model_reply_too_large", 502, f"The model endpoint for {route.model} answered more than {limit:,} bytes")
    finally:
        await response.aclose()
    return HttpResponse(redactor.whole(bytes(body)), status=response.status_code, headers=_incoming(response, redactor))


async def _relay(route: Route, response: httpx.Response, redactor: Redactor) -> AsyncIterator[bytes]:
    """Piece by piece as it arrives. A break is told inside the stream, since the status has gone out already."""
    try:
        async for piece in response.aiter_bytes():
            if clean := redactor.feed(piece):
                yield clean
        yield redactor.rest()
    except httpx.TimeoutException as error:
        yield redactor.rest() + _event(_late(route, error))
    except httpx.HTTPError as error:
        yield redactor.rest() + _event(_down(route, error, redactor))
    finally:
        await response.aclose()


def _event(error: AppError) -> bytes:
    return b"\n\ndata: " + msgspec.json.encode({"detail": error.message, "error": {"code": error.code, "message": error.message}}) + b"\n\n"


def _late(route: Route, error: BaseException) -> AppError:
    logger.warning("model endpoint timed out endpoint=%s model=%s kind=%s", route.endpoint_id, route.model, type(error).__name__)
    return AppError("model_timeout", 504, f"The model endpoint for {route.model} did not answer in time ({CALL_S:g} s)", model=route.model)


def _down(route: Route, error: Exception, redactor: Redactor) -> AppError:
    """The cause as httpx says it, which names hosts and errno but could echo what the endpoint sent."""
    cause = redactor.whole((str(error) or type(error).__name__).encode()).decode()[:300]
    logger.warning("model endpoint failed endpoint=%s model=%s cause=%s", route.endpoint_id, route.model, cause)
    return AppError("model_unreachable", 502, f"The model endpoint for {route.model} failed: {cause}", model=route.model)
