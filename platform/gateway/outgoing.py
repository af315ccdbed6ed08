"""HTTP to an address that a person gave, from a thread: to the very address that was checked, within one deadline for all of it.

No proxies, no redirects, and no private address unless an instance admin asked (`proctor.addresses`). The deadline holds for the name, the
handshake, the headers and each read, so a peer that drips bytes ends too.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from proctor.addresses import address_to_dial

CONNECT_S, SILENCE_S = 10.0, 60.0


def open_client(*, may_lead_inside: bool, total_s: float) -> httpx.Client:
    """Calls raise PrivateAddress, or httpx's errors; ReadTimeout when the deadline is over."""
    transport = httpx.HTTPTransport()
    backend = _Backend(time.monotonic() + total_s, may_lead_inside)
    transport._pool = httpcore.ConnectionPool(ssl_context=httpx.create_ssl_context(), max_connections=1, network_backend=backend)
    timeout = httpx.Timeout(SILENCE_S, connect=CONNECT_S)
    return httpx.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=timeout)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, deadline: float, may_lead_inside: bool) -> None:
        self._inner, self._deadline, self._may_lead_inside = httpcore.SyncBackend(), deadline, may_lead_inside

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        address = address_to_dial(host, port, may_lead_inside=self._may_lead_inside)
        stream = self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)
        return _Stream(stream, self._deadline)

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None) -> httpcore.NetworkStream:  # fmt: skip
        raise httpcore.ConnectError("sockets of this machine are not reached")


class _Stream(httpcore.NetworkStream):
    """Every wait is cut at the deadline."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: float) -> None:
        self._inner, self._deadline = inner, deadline

    def _left(self, timeout: float | None) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time for all of it is over")
        return left if timeout is None else min(timeout, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None) -> httpcore.NetworkStream:  # fmt: skip
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, self._left(timeout)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
