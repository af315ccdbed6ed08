"""A Task App on loopback that answers, or misbehaves, as a test tells it to. Against the real one: `tests/peers/test_synth.py`."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "data" / "synth"
KEY = "peer-key-0123456789"


def recorded(name: str) -> dict[str, Any]:
    """The body of a recorded reply of the real server, by the start of its file's name."""
    return exchange(name)["response"]["body"]


def exchange(name: str) -> dict[str, Any]:
    (path,) = RECORDED.glob(f"{name}*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@dataclass
class Says:
    """One reply. `hang_s`: wait first. `die`: close without one. `endless`: send so many bytes of nothing. `half`: break off in the body."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    die: bool = False
    endless: int = 0
    half: bool = False

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Scripted = Says | Callable[[dict[str, Any]], Says]


@dataclass
class FakeTaskApp:
    """`replies` by `METHOD /path`; `requests` are (method, path with query, headers in lower case, body)."""

    url: str = ""
    key: str = KEY
    replies: dict[str, Scripted] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def posts(self) -> list[dict[str, Any]]:
        return [json.loads(body) for method, path, _headers, body in self.requests if (method, path) == ("POST", "/rollout")]


def well(**replies: Scripted) -> dict[str, Scripted]:
    """What the recorded server answers; keywords `rollout`, `info`, `task_info`, `health` replace a reply."""
    one = recorded("05-")

    def task_info(request: dict[str, Any]) -> Says:
        seeds = [int(pair.partition("=")[2]) for pair in request["query"].split("&") if pair]
        many = [{**one, "task_metadata": {**one["task_metadata"], "seed": seed, "index": seed}} for seed in seeds]
        return Says({"taskset": {"id": "counting", "size": 16}} if not seeds else many[0] if len(many) == 1 else many)

    known: dict[str, Scripted] = {
        "root": Says({"status": "ok", "service": "counting"}), "health": Says({"healthy": True}), "info": Says(recorded("03-")),
        "task_info": task_info, "rollout": lambda request: Says({**recorded("11-"), "run_id": request["json"]["run_id"], "trace_correlation_id": None}),
    }  # fmt: skip
    known |= replies
    return {
        "GET /": known["root"], "GET /health": known["health"], "GET /info": known["info"], "GET /task_info": known["task_info"],
        "GET /rollout": Says({"detail": "Method Not Allowed"}, 405), "POST /rollout": known["rollout"],
    }  # fmt: skip


@contextlib.contextmanager
def fake_task_app(replies: dict[str, Scripted] | None = None, *, key: str = KEY) -> Iterator[FakeTaskApp]:
    """Serve until the block ends. Everything but `/` wants the key."""
    app = FakeTaskApp(key=key, replies=well() if replies is None else replies)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            path, _, query = self.path.partition("?")
            app.requests.append((self.command, self.path, headers, body))
            if path != "/" and app.key and headers.get("x-api-key") != app.key:
                self.send(Says({"detail": {"error": {"code": "unauthorised", "message": "API key missing or invalid"}}}, 400))
                return
            scripted = app.replies.get(f"{self.command.replace('HEAD', 'GET')} {path}", Says({"detail": "Not Found"}, 404))
            request = {"query": query, "json": json.loads(body) if body else None, "headers": headers}
            self.send(scripted(request) if callable(scripted) else scripted)

        do_GET = do_POST = do_HEAD = answer

        def send(self, says: Says) -> None:
            self.close_connection = True
            if says.hang_s:
                app.closing.wait(says.hang_s)
            if says.die:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            content = b"" if self.command == "HEAD" else says.content()
            self.send_response(says.status)
            length = says.endless or len(content) + (100 if says.half else 0)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(length), "Connection": "close", **says.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                if says.endless:
                    self.flood(says.endless)
                else:
                    self.wfile.write(content)

        def flood(self, size: int) -> None:
            piece = b" " * 1_000_000
            for _ in range(size // len(piece)):
                self.wfile.write(piece)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    app.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield app
    finally:
        app.closing.set()
        server.shutdown()
        server.server_close()
