"""The curves: P1–P5 and P22 at 1,000, 10,000 and 100,000 tasks; P3–P5 at the 1st, 10th and 100th version; the diff of two large versions.

The goals speak of 10,000 tasks. Work on a whole set may take in proportion to it above that, and as long as there below; what is not
work on the whole set (first byte, unchanged) has one goal for all sizes. All on PostgreSQL.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import common

from bench import p01_upload, p02_fetch, p04_unchanged, p22_peak
from bench.floor import copy_floor_s, copy_k, read_floor_s, read_k
from bench.lines import Line, line
from bench.support import Bench, Client, Proctor, ensure_taskset, rows

DB = "postgres"
SIZES = {1_000: 9, 10_000: 5, 100_000: 3}
"""Tasks, and how often it is measured."""
VERSIONS = (1, 10, 100)


def measure(bench: Bench) -> Iterator[Line]:
    server = bench.server(DB)
    for tasks, repeat in SIZES.items():
        at = f"{tasks:,} tasks"
        for measured in (*uploads(server, tasks, repeat), *fetches(server, tasks, repeat), revisions(server, tasks, repeat), peak(bench, tasks)):
            yield replace(measured, at=at)
    yield from by_version(server)
    yield from differences(server)


def share(tasks: int) -> float:
    return max(1.0, tasks / 10_000)


def uploads(server: Proctor, tasks: int, repeat: int) -> Iterator[Line]:
    values = p01_upload.upload_times(server, tasks, repeat)
    yield line("P1", "upload, SDK to stored version", db=DB, values=values, unit="s", must=1.6 * share(tasks), floor_values=copy_floor_s(), k=copy_k())


def fetches(server: Proctor, tasks: int, repeat: int) -> Iterator[Line]:
    name, read = ensure_taskset(server, tasks), {"floor_values": read_floor_s(), "k": read_k()}
    yield replace(p02_fetch.through_sdk(server, DB, name, tasks, repeat), what="fetch by name through the SDK; must: 1.15x the same bytes, static")
    whole = [p02_fetch.fetch(server, name) for _ in range(repeat + 1)][1:]
    yield line("P2", "fetch by name on the wire", db=DB, values=[one["total_s"] for one in whole], unit="s", must=0.23 * share(tasks), **read)
    yield line("P3", "first byte of a fetch by name", db=DB, values=[one["first_s"] * 1000 for one in whole], unit="ms", must=50, **read)
    yield unchanged(server, name, repeat)


def unchanged(server: Proctor, name: str, repeat: int) -> Line:
    client = server.client()
    path = f"/v2/tasksets/{client.get(f'/v2/tasksets/by-name/{name}')['taskset_id']}/export"
    tag = p04_unchanged.etag(client, path)
    values = [p04_unchanged.unchanged(server.port, path, tag) for _ in range(repeat)]
    return line("P4", "fetch of an unchanged version", db=DB, values=values, unit="ms", must=10, floor_values=read_floor_s(), k=read_k())


def revisions(server: Proctor, tasks: int, repeat: int) -> Line:
    client, name = server.client(), fresh_set(server, tasks)
    values = [revise(client, name, tasks // 100, revision) for revision in range(1, repeat + 1)]
    return line("P5", "new version, 1 % changed", db=DB, values=values, unit="s", must=0.5 * share(tasks), floor_values=copy_floor_s(), k=copy_k())


def peak(bench: Bench, tasks: int) -> Line:
    body = json.dumps({"taskset_name": "peak", "tasks": rows(tasks)}).encode()
    grown = p22_peak.growth_mb(bench, lambda server: p22_peak.upload_and_fetch(server, body)) - 3 * len(body) / 1e6
    return line("P22", "web process over idle, upload in one request and fetch, less 3x the body", db=DB, values=[grown], unit="MB", must=100)


def by_version(server: Proctor) -> Iterator[Line]:
    """A set of 10,000 tasks: 100 are changed for each version."""
    client, name = server.client(), fresh_set(server, 10_000)
    took: list[float] = []
    for version in VERSIONS:
        while len(took) < version:
            took.append(revise(client, name, 100, len(took) + 1))
        fetched = [p02_fetch.fetch(server, name)["first_s"] * 1000 for _ in range(6)][1:]
        lines = [
            line("P3", "first byte of a fetch by name", db=DB, values=fetched, unit="ms", must=50, floor_values=read_floor_s(), k=read_k()),
            unchanged(server, name, 5),
            line("P5", "new version, 1 % changed", db=DB, values=took[-3:], unit="s", must=0.5, floor_values=copy_floor_s(), k=copy_k()),
        ]
        yield from (replace(measured, at=f"version {version}") for measured in lines)


def differences(server: Proctor) -> Iterator[Line]:
    """Two versions of 100,000 tasks with 1 % changed: the first page, and all pages."""
    client, name = server.client(), fresh_set(server, 100_000)
    revise(client, name, 1_000, 1)
    first = [seconds(lambda: pages(client, name, 1)) * 1000 for _ in range(6)][1:]
    whole = [seconds(lambda: pages(client, name, None)) for _ in range(4)][1:]
    yield replace(line("P5", "first page of a diff, 1 % changed", db=DB, values=first, unit="ms", must=200), at="100,000 tasks")
    yield replace(line("P5", "whole diff, 1 % changed", db=DB, values=whole, unit="s", must=1), at="100,000 tasks")


def pages(client: Client, name: str, most: int | None) -> None:
    path, cursor, seen = f"/api/tasksets/{name}/diff?from=1&to=2", "", 0
    while cursor is not None and (most is None or seen < most):
        page = client.get(path + (f"&limit=1000&cursor={cursor}" if most is None and cursor else "&limit=1000" if most is None else "&limit=100"))
        cursor, seen = page["next_cursor"], seen + 1
    if page["counts"]["changed"] != 1_000:
        raise RuntimeError(f"{page['counts']} instead of 1,000 changed")


def fresh_set(server: Proctor, tasks: int) -> str:
    name = f"curve-{uuid.uuid4().hex[:8]}"
    server.client().post("/v2/tasks/upload", {"taskset_name": name, "tasks": rows(tasks)})
    return name


def revise(client: Client, name: str, changed: int, revision: int) -> float:
    """Seconds until a version with the first `changed` tasks changed is stored."""
    sent: list[dict[str, Any]] = [{**row, "args": common.example(i, rev=revision)} for i, row in enumerate(rows(changed))]
    body = json.dumps({"taskset_name": name, "tasks": sent}).encode()
    return seconds(lambda: client.post("/v2/tasks/upload", body))


def seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
