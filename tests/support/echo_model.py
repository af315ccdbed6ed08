"""A tiny model endpoint on loopback for gateway tests: keeps what it was sent and answers what the test told it to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class EchoModel:
    """`pieces` are the reply's body, sent one by one. `hold`: wait for `go` before the second piece. `break_off`: end in the middle."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    pieces: list[bytes] = field(default_factory=lambda: [b'{"choices": []}'])
    hold: bool = False
    break_off: bool = False
    go: threading.Event = field(default_factory=threading.Event)
    silent: bool = False
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@contextlib.contextmanager
def echo_model() -> Iterator[EchoModel]:
    model = EchoModel()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            model.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if model.silent:
                model.go.wait(30)
                self.close_connection = True
                return
            self.send_response(model.status)
            for name, value in model.headers.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, piece in enumerate(model.pieces):
                if number and model.hold:
                    model.go.wait(30)
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
            if model.break_off:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield model
    finally:
        model.go.set()
        server.shutdown()
        server.server_close()
