"""A client that never reads costs a bounded amount of memory: what waits for it stays with us, not in the server's buffers. Nor does one
that sends faster than its application takes.

Guards `config.server` against upgrades of Daphne, which by itself takes whatever an application sends.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.support.server import KEY, ROOT, Server, free_port, running, sample_rows, until

pytestmark = pytest.mark.server
MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("backpressure") / "data", PROCTOR_SANDBOX="subprocess") as server:
        yield server


def silent_connection(server: Server, head: str) -> socket.socket:
    """A connection with small buffers that asks and then never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(f"{head}\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {KEY}\r\n".encode())
    return connection


def memory(web: psutil.Process) -> int:
    return int(web.memory_info().rss)


def test_a_websocket_that_never_reads_does_not_grow_the_server(server: Server) -> None:
    web, trace_id = server.child("web"), str(uuid.uuid4())
    server.post(f"/v2/trace/{trace_id}/enter", {"job_id": str(uuid.uuid4())})
    upload(server, trace_id, range(5), 100_000)
    ticket = server.post("/api/ws-ticket")["ticket"]
    silent = [silent_socket(server, server.post("/api/ws-ticket")["ticket"], trace_id) for _ in range(4)]
    before = memory(web)
    for start in range(5, 805, 20):
        upload(server, trace_id, range(start, start + 20), 100_000)
    assert server.get(f"/api/runs/{trace_id}")["last_seq"] == 805, "80 MB have gone by"
    time.sleep(1)
    grown = memory(web) - before
    for connection in silent:
        connection.close()
    assert ticket and grown < 120 * MEGABYTE, f"{grown // MEGABYTE} MB for four sockets that never read; 320 MB were meant for them"


def upload(server: Server, trace_id: str, numbers: range, size: int) -> None:
    text = os.urandom(size // 2).hex()
    spans = [
        {"span_id": f"{number:016x}", "name": "step.agent", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"source": "agent", "content": text}}}
        for number in numbers
    ]  # fmt: skip
    server.call("POST", f"/v3/api/trace/{trace_id}/telemetry-upload", json.dumps({"telemetry": spans}).encode())


def silent_socket(server: Server, ticket: str, trace_id: str) -> socket.socket:
    connection = silent_connection(server, f"GET /ws?ticket={ticket} HTTP/1.1")
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    body = json.dumps({"op": "sub", "id": 1, "topic": f"run:{trace_id}", "after": 0}).encode()
    mask = b"\0\0\0\0"
    connection.sendall(bytes([0x81, 0x80 | 126]) + len(body).to_bytes(2, "big") + mask + body if len(body) > 125 else bytes([0x81, 0x80 | len(body)]) + mask + body)
    return connection


def test_a_download_that_is_never_read_does_not_grow_the_server(server: Server) -> None:
    rows = [{**row, "columns": {"says": os.urandom(50_000).hex()}} for row in sample_rows(400)]
    for start in range(0, 400, 50):
        server.upload("large", rows[start : start + 50])
    web = server.child("web")
    before = memory(web)
    silent = [silent_connection(server, "GET /api/tasksets/large/export HTTP/1.1") for _ in range(6)]
    for connection in silent:
        connection.sendall(b"\r\n")
    time.sleep(3)
    grown = memory(web) - before
    for connection in silent:
        connection.close()
    assert grown < 120 * MEGABYTE, f"{grown // MEGABYTE} MB; 240 MB were asked for"


def test_a_body_larger_than_any_limit_is_refused_from_its_headers(server: Server) -> None:
    connection = silent_connection(server, "POST /v2/tasks/upload HTTP/1.1")
    connection.sendall(f"Content-Type: application/json\r\nContent-Length: {2**40}\r\n\r\n".encode())
    connection.settimeout(30)
    answer = b""
    while chunk := connection.recv(4096):
        answer += chunk
    assert answer.startswith(b"HTTP/1.1 413 ") and b'"code":"too_large"' in answer
    until(server.healthy, 10)


def test_a_websocket_is_read_no_faster_than_its_application_takes(tmp_path: Path) -> None:
    port, data = free_port(), os.urandom(64 * 1024)
    frames = 800
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}", "DJANGO_SETTINGS_MODULE": "config.settings", "PROCTOR_DATA": str(tmp_path)}
    slow = subprocess.Popen([sys.executable, str(ROOT / "tests/support/slow_app.py"), str(port), str(frames * len(data))], env=env)
    stack = contextlib.ExitStack()
    try:
        client = until(lambda: connected(port, stack), 60)
        sent: list[int] = []
        sender = threading.Thread(target=send_all, args=(client, data, frames, sent))
        sender.start()
        until(lambda: at_rest(sent), 60)
        time.sleep(6)  # past the server's patience with pings that are not answered
        assert 0 < len(sent) < frames // 2, "the server goes on reading"
        assert memory(psutil.Process(slow.pid)) < 150 * MEGABYTE
        assert httpx.get(f"http://127.0.0.1:{port}/").text == "go"
        sender.join(60)
        assert client.recv(timeout=60) == hashlib.sha256(data * frames).hexdigest()
    finally:
        stack.close()
        slow.kill()
        slow.wait()


def connected(port: int, stack: contextlib.ExitStack) -> ClientConnection | None:
    with contextlib.suppress(OSError):
        return stack.enter_context(connect(f"ws://127.0.0.1:{port}/", compression=None, ping_interval=None))
    return None


def send_all(client: ClientConnection, data: bytes, frames: int, sent: list[int]) -> None:
    for number in range(frames):
        client.send(data)
        sent.append(number)


def at_rest(sent: list[int]) -> bool:
    """Nothing more went out for a second."""
    before = len(sent)
    time.sleep(1)
    return before > 0 and len(sent) == before
