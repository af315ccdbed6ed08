"""P4: the second fetch of an unchanged version, by its ETag: 304 without a body."""

from __future__ import annotations

from collections.abc import Iterator

import common

from bench.floor import read_floor_s, read_k
from bench.lines import Line, line
from bench.support import KEY, Bench, ensure_taskset

REPEAT = 21


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        server = bench.server(db)
        name = ensure_taskset(server, 10_000)
        client = server.client()
        path = f"/v2/tasksets/{client.get(f'/v2/tasksets/by-name/{name}')['taskset_id']}/export"
        values = [unchanged(server.port, path, etag(client, path)) for _ in range(REPEAT)]
        what = "second fetch of an unchanged version of 10,000 tasks, by its ETag"
        yield line("P4", what, db=db, values=values, unit="ms", must=10, floor_values=[s * 1000 for s in read_floor_s()], k=read_k())


def etag(client, path: str) -> str:
    client.connection.request("HEAD", path, headers=client.headers)
    reply = client.connection.getresponse()
    reply.read()
    return reply.headers["ETag"]


def unchanged(port: int, path: str, tag: str) -> float:
    got = common.timed_get(port, path, headers={"Authorization": f"Bearer {KEY}", "If-None-Match": tag})
    if got["status"] != 304 or got["bytes"]:
        raise RuntimeError(f"{got['status']} with {got['bytes']} bytes instead of 304")
    return got["total"] * 1000
