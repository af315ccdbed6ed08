"""PostgreSQL and Redis for tests: those of `PROCTOR_TEST_POSTGRES` and `PROCTOR_TEST_REDIS` (CI starts them once), else our own on free ports.

Every caller gets a database of its own and a Redis database number of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.server import free_port, until

_numbers = itertools.count(1)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of a cluster, with a user who may create databases."""
    if given := os.environ.get("PROCTOR_TEST_POSTGRES"):
        yield given
        return
    folder, port, programs = Path(tempfile.mkdtemp(prefix="proctor-pg-")), free_port(), postgres_programs()
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres", "postgres")
    subprocess.run([*as_user, programs / "initdb", "-D", folder / "data", "-U", "proctor", "-A", "trust", "-N"], check=True, capture_output=True, cwd=folder)
    options = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}", "-c", "max_connections=200"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([*as_user, programs / "postgres", "-D", folder / "data", "-p", str(port), *options], stdout=log, stderr=log, cwd=folder)
    try:
        until(lambda: subprocess.run([programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], check=False).returncode == 0, 30)
        yield f"postgres://proctor@127.0.0.1:{port}/postgres"
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def postgres_programs() -> Path:
    """The newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    postgres = shutil.which("postgres")
    assert found or postgres, "install postgresql, or set PROCTOR_TEST_POSTGRES"
    return found[-1] if found else Path(str(postgres)).parent


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """The URL of a server, without a database number."""
    if given := os.environ.get("PROCTOR_TEST_REDIS"):
        yield given.rstrip("/")
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="proctor-redis-") as folder:
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder, "--databases", "64"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            until(lambda: subprocess.run(["redis-cli", "-p", str(port), "ping"], check=False, capture_output=True).stdout.strip() == b"PONG", 20)
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


@contextlib.contextmanager
def scaled_settings(postgres_url: str, redis_url: str) -> Iterator[dict[str, str]]:
    """Settings of one scaled instance, on a database of its own that is dropped at the end."""
    import psycopg

    name = f"proctor_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield {"PROCTOR_DATABASE_URL": urlsplit(postgres_url)._replace(path=f"/{name}").geturl(), "PROCTOR_REDIS_URL": f"{redis_url}/{next(_numbers)}"}
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
