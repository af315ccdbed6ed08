"""PS: the page's table at 100,000 tasks in Chromium: to open it, to jump in it, frames over 50 ms while it scrolls for 5 s, nodes drawn.

Needs the built page and a Chromium (`PROCTOR_CHROMIUM`, /usr/bin/chromium unless given).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.floor import read_floor_s, read_k
from bench.lines import Line, line
from bench.p_table import JUMP_MS, OPEN_MS, tasks
from bench.support import KEY, Bench, Proctor

TASKS, PLACES, FRAME_MS, MOST_NODES = 100_000, (0.5, 0.9, 0.1, 0.7, 0.3), 50, 3_000
SCROLL = """async () => {
  const box = document.querySelector(".grid-table"), frames = [], began = performance.now()
  box.scrollTop = 0
  let last = began, nodes = 0
  await new Promise(done => {
    const next = () => {
      const now = performance.now()
      frames.push(now - last)
      last = now
      box.scrollTop += 120
      if (frames.length % 20 == 0) nodes = Math.max(nodes, document.querySelectorAll("*").length)
      if (now - began > 5000) done(); else requestAnimationFrame(next)
    }
    requestAnimationFrame(next)
  })
  return { frames, nodes }
}"""
JUMP = """async place => {
  const box = document.querySelector(".grid-table"), began = performance.now()
  box.scrollTop = (box.scrollHeight - box.clientHeight) * place
  await new Promise((done, fail) => {
    const look = () => {
      const edge = box.getBoundingClientRect()
      const seen = [...box.querySelectorAll("tbody tr[data-index]")].filter(row => { const at = row.getBoundingClientRect(); return at.bottom > edge.top + 30 && at.top < edge.bottom })
      const first = Math.floor(box.scrollTop / box.querySelector("tbody tr[data-index]").offsetHeight)
      if (seen.length > 5 && seen.every(row => row.querySelector("a.stretch")) && Math.abs(+seen[0].dataset.index - first) < 3) done()
      else if (performance.now() - began > 20000) fail(new Error("rows did not come")); else requestAnimationFrame(look)
    }
    look()
  })
  return performance.now() - began
}"""


def measure(bench: Bench) -> Iterator[Line]:
    server = bench.server("postgres")
    client = server.client()
    client.post("/v2/tasks/upload", {"taskset_name": "scrolled", "tasks": tasks(TASKS)})
    client.get("/api/tasksets/scrolled/facets")
    with _page(server) as page:
        opened = [_open(page) for _ in range(5)]
        jumped = [page.evaluate(JUMP, place) for place in PLACES]
        scrolled = page.evaluate(SCROLL)
    floor: dict[str, Any] = {"floor_values": read_floor_s(), "k": read_k()}
    slow = sum(frame > FRAME_MS for frame in scrolled["frames"])
    yield line("PS", "page: table of 100,000 tasks, from click to rows", db="postgres", values=opened, unit="ms", must=OPEN_MS, **floor)
    yield line("PS", "page: jump anywhere in it", db="postgres", values=jumped, unit="ms", must=JUMP_MS, **floor)
    yield line(
        "PS",
        "page: share of frames within 50 ms while it scrolls for 5 s",
        db="postgres",
        values=[1 - slow / len(scrolled["frames"])],
        unit="share",
        must=1,
        more_is_better=True,
    )
    yield line("PS", "page: nodes drawn while it scrolls", db="postgres", values=[scrolled["nodes"]], unit="nodes", must=MOST_NODES)


def _open(page: Any) -> float:
    """From the click in the list of tasksets to the first rows."""
    page.goto("/tasksets")
    link = page.get_by_role("link", name="scrolled").first
    link.hover()
    began = time.perf_counter()
    link.click()
    page.wait_for_selector(".grid-table a.stretch")
    return (time.perf_counter() - began) * 1000


@contextmanager
def _page(server: Proctor) -> Iterator[Any]:
    """Signed in by key: the page's own calls carry it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("PROCTOR_CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(
            base_url=server.url, viewport={"width": 1440, "height": 900}, extra_http_headers={"Authorization": f"Bearer {KEY}"}
        )
        page = context.new_page()
        yield page
        browser.close()
