"""`Client` and `AsyncClient`: send a `Call`, get its result; `converse` has a whole exchange, written once for both.

Redirects are never followed, so a key goes to its own origin alone; connections are kept open; a plain-http origin costs no TLS
set-up. What is tried again, and what an answer means, is `request`'s to say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from proctor import __version__
from proctor.client.access import Access, find_access
from proctor.client.request import PAUSES_S, Call, Reply, error_of, pause_after
from proctor.errors import RequestFailed, TimedOut, Unreachable

T = TypeVar("T")
Talk = Generator[Call[Any], Any, T]
CONNECT_S = 10.0


class _Next:
    """Either the result, or how long to wait before the next try."""

    def __init__(self, call: Call[Any], pauses_s: Sequence[float], origin: str) -> None:
        self._call, self._pauses, self._origin = call, list(pauses_s), origin

    def after_error(self, error: httpx.HTTPError) -> float:
        """Seconds to wait. Raises what the error is when it can't be tried again."""
        unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        again = self._call.may_repeat and isinstance(error, httpx.TransportError) and not isinstance(error, httpx.ReadTimeout)
        if self._pauses and (again or (unsent and isinstance(self._call.body, bytes | None))):
            return self._pauses.pop(0)
        raise self._of_transport(error) from error

    def after_answer(self, response: httpx.Response, body: bytes) -> Reply | float:
        if response.is_success:
            return Reply(response.status_code, response.headers, body)
        pause_s = self._pauses.pop(0) if self._pauses else None
        if pause_s is not None:
            wait_s = pause_after(self._call, response.status_code, response.headers, pause_s)
            if wait_s is not None:
                return wait_s
        raise error_of(self._call, response.status_code, response.headers, body)

    def _of_transport(self, error: httpx.HTTPError) -> RequestFailed:
        what = f"{self._call.method} {self._call.path} at {self._origin}"
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return TimedOut(f"{what} was not answered within {self._call.timeout_s:g} s.")
        return Unreachable(f"{what} can't be reached: {error or type(error).__name__}.")


class _Common:
    def __init__(self, access: Access | None, pauses_s: Sequence[float], transport: Any) -> None:
        self.access = access or find_access()
        self._pauses_s = pauses_s
        self._options: dict[str, Any] = {
            "headers": {"Authorization": f"Bearer {self.access.api_key}", "User-Agent": f"proctor/{__version__}", "Accept": "application/json"},
            "verify": self.access.origin.startswith("https:"), "follow_redirects": False, "transport": transport,
        }  # fmt: skip

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        headers = {**call.headers, **({"Content-Type": call.content_type} if call.body is not None else {})}
        timeout = httpx.Timeout(call.timeout_s, connect=CONNECT_S)
        return {
            "method": call.method, "url": self.access.origin + call.path, "params": dict(call.params) or None, "content": call.body,
            "headers": headers, "timeout": timeout,
        }  # fmt: skip

    def _next(self, call: Call[Any]) -> _Next:
        return _Next(call, self._pauses_s, self.access.origin)


class Client(_Common):
    """Synchronous. Without `access`, what `find_access` finds. Use as a context manager, or call `close`."""

    def __init__(self, access: Access | None = None, *, pauses_s: Sequence[float] = PAUSES_S, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(access, pauses_s, transport)
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """The call's result. Raises RequestFailed."""
        following = self._next(call)
        while True:
            try:
                response = self._http.request(**self._request(call))
            except httpx.HTTPError as error:
                time.sleep(following.after_error(error))
                continue
            turn = following.after_answer(response, response.content)
            if isinstance(turn, Reply):
                return call.read(turn)
            time.sleep(turn)

    def converse(self, talk: Talk[T]) -> T:
        """Send what the generator yields, give it each result (or raise each error inside it), and return what it returns."""
        try:
            call = next(talk)
            while True:
                try:
                    result = self.send(call)
                except RequestFailed as error:
                    call = talk.throw(error)
                else:
                    call = talk.send(result)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


class AsyncClient(_Common):
    """The same for asyncio; may be shared by tasks of one event loop."""

    def __init__(
        self, access: Access | None = None, *, pauses_s: Sequence[float] = PAUSES_S, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        super().__init__(access, pauses_s, transport)
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """The call's result. Raises RequestFailed."""
        following = self._next(call)
        while True:
            try:
                response = await self._http.request(**self._request(call))
            except httpx.HTTPError as error:
                await asyncio.sleep(following.after_error(error))
                continue
            turn = following.after_answer(response, response.content)
            if isinstance(turn, Reply):
                return call.read(turn)
            await asyncio.sleep(turn)

    async def converse(self, talk: Talk[T]) -> T:
        """As `Client.converse`."""
        try:
            call = next(talk)
            while True:
                try:
                    result = await self.send(call)
                except RequestFailed as error:
                    call = talk.throw(error)
                else:
                    call = talk.send(result)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
