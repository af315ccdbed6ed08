"""axe finds nothing on any route, in either theme; the keyboard reaches what the mouse does."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.support.server import ROOT, Server, replay_job

pytestmark = [pytest.mark.browser, pytest.mark.server]
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def graded(server: Server) -> dict[str, str]:
    job = server.post("/api/jobs", replay_job("slow-sums", slugs=["row-001", "row-002"]))
    server.wait_for(job["id"], "graded", 2)
    return {"job": job["id"], "run": server.runs(job["id"])[0]["id"]}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_clean_on_every_route(page: Page, graded: dict[str, str], theme: str) -> None:
    routes = [
        "/", "/jobs", "/tasksets", "/tasksets/slow-sums", "/tasksets/slow-sums/versions", "/environments", "/environments/gsm8k", "/models", "/settings/api-keys", "/settings/shares",
        "/jobs/new?taskset=slow-sums", f"/jobs/{graded['job']}", f"/jobs/{graded['job']}/runs", f"/jobs/{graded['job']}/setup", f"/trace/{graded['run']}", "/nowhere",
    ]  # fmt: skip
    page.emulate_media(color_scheme=theme)
    found = {route: problems for route in routes if (problems := axe(page, route))}
    assert not found


def axe(page: Page, route: str) -> list[str]:
    visit(page, route)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text())
    result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
    return [f"{problem['id']}: {problem['nodes'][0]['html'][:200]}" for problem in result["violations"]]


def test_one_gets_around_by_keyboard_alone(page: Page, graded: dict[str, str]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasksets")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type(graded["run"])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(graded["run"]))


