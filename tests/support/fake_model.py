"""An OpenAI-compatible model on loopback whose replies are scripted: a function of the request gives the reply.

`replies` are used in order, the last one for ever. Each is a `Reply`, or a function from the request body to one.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What goes over the wire. `silent`: nothing does, until the model is closed."""

    body: str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False


Scripted = Reply | Callable[[dict[str, Any]], Reply]


def says(text: str, *, finish: str = "stop", usage: Mapping[str, Any] | None = None, **message: Any) -> Reply:
    """A completion with a text."""
    default = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 2}}
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    return Reply(json.dumps({"id": "c", "model": "stub-1", "choices": [choice], "usage": usage or default}))


def calls(name: str, arguments: str, *, finish: str = "tool_calls", text: str | None = None) -> Reply:
    """A completion that calls one tool; the arguments as the model would write them."""
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return says(text, finish=finish, tool_calls=[call])  # type: ignore[arg-type]


def fails(status: int, body: str = '{"error":"no"}', **headers: str) -> Reply:
    """An HTTP error."""
    return Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class FakeModel:
    """Its address, and what it was asked."""

    base_url: str
    replies: list[Scripted]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        """Keep the request, give the next reply."""
        with self.lock:
            self.paths.append(path)
            self.headers.append(headers)
            self.requests.append(body)
            scripted = self.replies[min(len(self.requests), len(self.replies)) - 1]
        return scripted(body) if callable(scripted) else scripted


@contextlib.contextmanager
def fake_model(*replies: Scripted) -> Iterator[FakeModel]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = model.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            if reply.silent:
                model.closing.wait(60)
                self.close_connection = True
                return
            content = reply.body.encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = FakeModel(f"http://127.0.0.1:{server.server_address[1]}/v1", list(replies))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield model
    finally:
        model.closing.set()
        server.shutdown()
        server.server_close()


def closed_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
