"""Calls to others' Task Apps: one HTTP client per event loop, no redirects, no proxies of the environment, bounded bodies and time.

Connections are not kept: such servers drop them after an error, and a POST that may not be repeated must not meet a dead one. Raises
CallFailed, which says why in a stable word.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import httpcore
import httpx

from proctor.addresses import PrivateAddress, PublicOnly

Cause = Literal["dns", "refused", "tls", "timeout", "auth", "server_error", "refused_request", "redirect", "bad_reply", "too_large", "private", "lost"]
CONNECT_S = 10.0
REPLY_BYTES = 64 * 1024 * 1024
NO_KEEPING = httpx.Limits(max_connections=500, max_keepalive_connections=0)
_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[bool, bool], httpx.AsyncClient]] = weakref.WeakKeyDictionary()


class CallFailed(Exception):
    """Why a call has no reply to read. `sent`: the request may have reached the peer; `seconds`: how long it took."""

    def __init__(self, cause: Cause, message: str, *, sent: bool = False, status: int | None = None) -> None:
        super().__init__(message)
        self.cause, self.message, self.sent, self.status = cause, message, sent, status


@dataclass(frozen=True)
class Reply:
    """Any status but a redirect's. Header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _PublicTransport(httpx.AsyncHTTPTransport):
    """httpx offers no way to choose the network backend of its pool, so the pool is replaced."""

    def __init__(self, verify: ssl.SSLContext | bool) -> None:
        super().__init__(verify=verify)
        context = verify if isinstance(verify, ssl.SSLContext) else None
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, max_connections=NO_KEEPING.max_connections, max_keepalive_connections=0, network_backend=PublicOnly()
        )


@cache
def _tls() -> ssl.SSLContext:
    """One context per process: making it costs more than a rollout's whole overhead."""
    return httpx.create_ssl_context()


def http_client(url: str, public_only: bool) -> httpx.AsyncClient:
    """The loop's client for such URLs; it lives as long as the loop."""
    mine = _clients.setdefault(asyncio.get_running_loop(), {})
    secure = url.lower().startswith("https:")
    if (secure, public_only) not in mine:
        verify: ssl.SSLContext | bool = _tls() if secure else False
        transport = _PublicTransport(verify) if public_only else httpx.AsyncHTTPTransport(verify=verify, limits=NO_KEEPING)
        mine[secure, public_only] = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=httpx.Timeout(None, connect=CONNECT_S))
    return mine[secure, public_only]


async def call(
    method: str, url: str, *, headers: Mapping[str, str], within_s: float, body: bytes | None = None, public_only: bool = True, reply_bytes: int = REPLY_BYTES
) -> Reply:
    """One call, `within_s` seconds in all."""
    client = http_client(url, public_only)
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", **({"Content-Type": "application/json"} if body is not None else {}), **headers}
    try:
        async with asyncio.timeout(within_s):
            request = client.build_request(method, url, content=body, headers=sent, timeout=httpx.Timeout(None, connect=min(CONNECT_S, within_s)))
            response = await client.send(request, stream=True)
            try:
                return await _read(response, reply_bytes)
            finally:
                await response.aclose()
    except TimeoutError:
        raise CallFailed("timeout", f"no answer within {within_s:g} s", sent=True) from None
    except PrivateAddress as error:
        raise CallFailed("private", f"{error} is not on the public Internet, and whoever registered it may not lead inside") from None
    except httpx.HTTPError as error:
        raise _failure(error) from None
    except (httpx.InvalidURL, ValueError) as error:
        raise CallFailed("bad_reply", f"the address is none: {error}") from None


async def _read(response: httpx.Response, limit: int) -> Reply:
    """The body as sent; a compressed one is refused, since nobody asked for it and a small one may unpack to anything."""
    if response.is_redirect:
        raise CallFailed("redirect", f"answered {response.status_code}, a redirect, which is not followed", sent=True, status=response.status_code)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise CallFailed("bad_reply", "sent a compressed body that nobody asked for", sent=True, status=response.status_code)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            raise CallFailed("too_large", f"answered more than {limit:,} bytes", sent=True, status=response.status_code)
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(body))


def _failure(error: httpx.HTTPError) -> CallFailed:
    """The cause, from the exception and what lies under it."""
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return CallFailed("timeout", "no connection in time")
    if isinstance(error, httpx.ConnectError):
        return _no_connection(error)
    if isinstance(error, httpx.UnsupportedProtocol):
        return CallFailed("bad_reply", f"the address is none: {error}")
    return CallFailed("lost", f"the connection broke: {str(error)[:300] or type(error).__name__}", sent=True)


def _no_connection(error: httpx.ConnectError) -> CallFailed:
    under = _chain(error)
    if any(isinstance(one, socket.gaierror) for one in under) or "has no address" in str(error):
        return CallFailed("dns", "the name has no address")
    if any(isinstance(one, ssl.SSLError) for one in under) or "SSL" in str(error):
        return CallFailed("tls", f"no TLS: {str(error)[:200]}")
    return CallFailed("refused", f"no connection: {str(error)[:200] or 'refused'}")


def _chain(error: BaseException | None) -> list[Any]:
    found: list[Any] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
