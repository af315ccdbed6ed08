"""An OpenAI-compatible model server on loopback that answers from a table: (model, prompt) → recorded text.

Standard library only. A prompt or a model that is not in the table is a 404, so that nothing is answered by accident.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[tuple[str, str], str]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, answers: Answers) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answers = answers


class Handler(BaseHTTPRequestHandler):
    """`POST …/chat/completions`, anything before it."""

    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one packet

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = self.server.answers.get((asked["model"], prompt_of(asked["messages"])))
        if text is None:
            self.reply(404, {"error": {"message": f"no recorded answer of '{asked['model']}' to this prompt", "type": "not_found"}})
        else:
            self.reply(200, completion(asked["model"], text))

    def reply(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        return


def prompt_of(messages: list[dict[str, Any]]) -> str:
    """The last user message's text."""
    content = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def completion(model: str, text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 0, "completion_tokens": len(text.split()), "total_tokens": len(text.split())}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "replay", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


@contextlib.contextmanager
def serving(port: int, answers: Answers) -> Iterator[str]:
    """The base URL, until the block ends. Port 0: any free one."""
    server = Server(port, answers)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
