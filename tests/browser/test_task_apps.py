"""Task Apps on the page: register one, see each endpoint, validate, pull, run; keys of a taskset. axe is clean in both themes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import AXE
from tests.support.fake_task_app import KEY, FakeTaskApp, Says, fake_task_app
from tests.support.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def peer() -> Iterator[FakeTaskApp]:
    with fake_task_app() as app:
        yield app


def clean(page: Page, name: str) -> None:
    """axe finds nothing, in both themes."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.wait_for_timeout(400)  # colours change gradually
        page.evaluate(AXE.read_text())
        result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
        assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]] == [], f"{name}, {theme}"


def test_an_app_is_registered_watched_validated_pulled_and_run(page: Page, server: Server, peer: FakeTaskApp) -> None:
    visit(page, "/environments")
    page.get_by_role("button", name="Add environment").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Task App").click()
    dialog.get_by_label("Name").fill("counting")
    dialog.get_by_label("Address").fill(peer.url)
    dialog.get_by_label("Key").fill(KEY)
    clean(page, "register")
    dialog.get_by_role("button", name="Add environment").click()

    endpoints = page.get_by_role("region", name="Endpoints")
    expect(endpoints.get_by_text("5 of 5 answer")).to_be_visible()
    page.get_by_role("button", name="Validate").click()
    expect(page.get_by_role("list", name="Findings").get_by_text("damage").first).to_be_visible()
    clean(page, "environment")

    page.get_by_role("button", name="Pull tasks").click()
    dialog.get_by_label("How many").fill("3")
    clean(page, "pull")
    dialog.get_by_role("button", name="Pull tasks").click()
    expect(page.get_by_role("heading", name="3 tasks pulled")).to_be_visible()
    dialog.get_by_role("link", name="Open counting").click()
    expect(page).to_have_url(re.compile("/tasksets/"))

    visit(page, "/jobs/new?taskset=counting")
    page.get_by_role("button", name="Task App").click()
    page.get_by_label("Policy, as JSON").fill('{"model": "mock-1", "api_key": "sk-of-the-page"}')
    clean(page, "new-job")
    page.get_by_role("button", name="Start 3 runs").click()
    page.wait_for_url(re.compile("/jobs/[0-9a-f-]{36}"))
    job = page.url.rpartition("/")[2]
    server.wait_for(job, "graded", 3)
    visit(page, f"/trace/{server.runs(job)[0]['id']}")
    expect(page.get_by_text("add").first).to_be_visible()
    clean(page, "trace")
    visit(page, f"/jobs/{job}/setup")
    expect(page.get_by_text("[secret]").first).to_be_visible()
    assert "sk-of-the-page" not in page.content()


def test_an_endpoint_that_fails_turns_red_with_its_cause(page: Page, server: Server, peer: FakeTaskApp) -> None:
    server.post("/api/task-apps", {"name": "ailing", "url": peer.url, "api_key": KEY})
    visit(page, "/environments/ailing")
    expect(page.get_by_text("5 of 5 answer")).to_be_visible()
    peer.replies["GET /info"] = Says({"detail": "<script>alert(1)</script> is down"}, 503)
    page.get_by_role("button", name="Ask now").click()
    expect(page.get_by_text("4 of 5 answer")).to_be_visible()
    expect(page.get_by_role("region", name="Endpoints").get_by_text("server error")).to_be_visible()
    expect(page.get_by_text("<script>alert(1)</script> is down")).to_be_visible()
    clean(page, "ailing")


def test_keys_of_a_taskset_are_made_and_revoked(page: Page, server: Server) -> None:
    visit(page, "/tasksets/slow-sums/settings")
    section = page.get_by_role("region", name="Task App", exact=True)
    section.get_by_role("button", name="Make key").click()
    page.get_by_role("dialog").get_by_label("Name").fill("trainer")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copy the secret now")).to_be_visible()
    clean(page, "key-made")
    page.get_by_role("button", name="I have copied it").click()
    section.get_by_role("button", name="Revoke trainer").click()
    page.get_by_role("button", name="Revoke trainer").last.click()
    expect(section.get_by_text("revoked")).to_be_visible()
    clean(page, "keys")
