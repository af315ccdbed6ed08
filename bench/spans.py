"""Batches of HUD spans of 2.2 KB, and clients that send them; the product's side of P6, P7, P8 and P10."""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

import common

from bench.support import Client, Proctor

BATCH = 100


@dataclass(frozen=True)
class Sent:
    """Spans per second over all clients, and each request's milliseconds."""

    rate: float
    request_ms: list[float]


def span(run_id: str, seed: int) -> dict[str, Any]:
    step = {
        "step_id": seed + 1, "source": "agent", "content": common.text(seed, 900), "reasoning": common.text(seed + 1, 800), "tool_calls": [], "done": False,
        "messages": [], "extra": {}, "model": "m-1", "usage": {"prompt_tokens": 100, "completion_tokens": 50},
    }  # fmt: skip
    return {
        "name": "step.agent", "trace_id": uuid.UUID(run_id).hex, "span_id": uuid.uuid4().hex[:16], "parent_span_id": None, "kind": "INTERNAL",
        "start_time": "2026-11-30T12:00:00.000001+00:00", "end_time": "2026-11-30T12:00:00.100001+00:00", "status_code": "OK", "status_message": None,
        "attributes": {"hud.task_run_id": run_id, "hud.schema": "hud.step.v1", "hud.payload": step}, "events": [],
    }  # fmt: skip


def batch(run_id: str, seed: int, size: int = BATCH) -> bytes:
    return json.dumps({"telemetry": [span(run_id, seed * size + i) for i in range(size)]}).encode()


def upload_path(run_id: str) -> str:
    return f"/v3/api/trace/{run_id}/telemetry-upload"


def send(client: Client, run_id: str, body: bytes) -> float:
    """Milliseconds until the answer: then it is durable."""
    began = time.perf_counter()
    client.post(upload_path(run_id), body)
    return (time.perf_counter() - began) * 1000


def burst(server: Proctor, *, clients: int, batches: int) -> Sent:
    """Each client sends its batches to runs of its own, ten batches to a run; bodies are made before the clock starts."""
    work = []
    for number in range(clients):
        runs = [str(uuid.uuid4()) for _ in range((batches + 9) // 10)]
        work.append([(runs[i // 10], batch(runs[i // 10], number * batches + i)) for i in range(batches)])
    request_ms: list[float] = []

    def one(bodies: list[tuple[str, bytes]]) -> None:
        client = server.client()
        request_ms.extend(send(client, run_id, body) for run_id, body in bodies)

    threads = [threading.Thread(target=one, args=(bodies,)) for bodies in work]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if len(request_ms) != clients * batches:
        raise RuntimeError("not every batch was answered")
    return Sent(clients * batches * BATCH / seconds, request_ms)
