"""Two real instances: a set goes from one to the other by reference, with its digest; the key stays in the hand of who asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.server import Server, running, until

pytestmark = pytest.mark.server
COUNT = 5_000
BIG = "123456789012345678901234567890"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("here"), PROCTOR_SANDBOX="subprocess") as server:
        yield server


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("there"), PROCTOR_SANDBOX="subprocess") as server:
        rows = (f'{{"name":"t{index}","env":{{"name":"e"}},"task_id":"x","args":{{"n":{index}.10,"big":{BIG}}}}}' for index in range(COUNT))
        digits = f'{{"taskset_name":"Zoo","tasks":[{",".join(rows)}]}}'
        server.post("/v2/tasks/upload", digits.encode())
        server.upload("Zoo", [{"name": "later", "env": {"name": "e"}, "task_id": "x"}])
        yield server


def pull(here: Server, there: Server, key: str, **more: Any) -> httpx.Response:
    return here.http.post("/api/tasksets/pull", json={"url": f"http://127.0.0.1:{there.port}", "key": key, **more}, timeout=120)


def test_a_version_is_pulled_to_an_equal_digest_and_downloads_as_the_same_bytes(here: Server, there: Server) -> None:
    secret = there.post("/api/keys", {"name": "for pulling", "scopes": ["read"]})["secret"]
    done = pull(here, there, secret, reference="zoo@1")
    assert done.status_code == 200, done.text
    version = done.json()["version"]
    assert version["digest"] == there.get("/api/tasksets/zoo/versions/1")["digest"] and version["task_count"] == COUNT
    path = "/api/tasksets/zoo@1/download?format=jsonl"
    assert here.http.get(path).content == there.http.get(path).content
    newest = pull(here, there, secret, reference="zoo", name="zoo").json()
    assert (newest["version"]["number"], newest["tasks_created"], newest["tasks_unchanged"]) == (2, 1, COUNT)
    assert newest["version"]["digest"] == there.get("/api/tasksets/zoo")["head"]["digest"]
    kept = b"".join(file.read_bytes() for file in here.folder.rglob("*") if file.is_file() and file.name != "first-boot.txt")
    assert secret.encode() not in kept and b"Pulled zoo@1" in kept


def test_a_wrong_key_and_an_unknown_version_are_told_apart(here: Server, there: Server) -> None:
    refused = pull(here, there, "pk_wrong_wrong_wrong_wrong", reference="zoo", name="x")
    assert refused.status_code == 502 and "did not accept the key" in refused.json()["detail"]
    secret = there.post("/api/keys", {"name": "again", "scopes": ["read"]})["secret"]
    unknown = pull(here, there, secret, reference="zoo@99", name="x")
    assert unknown.status_code == 502 and "no such taskset or version" in unknown.json()["detail"]
    assert here.http.get("/api/tasksets/x").status_code == 404


@pytest.mark.parametrize("name", ["json", "csv", "parquet", "zip"])
def test_every_format_is_a_stream_of_the_real_server_that_it_takes_back(here: Server, there: Server, name: str) -> None:
    with there.http.stream("GET", f"/api/tasksets/zoo/download?format={name}") as reply:
        assert reply.headers["transfer-encoding"] == "chunked" and reply.headers["proctor-task-count"] == str(COUNT + 1)
        body = reply.read()
    upload = here.post("/api/uploads", {"filename": f"zoo.{name}", "size_bytes": len(body)})
    sent = here.http.put(f"/api/uploads/{upload['id']}?offset=0", content=body, timeout=60)
    assert sent.json() == {"received_bytes": len(body)}
    found = here.post("/api/imports", {"upload_id": upload["id"], "name": f"from {name}"}, timeout=60)
    here.call("PUT", f"/api/imports/{found['id']}/mapping", found["guess"], timeout=60)
    until(lambda: here.get(f"/api/imports/{found['id']}?preview=0")["status"] == "checked", 60, why=lambda: json.dumps(here.get(f"/api/imports/{found['id']}?preview=0")))
    done = here.post(f"/api/imports/{found['id']}/commit", {"mode": "create"}, timeout=120)
    assert done["version"]["digest"] == reply.headers["proctor-digest"]


def test_a_download_that_breaks_in_the_middle_does_not_look_whole(there: Server) -> None:
    rows = [{"name": f"t{index}", "env": {"name": "e"}, "task_id": "x", "args": {"text": f"{index} " * 400}} for index in range(20_000)]
    there.upload("Fragile", rows)
    with there.http.stream("GET", "/api/tasksets/fragile/download?format=jsonl", timeout=60) as reply:
        pieces = reply.iter_raw()
        next(pieces)
        there.call("PATCH", "/api/tasksets/fragile", {"archived": True})
        there.post("/api/tasksets/fragile/purge", {"confirm": "fragile"}, timeout=60)
        with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
            for _piece in pieces:
                pass
    assert there.http.get("/api/tasksets/fragile/download").status_code == 410
