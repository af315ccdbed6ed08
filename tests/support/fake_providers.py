"""The three provider APIs that HUD's own agents speak, on loopback: OpenAI's Responses API (`POST …/responses`, JSON), Anthropic's Messages
API (`POST …/v1/messages`, server-sent events) and Google's Gemini API (`POST …/v1beta/models/MODEL:streamGenerateContent`, the same).

Shapes as in the providers' API references, as far as openai 3.57, anthropic 2.14 and google-genai 3.6 read them: these clients are the real
ones in `tests/peers/test_hud_agents.py`. `answer(model, key)` gives the text, a `Call` (made once, its result is then said), or None for
never; the text `fail` is an answer 401, `redirect` leads elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool that the model wants called."""

    name: str
    arguments: dict[str, Any]


Said = str | Call
Answer = Callable[[str, str], Said | None]


@dataclass(frozen=True)
class Asked:
    """One request: which API, for which model, with which key, of which run."""

    api: str
    model: str
    key: str
    run_id: str


@dataclass
class Providers:
    """The address without a path, and what was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


def _openai(model: str, said: Said) -> Any:
    content = [{"type": "output_text", "text": said, "annotations": []}]
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_tokens_details": {"cached_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 0}}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    if isinstance(said, Call):
        message = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": said.name, "arguments": json.dumps(said.arguments), "status": "completed"}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": "completed", "output": [message], "usage": usage,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
    }  # fmt: skip


def _anthropic(model: str, said: Said) -> list[dict[str, Any]]:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 1},
    }  # fmt: skip
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta, reason = {"type": "text_delta", "text": said}, "end_turn"
    if isinstance(said, Call):
        block = {"type": "tool_use", "id": "toolu_1", "name": said.name, "input": {}}
        delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(said.arguments)}, "tool_use"
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def _gemini(model: str, said: Said) -> list[dict[str, Any]]:
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    part = {"functionCall": {"name": said.name, "args": said.arguments}} if isinstance(said, Call) else {"text": said}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "modelVersion": model, "usageMetadata": usage}]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = self._asked(body)
        self.server.providers.asked.append(asked)  # type: ignore[attr-defined]
        said = self.server.answer(asked.model, asked.key)  # type: ignore[attr-defined]
        if isinstance(said, Call) and (result := re.search(r"the sum is (\d+)", json.dumps(body))):
            said = result[1]
        if said is None:
            self.server.providers.closing.wait(120)  # type: ignore[attr-defined]
            self.close_connection = True
        elif said == "redirect":
            self.send_response(307)
            self.send_header("Location", f"{self.server.providers.url}/v1/responses?elsewhere")  # type: ignore[attr-defined]
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif said == "fail":
            self._send(401, "application/json", json.dumps({"error": {"message": f"bad key {asked.key}", "type": "authentication_error", "code": 401}}))
        elif asked.api == "openai":
            self._send(200, "application/json", json.dumps(_openai(asked.model, said)))
        else:
            events = (_anthropic if asked.api == "anthropic" else _gemini)(asked.model, said)
            self._send(200, "text/event-stream", "".join(self._event(event) for event in events))

    def _asked(self, body: dict[str, Any]) -> Asked:
        run_id, gemini = self.headers.get("Trace-Id", ""), re.search(r"/v1beta/models/([^:]+):streamGenerateContent", self.path)
        if gemini:
            return Asked("gemini", gemini[1], self.headers.get("x-goog-api-key", ""), run_id)
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.path.partition("?")[0] == "/v1/messages":
            return Asked("anthropic", body["model"], self.headers.get("x-api-key", bearer), run_id)
        assert self.path == "/v1/responses", self.path
        return Asked("openai", body["model"], bearer, run_id)

    def _event(self, event: dict[str, Any]) -> str:
        name = f"event: {event['type']}\n" if "type" in event else ""
        return f"{name}data: {json.dumps(event)}\n\n"

    def _send(self, status: int, content_type: str, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        return


@contextlib.contextmanager
def fake_providers(answer: Answer) -> Iterator[Providers]:
    """Serve until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    providers = Providers(f"http://127.0.0.1:{server.server_address[1]}")
    server.answer, server.providers = answer, providers  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield providers
    finally:
        providers.closing.set()
        server.shutdown()
        server.server_close()
