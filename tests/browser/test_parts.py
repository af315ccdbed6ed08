"""What the page says of parts and gaps: a job that ran some tasks of a version, an environment that is missing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.support.server import Server, replay_job, sample_rows, until

pytestmark = [pytest.mark.browser, pytest.mark.server]


def test_a_job_of_some_tasks_says_of_how_many(page: Page, server: Server) -> None:
    server.upload("Ten sums", sample_rows(10))
    until(lambda: any(one["ready"] for one in server.get("/api/environments")["items"]), 60, why=server.log)
    job = server.post("/api/jobs", replay_job("ten-sums", slugs=["row-001", "row-004"]))
    visit(page, f"/jobs/{job['id']}")
    expect(page.get_by_text("ten-sums@1, 2 of 10 tasks")).to_be_visible()
    page.get_by_role("tab", name="Setup").or_(page.get_by_role("link", name="Setup")).first.click()
    expect(page.get_by_text("2 of 10 tasks", exact=True)).to_be_visible()


def test_a_taskset_names_its_environments_with_deployed_or_missing(page: Page, server: Server) -> None:
    server.upload("Mixed", [*sample_rows(1), {"name": "lost", "env": {"name": "nowhere"}, "task_id": "run"}])
    until(lambda: any(one["ready"] for one in server.get("/api/environments")["items"]), 60, why=server.log)
    visit(page, "/tasksets/mixed")
    expect(page.get_by_role("link", name="gsm8k deployed")).to_be_visible()
    expect(page.get_by_role("link", name="nowhere missing")).to_be_visible()
