"""The one HTTP client of the SDK: origin, key, retries where they are safe, answers and errors as types.

A request is a value (`calls`), sent by a `Client` or an `AsyncClient`:

    with Client() as client:
        for taskset in client.send(calls.list_tasksets()).items: …

Names are loaded when they are first used: whoever only asks for the key loads no network library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.client import calls
    from proctor.client.access import Access, find_access, forget_login, login_file, save_login
    from proctor.client.http import AsyncClient, Client
    from proctor.client.request import Call, Reply

_HOMES = {
    "Access": "access", "find_access": "access", "forget_login": "access", "login_file": "access", "save_login": "access", "AsyncClient": "http",
    "Client": "http", "Call": "request", "Reply": "request",
}  # fmt: skip
__all__ = ["Access", "AsyncClient", "Call", "Client", "Reply", "calls", "find_access", "forget_login", "login_file", "save_login"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'proctor.client' has no attribute {name!r}")
    return getattr(import_module(f"proctor.client.{_HOMES[name]}"), name)
