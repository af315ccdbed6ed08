"""P2: 10,000 tasks by name, through the real SDK beside a static byte server, and on the wire beside raw SQL + orjson."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.floor import read_floor_s, read_k
from bench.lines import Line, line
from bench.support import KEY, ROOT, Bench, Proctor, ensure_taskset, run_hud

TASKS, REPEAT = 10_000, 21
KEPT_HEADERS = ("content-type", "content-encoding", "etag", "vary", "cache-control")


def measure(bench: Bench) -> Iterator[Line]:
    for db in ("postgres", "sqlite"):
        server = bench.server(db)
        name = ensure_taskset(server, TASKS)
        yield through_sdk(server, db, name)
        yield on_the_wire(server, db, name)


def through_sdk(server: Proctor, db: str, name: str, tasks: int = TASKS, repeat: int = REPEAT) -> Line:
    with static_copy(server, name) as floor_url:
        seconds = run_hud(
            "sdk_fetch.py", {"urls": {"floor": floor_url, "product": server.url}, "name": name, "repeat": repeat, "tasks": tasks}
        )
    floor = statistics.median(seconds["floor"])
    what = "fetch of 10,000 tasks by name through the SDK; must: 1.15x the same call against a static byte server"
    return line("P2", what, db=db, values=seconds["product"], unit="s", must=1.15 * floor, floor_values=seconds["floor"])


def on_the_wire(server: Proctor, db: str, name: str) -> Line:
    fetch(server, name)
    values = [fetch(server, name)["total_s"] for _ in range(REPEAT)]
    what = "fetch of 10,000 tasks by name on the wire, uncompressed, both requests"
    return line("P2", what, db=db, values=values, unit="s", must=0.23, floor_values=read_floor_s(), k=read_k())


def fetch(server: Proctor, name: str) -> dict[str, float]:
    """Both requests of a fetch on one connection: seconds to the first byte of the tasks and to the last."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    headers = {"Authorization": f"Bearer {KEY}"}
    started = time.perf_counter()
    connection.request("GET", f"/v2/tasksets/by-name/{name}", headers=headers)
    taskset_id = json.loads(connection.getresponse().read())["taskset_id"]
    connection.request("GET", f"/v2/tasksets/{taskset_id}/export", headers=headers)
    reply = connection.getresponse()
    reply.read(1)
    first = time.perf_counter()
    while reply.read(1 << 20):
        pass
    ended = time.perf_counter()
    connection.close()
    if reply.status != 200:
        raise RuntimeError(f"the export answered {reply.status}")
    return {"first_s": first - started, "total_s": ended - started}


@contextlib.contextmanager
def static_copy(server: Proctor, name: str) -> Iterator[str]:
    """A static server with the product's own replies to the SDK's two requests."""
    by_name = f"/v2/tasksets/by-name/{name}"
    taskset_id = server.client().get(by_name)["taskset_id"]
    known = {path: record(server.port, path) for path in (by_name, f"/v2/tasksets/{taskset_id}/export")}
    with tempfile.TemporaryDirectory(prefix="bench-static-") as folder:
        file = Path(folder) / "replies.json"
        file.write_text(json.dumps(known))
        process = subprocess.Popen([sys.executable, "-m", "bench.static_server", str(file)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()
            process.wait()


def record(port: int, path: str) -> tuple[dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path, headers={"Authorization": f"Bearer {KEY}", "Accept-Encoding": "gzip, deflate"})
    reply = connection.getresponse()
    headers = {key.lower(): value for key, value in reply.getheaders() if key.lower() in KEPT_HEADERS}
    return headers, base64.b64encode(reply.read()).decode()
