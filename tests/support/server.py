"""The whole product as processes: `manage.py up` on a data folder and a port of its own, an HTTP client with the first key, and ways
to hurt it. Whatever a test does, when the block ends no process and no container of the instance is there.

A scaled server is the same with `PROCTOR_DATABASE_URL` and `PROCTOR_REDIS_URL` (see `tests.support.services`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil

ROOT = Path(__file__).resolve().parents[2]
KEY = "pk_journeys_0123456789"
EMAIL, PASSWORD = "ada@example.test", "correct-horse-battery"
T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: Callable[[], T], timeout_s: float = 30.0, *, every_s: float = 0.1, why: Callable[[], str] = str) -> T:
    """Waits for a true value and returns it. Fails with what `why` says."""
    give_up = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < give_up, f"nothing after {timeout_s:g} s {why()}"
        time.sleep(every_s)
    return found


class Server:
    """One instance; `start` and `stop` may be repeated on the same data folder."""

    def __init__(self, folder: Path, port: int, env: dict[str, str]) -> None:
        self.folder, self.port = folder, port
        first_boot = {"PROCTOR_API_KEY": KEY, "PROCTOR_ADMIN_EMAIL": EMAIL, "PROCTOR_ADMIN_PASSWORD": PASSWORD, "PROCTOR_SAMPLE": "0"}
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PROCTOR_", "DJANGO_"))}
        self.env = {**clean, **first_boot, **env, "PROCTOR_DATA": str(folder), "PROCTOR_PORT": str(port)}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {KEY}"}, timeout=30)
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "up.log").open("ab") as log:
            return subprocess.Popen([sys.executable, str(ROOT / "manage.py"), *arguments], env=self.env, cwd=ROOT, stdout=log, stderr=log, **more)

    def start(self) -> None:
        self.process = self.command("up", start_new_session=True)
        until(self.healthy, 60, every_s=0.05, why=self.log)

    def healthy(self) -> bool:
        assert self.process is None or self.process.poll() is None, f"it ended: {self.log()}"
        with contextlib.suppress(httpx.TransportError):
            return self.http.get("/healthz", timeout=5).json() == {"status": "ok"}
        return False

    def ready(self) -> bool:
        """A worker is up and has said which sandbox it has."""
        with contextlib.suppress(httpx.TransportError):
            return any(worker["sandbox"] for worker in self.get("/api/workers")["items"])
        return False

    def stop(self) -> float:
        """TERM; returns how many seconds it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(30)
        self.process = None
        return time.monotonic() - began

    def kill(self) -> None:
        """`kill -9` of the supervisor."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def close(self) -> None:
        tree = self.processes() if self.process is not None else []
        if self.process is not None:
            self.stop()
        for process in psutil.wait_procs(tree, 5)[1]:
            process.kill()
        self.http.close()

    # — its processes

    def processes(self) -> list[psutil.Process]:
        """The supervisor and everything below it."""
        assert self.process is not None
        supervisor = psutil.Process(self.process.pid)
        return [supervisor, *supervisor.children(recursive=True)]

    def child(self, name: str) -> psutil.Process:
        """`web`, or `worker` (Dramatiq's master)."""
        return until(lambda: self._find(name), 20, why=self.log)

    def _find(self, name: str) -> psutil.Process | None:
        assert self.process is not None
        for child in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.cmdline()[-1:] == [name]:
                    return child
        return None

    def worker_fork(self) -> psutil.Process:
        """The forked process that holds the rollouts."""
        return until(lambda: next(iter(self.child("worker").children()), None), 20, why=self.log)

    def log(self) -> str:
        path = self.folder / "up.log"
        return path.read_text(errors="replace")[-6000:] if path.exists() else ""

    # — its API

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        content = {} if body is None else {"content": body} if isinstance(body, bytes) else {"json": body}
        response = self.http.request(method, path, **content, **more)
        assert response.status_code < 300, f"{method} {path}: {response.status_code} {response.text[:2000]}"
        return response.json() if response.content else None

    def get(self, path: str) -> Any:
        return self.call("GET", path)

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return self.call("POST", path, body, **more)

    def upload(self, taskset: str, rows: Sequence[dict[str, Any]]) -> None:
        self.post("/v2/tasks/upload", {"taskset_name": taskset, "tasks": list(rows)})

    def counts(self, job_id: str) -> dict[str, int]:
        """Asked until it answers: the web process may just have been killed."""
        return until(lambda: self._counts(job_id), 30, why=self.log)

    def _counts(self, job_id: str) -> dict[str, int] | None:
        with contextlib.suppress(httpx.TransportError):
            counts: dict[str, int] = self.get(f"/api/jobs/{job_id}")["counts"]
            return counts
        return None

    def runs(self, job_id: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.get(f"/api/jobs/{job_id}/runs?limit=1000")["items"]
        return rows

    def wait_for(self, job_id: str, word: str, number: int, timeout_s: float = 60) -> dict[str, int]:
        """Until at least that many runs are counted so (`graded`, `running`, …)."""
        until(lambda: self.counts(job_id)[word] >= number, timeout_s, why=lambda: f"for {number} {word}: {self.counts(job_id)}\n{self.log()}")
        return self.counts(job_id)

    # — its database and engine

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """A read of the tables themselves, from outside."""
        if url := self.env.get("PROCTOR_DATABASE_URL"):
            import psycopg

            with psycopg.connect(url) as connection:
                return list(connection.execute(sql).fetchall())
        with contextlib.closing(sqlite3.connect(self.folder / "proctor.sqlite3", timeout=20)) as connection:
            return list(connection.execute(sql).fetchall())

    @property
    def instance(self) -> str:
        return self.env.get("PROCTOR_INSTANCE") or (self.folder / "instance-id").read_text().strip()

    def containers(self) -> list[str]:
        return docker("ps", "-aq", "--filter", f"label=proctor.instance={self.instance}")


def docker(*arguments: str) -> list[str]:
    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout.split()


def family(process: psutil.Process) -> list[psutil.Process]:
    """A process and everything below it; nothing when it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [*process.children(recursive=True), process]
    return []


def kill(*processes: psutil.Process) -> None:
    """`kill -9`, and wait until they are gone."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, 10)


def kill_group(process: psutil.Process) -> None:
    """`kill -9` of a whole process group."""
    os.killpg(process.pid, signal.SIGKILL)
    psutil.wait_procs([process], 10)


def alive(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


@contextlib.contextmanager
def running(folder: Path, port: int | None = None, **env: str) -> Iterator[Server]:
    """A started server; stopped, and its network and built images removed, when the block ends."""
    server = Server(folder, port or free_port(), env)
    try:
        server.start()
        yield server
    finally:
        server.close()
        if env.get("PROCTOR_SANDBOX") != "subprocess":
            remove_from_engine(server)


def remove_from_engine(server: Server) -> None:
    """What is the test's own to remove; a container left over is removed as well, after the test looked."""
    names = [name for row in server.query("SELECT image FROM environments_environmentversion") if (name := str(row[0] or "")).startswith("proctor-env:")]
    for arguments in (["rm", "-fv", *server.containers()], ["network", "rm", f"proctor-{server.instance}"], ["rmi", "-f", *names]):
        if len(arguments) > 2:
            subprocess.run(["docker", *arguments], check=False, capture_output=True)


def sample_rows(number: int, question: str = "What is {index} + 1?") -> list[dict[str, Any]]:
    """Rows for the shipped sample's environment, which alone may run without an engine; recorded answers in the column `says`."""
    return [
        {
            "name": f"row-{index:03}", "env": {"name": "gsm8k"}, "task_id": "solve", "args": {"question": question.format(index=index), "answer": str(index + 1)},
            "columns": {"says": f"A: {index + 1}"},
        }
        for index in range(number)
    ]  # fmt: skip


def replay_job(taskset: str, **more: Any) -> dict[str, Any]:
    return {"taskset": taskset, "agent": {"type": "replay", "config": {"column": "says"}}, **more}
