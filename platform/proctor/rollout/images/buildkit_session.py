"""The session of a BuildKit build: how the engine asks us for a secret while a step that mounts it runs.

The engine takes over a connection that we opened (`POST /session`, upgraded) and calls us over it: gRPC on HTTP/2, unary calls with small
messages. Served are `Secrets.GetSecret` and the health check; everything else is answered "unimplemented", which the engine takes for
"no such thing here" (as for registry credentials). Sources: moby/buildkit `session/secrets/secrets.proto`, `session/grpchijack`; the
wire form of gRPC: grpc/grpc `doc/PROTOCOL-HTTP2.md`.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiodocker
import aiohttp
from aiodocker.exceptions import DockerError
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from multidict import CIMultiDict

from proctor.rollout.images.protobuf import field, fields

log = logging.getLogger(__name__)

GET_SECRET, HEALTH = "/moby.buildkit.secrets.v1.Secrets/GetSecret", "/grpc.health.v1.Health/Check"
OK, NOT_FOUND, UNIMPLEMENTED = 0, 5, 12
_SERVING = field(1, 1)
_HEADERS = [(":status", "200"), ("content-type", "application/grpc")]


@contextlib.asynccontextmanager
async def open_session(docker: aiodocker.Docker, secrets: Mapping[str, str]) -> AsyncIterator[str]:
    """The session's id, for as long as the context is open. Raises DockerError when the engine knows no sessions."""
    session_id = uuid.uuid4().hex
    response = await docker._do_query(
        "session", "POST", headers=_exposed(session_id), timeout=aiohttp.ClientTimeout(sock_connect=10), read_until_eof=False
    )
    try:
        connection = response.connection
        if response.status != 101 or connection is None or connection.protocol is None or connection.transport is None:
            raise DockerError(response.status, "The engine did not take the build's session")
        server = SecretServer(secrets, connection.transport.write)
        server.begin()
        connection.protocol.set_parser(server, None)
        yield session_id
    finally:
        response.close()


def _exposed(session_id: str) -> CIMultiDict[str]:
    headers = CIMultiDict({"Connection": "Upgrade", "Upgrade": "h2c", "X-Docker-Expose-Session-Uuid": session_id})
    headers.update({"X-Docker-Expose-Session-Name": "proctor", "X-Docker-Expose-Session-Sharedkey": ""})
    for method in (GET_SECRET, HEALTH):
        headers.add("X-Docker-Expose-Session-Grpc-Method", method)
    return headers


class SecretServer:
    """HTTP/2's serving side on a connection that somebody else reads: bytes come by `feed_data` and go by `write`."""

    def __init__(self, secrets: Mapping[str, str], write: Callable[[bytes], Any]) -> None:
        self._secrets, self._write = secrets, write
        self._http = H2Connection(H2Configuration(client_side=False))
        self._paths: dict[int, str] = {}
        self._asked: dict[int, bytes] = {}
        self._answers: dict[int, tuple[bytes, int]] = {}
        """What is still to be sent on a stream, and the status after it."""

    def begin(self) -> None:
        self._http.initiate_connection()
        self._flush()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """aiohttp's parser: (at the end, what is left of the data)."""
        try:
            for event in self._http.receive_data(data):
                self._take(event)
            self._send_waiting()
        except ProtocolError as error:
            log.warning("build session broken error=%s", type(error).__name__)
            return True, b""
        self._flush()
        return False, b""

    def feed_eof(self) -> None:
        """The engine has hung up: the build is over."""

    def _flush(self) -> None:
        if data := self._http.data_to_send():
            self._write(data)

    def _take(self, event: Event) -> None:
        if isinstance(event, RequestReceived):
            self._paths[event.stream_id] = dict(event.headers).get(b":path", b"").decode("latin-1")
            self._asked[event.stream_id] = b""
        elif isinstance(event, DataReceived):
            self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._asked[event.stream_id] = self._asked.get(event.stream_id, b"") + event.data
        elif isinstance(event, StreamEnded):
            self._answer(event.stream_id)
        elif isinstance(event, StreamReset):
            self._answers.pop(event.stream_id, None)
        elif isinstance(event, WindowUpdated):
            self._send_waiting()

    def _answer(self, stream_id: int) -> None:
        status, message = self._call(self._paths.pop(stream_id, ""), self._asked.pop(stream_id, b"")[5:])
        if message is None:
            self._http.send_headers(stream_id, [*_HEADERS, ("grpc-status", str(status))], end_stream=True)
            return
        self._http.send_headers(stream_id, _HEADERS)
        self._answers[stream_id] = (b"\0" + len(message).to_bytes(4, "big") + message, status)

    def _call(self, path: str, message: bytes) -> tuple[int, bytes | None]:
        if path == HEALTH:
            return OK, _SERVING
        if path != GET_SECRET:
            return UNIMPLEMENTED, None
        asked = next((value.decode(errors="replace") for number, value in fields(message) if number == 1 and isinstance(value, bytes)), "")
        secret = self._secrets.get(asked)
        return (NOT_FOUND, None) if secret is None else (OK, field(1, secret.encode()))

    def _send_waiting(self) -> None:
        """As much as the engine's windows let through."""
        for stream_id, (data, status) in list(self._answers.items()):
            while data and (room := min(self._http.local_flow_control_window(stream_id), self._http.max_outbound_frame_size)) > 0:
                self._http.send_data(stream_id, data[:room])
                data = data[room:]
            self._answers[stream_id] = (data, status)
            if not data:
                del self._answers[stream_id]
                self._http.send_headers(stream_id, [("grpc-status", str(status))], end_stream=True)
