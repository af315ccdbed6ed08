"""An environment's page: its versions with their logs, live; variables whose values never come back; open sessions. Without an engine here:
`tests/peers/test_deploy.py` and `test_runtime_tunnel.py` have real builds and sandboxes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import axe
from tests.support.server import Server, until

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def letters(server: Server) -> Iterator[str]:
    environment = server.post("/api/environments", {"name": "Letters", "image": "letters:1"})
    until(lambda: server.get(f"/api/environments/{environment['id']}")["latest"]["status"] == "failed", 60, why=server.log)
    yield f"/environments/{environment['id']}"


def test_a_failed_version_says_why_and_its_log_ends_so(page: Page, letters: str) -> None:
    visit(page, letters)
    expect(page.get_by_role("alert")).to_contain_text("Environments need a Docker engine")
    expect(page.get_by_role("log")).to_contain_text("Environments need a Docker engine")
    expect(page.get_by_role("button", name="Cancel build")).to_have_count(0)


def test_a_new_version_is_followed_on_the_page_without_a_reload(page: Page, letters: str, server: Server) -> None:
    before = server.get("/api/environments/letters")["version_count"]
    visit(page, letters)
    page.get_by_role("button", name="New version").click()
    page.get_by_role("dialog").get_by_label("Image", exact=True).fill("letters:2")
    page.keyboard.press("Enter")
    versions = page.get_by_role("navigation", name="Versions")
    expect(versions.get_by_role("link", name=re.compile(rf"v{before + 1}\s.*failed"))).to_be_visible()
    expect(page.get_by_role("region", name=f"Version {before + 1}")).to_contain_text("never, it failed")
    expect(page.get_by_role("log")).to_contain_text("Environments need a Docker engine")


def test_a_variable_is_set_replaced_and_removed_and_its_value_never_shown(page: Page, letters: str, server: Server) -> None:
    visit(page, f"{letters}/variables")
    page.get_by_role("button", name="Set variable").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("API_TOKEN")
    dialog.get_by_label("Value").fill("very-secret-value")
    dialog.get_by_role("button", name="Set variable").click()
    expect(page.get_by_role("button", name="Replace API_TOKEN")).to_be_visible()
    assert "very-secret-value" not in page.content() and "very-secret-value" not in str(server.get("/api/environments/letters/variables"))
    page.get_by_role("button", name="Replace API_TOKEN").click()
    expect(dialog.get_by_label("Value")).to_have_value("")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove API_TOKEN").click()
    dialog.get_by_role("button", name="Remove API_TOKEN").click()
    expect(page.get_by_text("No variable yet")).to_be_visible()


def test_a_bad_name_is_refused_where_it_was_typed(page: Page, letters: str) -> None:
    visit(page, f"{letters}/variables")
    page.get_by_role("button", name="Set variable").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("1-bad")
    dialog.get_by_role("button", name="Set variable").click()
    assert dialog.get_by_label("Name").evaluate("input => !input.checkValidity()")


def test_the_sessions_tab_says_how_one_is_opened(page: Page, letters: str) -> None:
    visit(page, f"{letters}/sessions")
    expect(page.get_by_text("No session is open")).to_be_visible()
    expect(page.get_by_role("navigation", name="Environment").get_by_role("link", name="Sessions")).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("tab", ["", "/variables", "/sessions"])
def test_axe_is_clean_on_every_tab(page: Page, letters: str, tab: str) -> None:
    assert axe(page, f"{letters}{tab}") == []
