"""What the measures stand on: a PostgreSQL cluster and servers of their own, and small clients.

Everything lies in temporary folders on free ports and is gone when the bench ends. `Proctor` is one more `Peer` of the floors'
harness (`floors/common.py`): started, waited for, sampled and stopped in the same way as a peer.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.floor import FLOORS, PG_BIN, PG_USER

sys.path.insert(0, str(FLOORS))
import common
import psutil
from bench_db import Pg

ROOT = Path(__file__).resolve().parents[1]
KEY = "pk_bench_0123456789abcdef"
REPEAT = 5
PEERS = Path(os.environ.get("PROCTOR_PEERS", ROOT / ".peers"))


class Proctor(common.Peer):
    """`manage.py up` on a data folder and a port of its own; with `redis`, the scaled broker and hints."""

    name = "proctor"
    health = "/healthz"

    def __init__(self, database_url: str = "", redis_url: str = "", data: str | None = None) -> None:
        super().__init__(venv=sys.prefix, data=data)
        self.database_url, self.redis_url = database_url, redis_url

    def cmd(self) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), "up"]

    def env(self) -> dict[str, str]:
        return {
            "PROCTOR_DATA": str(self.data),
            "PROCTOR_HOST": "127.0.0.1",
            "PROCTOR_PORT": str(self.port),
            "PROCTOR_SAMPLE": "0",
            "PROCTOR_API_KEY": KEY,
            "PROCTOR_ADMIN_EMAIL": "bench@example.test",
            "PROCTOR_ADMIN_PASSWORD": uuid.uuid4().hex,
            "PROCTOR_DATABASE_URL": self.database_url,
            "PROCTOR_REDIS_URL": self.redis_url,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        """Until a worker reports, too."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if common.http_get(self.port, "/readyz")[0] == 200:
                    return
            time.sleep(0.02)
        raise TimeoutError("no worker became ready")

    def tree(self) -> list[psutil.Process]:
        top = psutil.Process(self.proc.pid)
        return [top, *top.children(recursive=True)]

    def web(self) -> psutil.Process:
        return next(process for process in self.tree() if process.cmdline()[-1:] == ["web"])

    def client(self) -> Client:
        return Client(self.port)


class Client:
    """JSON over one kept-alive connection, with the first key. A connection that lay idle for long is opened again: servers close those."""

    IDLE_S = 20.0

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self.used = time.monotonic()
        self.headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: bytes | object = None) -> Any:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if time.monotonic() - self.used > self.IDLE_S:
            self.connection.close()
        self.connection.request(method, path, body=sent, headers=self.headers)
        reply = self.connection.getresponse()
        text = reply.read()
        self.used = time.monotonic()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: bytes | object) -> Any:
        return self.call("POST", path, body)


class Bench:
    """Starts what a measure asks for, once, and ends all of it."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._cluster: Any = None
        self._servers: dict[str, Proctor] = {}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def cluster(self) -> Any:
        if self._cluster is None:
            self._cluster = self._stack.enter_context(Pg(PG_BIN, PG_USER))
        return self._cluster

    def new_database(self) -> str:
        """The URL of an empty database in the cluster."""
        name = f"p{uuid.uuid4().hex[:12]}"
        cluster = self.cluster()
        cluster.sh(Path(PG_BIN) / "createdb", "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "bench", name)
        return f"postgres://bench@127.0.0.1:{cluster.port}/{name}"

    def server(self, db: str) -> Proctor:
        """The shared server on `postgres` or `sqlite`."""
        if db not in self._servers:
            server = Proctor(self.new_database() if db == "postgres" else "")
            self._servers[db] = self._stack.enter_context(server)
            server.wait_ready()
        return self._servers[db]


def rows(count: int, changed: int = 0) -> list[dict[str, Any]]:
    """Tasks of about 1 KB; the first `changed` differ from the plain ones."""
    return [
        {"name": f"task-{i:06}", "env": {"name": "bench"}, "task_id": "solve", "args": common.example(i, rev=1 if i < changed else 0)}
        for i in range(count)
    ]


def upload(client: Client, name: str, tasks: list[dict[str, Any]]) -> Any:
    return client.post("/v2/tasks/upload", {"taskset_name": name, "tasks": tasks})


def ensure_taskset(server: Proctor, count: int) -> str:
    """The name of a set with so many tasks."""
    client, name = server.client(), f"bench-{count}"
    try:
        client.get(f"/v2/tasksets/by-name/{name}")
    except RuntimeError:
        upload(client, name, rows(count))
    return name


def hud_python() -> str:
    """The Python of the peer `hud` 0.6.21, installed when it is missing."""
    python = PEERS / "hud-0.6.21" / "bin" / "python"
    if not python.exists():
        subprocess.run([str(ROOT / "tests/peers/kit/peers"), str(PEERS), "hud-0.6.21"], check=True, stdout=sys.stderr)
    return str(python)


def run_hud(script: str, request: object) -> Any:
    """Runs a script of this folder with the real SDK: JSON in by argument, JSON out on the last line."""
    with tempfile.TemporaryDirectory(prefix="bench-home-") as home:
        quiet = {"HUD_SKIP_VERSION_CHECK": "1", "HUD_CLI_ANALYTICS_ENABLED": "false", "HUD_TELEMETRY_ENABLED": "0"}
        env = {**os.environ, **quiet, "HOME": home, "HUD_API_KEY": KEY}
        command = [hud_python(), str(Path(__file__).parent / script), json.dumps(request)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def redis_server() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = common.free_port()
    with tempfile.TemporaryDirectory(prefix="bench-redis-") as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0", process
        finally:
            process.terminate()
            process.wait()
