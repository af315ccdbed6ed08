"""The one HTTP client of the SDK: origin, key, retries where they are safe, answers and errors as types.

A request is a value (`calls`), sent by a `Client` or an `AsyncClient`:

    with Client() as client:
        for taskset in client.send(calls.list_tasksets()).items: …
"""

from proctor.client.access import Access, find_access, forget_login, login_file, save_login
from proctor.client.http import AsyncClient, Client
from proctor.client.request import Call, Reply

__all__ = ["Access", "AsyncClient", "Call", "Client", "Reply", "find_access", "forget_login", "login_file", "save_login"]
