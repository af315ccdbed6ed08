"""Imports under violence: the connection cut at any byte, `kill -9` of the worker in the middle of a check and of the web process in the
middle of a commit. Each is gone on with, nothing is half loaded, nothing is left behind."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import httpx
import pytest

from tests.support.server import KEY, Server, family, kill, until

pytestmark = pytest.mark.server
ROWS = 60_000
PART = 8 * 1024**2


@pytest.fixture(scope="module")
def rows() -> bytes:
    return b"slug,q,data\n" + b"".join(b't%d,%s,"{""n"": 1.10}"\n' % (number, b"word " * 20) for number in range(ROWS))


def begin(server: Server, body: bytes, name: str) -> str:
    upload = server.post("/api/uploads", {"filename": f"{name}.csv", "size_bytes": len(body)})["id"]
    for offset in range(0, len(body), PART):
        server.call("PUT", f"/api/uploads/{upload}?offset={offset}", body[offset : offset + PART])
    found = server.post("/api/imports", {"upload_id": upload, "name": name})
    mapping = {**found["guess"], "env": {"column": None, "constant": "zoo"}}
    server.call("PUT", f"/api/imports/{found['id']}/mapping", mapping)
    return str(found["id"])


def seen(server: Server, import_id: str) -> dict[str, Any]:
    """Asked until it answers: the web process may just have been killed."""

    def ask() -> dict[str, Any] | None:
        with contextlib.suppress(httpx.TransportError):
            return dict(server.get(f"/api/imports/{import_id}?preview=0"))
        return None

    return until(ask, 30, why=server.log)


def wait_for(server: Server, import_id: str, *statuses: str, timeout_s: float = 90) -> dict[str, Any]:
    until(lambda: seen(server, import_id)["status"] in statuses, timeout_s, why=lambda: f"{seen(server, import_id)}\n{server.log()}")
    return seen(server, import_id)


def in_the_middle(server: Server, import_id: str, status: str, over: str) -> None:
    """Until it is at work and has told of some progress."""

    def is_there() -> bool:
        found = seen(server, import_id)
        assert found["status"] != over, "it was over before the kill"
        return found["status"] == status and bool(0 < found["progress"] < 1)

    until(is_there, 60, every_s=0.02, why=server.log)


def cut(server: Server, path: str, body: bytes, sent: int) -> None:
    """A PUT that announces the whole body and breaks off after some of it."""
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(head.encode() + body[:sent])


@pytest.mark.parametrize("sent", [0, 1, 4_999, 9_999])
def test_an_upload_whose_connection_breaks_at_any_byte_goes_on_and_is_whole(server: Server, sent: int) -> None:
    body = b"slug,q\n" + b"".join(b"t%d,%d\n" % (number, number) for number in range(1000))[: 10_000 - 7]
    upload = server.post("/api/uploads", {"filename": "cut.csv", "size_bytes": len(body)})["id"]
    cut(server, f"/api/uploads/{upload}?offset=0", body, sent)
    there = server.get(f"/api/uploads/{upload}")["received_bytes"]
    assert there == 0
    server.call("PUT", f"/api/uploads/{upload}?offset={there}", body[there:])
    found = server.post("/api/imports", {"upload_id": upload, "name": "cut"})
    assert (found["status"], found["columns"]) == ("ready", ["slug", "q"])
    server.post(f"/api/imports/{found['id']}/cancel")


def test_a_check_whose_worker_is_killed_is_finished_by_the_next(server: Server, rows: bytes) -> None:
    import_id = begin(server, rows, "killed in check")
    in_the_middle(server, import_id, "checking", over="checked")
    kill(*family(server.child("worker")))
    checked = wait_for(server, import_id, "checked", "failed", timeout_s=150)
    assert (checked["status"], checked["rows_good"], checked["errors_total"]) == ("checked", ROWS, 0), checked
    server.post(f"/api/imports/{import_id}/cancel")


def test_a_commit_whose_process_is_killed_stores_nothing_and_can_be_asked_for_again(server: Server, rows: bytes) -> None:
    import_id = begin(server, rows, "killed in commit")
    wait_for(server, import_id, "checked")
    commit = threading.Thread(target=ask_for_commit, args=(server, import_id))
    commit.start()
    in_the_middle(server, import_id, "committing", over="done")
    kill(*family(server.child("web")))
    commit.join()
    assert seen(server, import_id)["status"] in ("committing", "checked")
    assert server.http.get("/api/tasksets/killed-in-commit").status_code == 404
    wait_for(server, import_id, "checked", timeout_s=100)
    done = server.post(f"/api/imports/{import_id}/commit", {"mode": "create"}, timeout=120)
    assert (done["tasks_created"], done["version"]["number"]) == (ROWS, 1)
    assert server.post(f"/api/imports/{import_id}/commit", {"mode": "create"}) == done
    assert server.query("SELECT count(*) FROM tasksets_upload") == [(0,)]


def ask_for_commit(server: Server, import_id: str) -> None:
    """In a connection of its own, which the kill breaks."""
    with contextlib.suppress(httpx.TransportError):
        httpx.post(f"{server.http.base_url}/api/imports/{import_id}/commit", headers=server.http.headers, json={"mode": "create"}, timeout=120)
