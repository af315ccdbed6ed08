"""A peer over HTTP that does what a test says: the other end of `POST /api/tasksets/pull`. `tests/journeys/test_pull.py` pulls from a real one."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.server.answer(self)  # type: ignore[attr-defined]

    def log_message(self, *_arguments: Any) -> None:
        return

    def offer(self, digest: str, count: int, status: int = 200, **more: str) -> None:
        """The head of a download; the body ends with the connection."""
        self.send_response(status)
        self.close_connection = True
        headers = {"Proctor-Digest": digest, "Proctor-Task-Count": str(count), "Proctor-Version": "3", "Proctor-Taskset": "zoo", **more}
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()


@contextlib.contextmanager
def peer(answer: Answer) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Its address, and the requests that it saw: path and headers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer, server.seen = answer, []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", server.seen  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
