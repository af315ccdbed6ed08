"""The outside world's own book-keeping: a TCP server that keeps every line it is sent, and the environment that sends them."""

from __future__ import annotations

import contextlib
import io
import socketserver
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from asgiref.sync import async_to_sync

from proctor.rollout.images import ensure_sample_image
from proctor.rollout.sandbox import docker_client
from tests.support.server import Server, until

ENVIRONMENT = Path(__file__).with_name("outside_env.py")


@dataclass
class Tally:
    port: int = 0
    lines: list[str] = field(default_factory=list)

    def marks(self) -> list[tuple[str, str]]:
        """(question, container) of each grading, in order."""
        return [(question, container) for question, container in (line.rsplit(" ", 1) for line in list(self.lines))]


@contextlib.contextmanager
def tally() -> Iterator[Tally]:
    """Listens on every interface, since containers come in over their bridge."""
    kept = Tally()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            if line := self.rfile.readline().decode().strip():
                kept.lines.append(line)
                self.wfile.write(b"kept\n")

    with socketserver.ThreadingTCPServer(("0.0.0.0", 0), Handler) as server:
        server.daemon_threads = True
        kept.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield kept
        server.shutdown()


@async_to_sync
async def sample_image() -> str:
    """The shipped sample's image, on the engine."""
    async with docker_client() as docker:
        image = await ensure_sample_image(docker, print)
    assert image is not None
    return image.tag


def register_outside(server: Server, base_image: str) -> None:
    """Builds the environment through the product, from a folder with a Dockerfile."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for name, content in (("Dockerfile", f"FROM {base_image}\nCOPY env.py /opt/proctor/env.py\n".encode()), ("env.py", ENVIRONMENT.read_bytes())):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    server.call("POST", "/api/environments?name=outside", body.getvalue(), headers={"Content-Type": "application/x-tar"})
    until(lambda: _built(server), 60, why=server.log)


def _built(server: Server) -> bool:
    newest = server.get("/api/environments/outside")["latest"]
    assert newest["status"] != "failed", newest
    return bool(newest["status"] == "ready")
