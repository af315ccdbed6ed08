"""A taskset is edited, committed, compared, restored and tagged in a real browser without a mouse; axe finds nothing on the way."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import axe
from tests.support.server import Server, sample_rows

pytestmark = [pytest.mark.browser, pytest.mark.server]
EXACT = '{"z": 1.10, "big": 12345678901234567890, "e": 1e5, "text": "old"}'


@pytest.fixture
def taskset(server: Server, request: pytest.FixtureRequest) -> str:
    """A set of its own with one version of twelve tasks; `row-003` has digits that no double keeps."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60]
    server.upload(name, sample_rows(12))
    body = f'{{"tasks": [{{"name": "row-003", "env": {{"name": "gsm8k"}}, "task_id": "solve", "args": {EXACT}}}]}}'
    server.post(f"/api/tasksets/{name}/upload", body.encode(), headers={"Content-Type": "application/json"})
    return name


def heading(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def tab_to(page: Page, label: str) -> None:
    """Presses Tab until the field or button with this name has the focus, as a person without a mouse does."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.ariaLabel || document.activeElement.labels?.[0]?.textContent || document.activeElement.textContent").strip().startswith(label):
            return
    pytest.fail(f"Tab never reaches {label}")


def versions(server: Server, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get(f"/api/tasksets/{name}/versions")["items"]
    return found


def test_three_tasks_are_edited_committed_compared_restored_and_tagged_by_keyboard_alone(page: Page, server: Server, taskset: str) -> None:
    for number in (3, 4):  # two edits as forms
        visit(page, f"/tasksets/{taskset}/tasks/row-00{number}")
        heading(page, f"row-00{number}")
        press(page, "e")
        expect(page).to_have_title(re.compile("Edit row-00"))
        tab_to(page, "text" if number == 3 else "question")
        press(page, "Control+a")
        page.keyboard.type("new words")
        press(page, "Control+s")
        expect(page.get_by_text(f"row-00{number} is in the draft")).to_be_visible()
    visit(page, f"/tasksets/{taskset}/tasks/row-005")  # the third leaves
    heading(page, "row-005")
    press(page, "Delete")
    expect(page.get_by_role("region", name="Draft")).to_contain_text("2 changed, 1 removed")

    press(page, "Control+Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("Three edits")
    press(page, "Tab")
    page.keyboard.type("candidate")
    press(page, "Control+Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("region", name="Draft")).to_have_count(0)
    newest = versions(server, taskset)[0]
    assert (newest["number"], newest["message"], newest["updated"], newest["removed"]) == (3, "Three edits", 2, 1)
    assert server.get(f"/api/tasksets/{taskset}/tags")["items"][0]["version_number"] == 3
    assert server.get(f"/api/tasksets/{taskset}/tasks/row-003")["args"] == EXACT.replace('"old"', '"new words"').replace(": ", ":").replace(", ", ",")

    visit(page, f"/tasksets/{taskset}/versions")
    expect(page.get_by_role("link", name="v3", exact=True)).to_be_visible()
    press(page, "j", "d")  # the newest, and what changed in it
    heading(page, "Changes")
    expect(page.get_by_role("region", name="row-003")).to_contain_text("args.text")
    press(page, "j", "j")
    expect(page).to_have_url(re.compile("task=row-005"))
    press(page, "k")
    expect(page.get_by_role("region", name="row-004")).to_be_visible()
    press(page, "v")
    expect(page).to_have_url(re.compile("task=row-004.*view=unified"))
    expect(page.locator("tr.added mark").first).to_be_visible()

    visit(page, f"/tasksets/{taskset}/versions")
    expect(page.get_by_role("link", name="v2", exact=True)).to_be_visible()
    press(page, "j", "j", "r")  # the one before, restored
    expect(page.get_by_role("dialog")).to_contain_text("1 added, 2 changed")
    page.keyboard.type("Back again")
    press(page, "Enter")
    expect(page.get_by_text("v4 equals v2")).to_be_visible()
    listed = versions(server, taskset)
    assert (listed[0]["message"], listed[0]["digest"]) == ("Back again", listed[2]["digest"])

    press(page, "Control+z")  # the toast's undo, and its own undo
    expect(page.get_by_text("v5 undoes v4")).to_be_visible()
    assert versions(server, taskset)[0]["digest"] == newest["digest"]

    press(page, "Home", "t")
    expect(page.get_by_role("dialog")).to_contain_text("Tag v5")
    page.keyboard.type("prod")
    press(page, "Enter")
    expect(page.get_by_role("list", name="Tags")).to_contain_text("prod")
    press(page, "Escape")
    assert {tag["name"]: tag["version_number"] for tag in server.get(f"/api/tasksets/{taskset}/tags")["items"]} == {"candidate": 3, "prod": 5}


def test_two_versions_are_chosen_and_compared_by_keyboard(page: Page, server: Server, taskset: str) -> None:
    visit(page, f"/tasksets/{taskset}/versions")
    expect(page.get_by_role("link", name="v2", exact=True)).to_be_visible()
    for number in (2, 1):
        press(page, "j", "x")
        expect(page.get_by_label(f"Choose v{number} for comparing")).to_be_checked()
    press(page, "c")
    heading(page, "Changes")
    expect(page).to_have_url(re.compile(r"/diff/1\.\.2"))


def test_a_conflict_is_decided_and_committed_by_keyboard(page: Page, server: Server, taskset: str) -> None:
    visit(page, f"/tasksets/{taskset}/edit?slug=row-003")
    tab_to(page, "text")
    press(page, "Control+a")
    page.keyboard.type("mine")
    press(page, "Control+s")
    expect(page.get_by_text("row-003 is in the draft")).to_be_visible()
    server.post(f"/api/tasksets/{taskset}/upload", {"tasks": [{"name": "row-003", "env": {"name": "gsm8k"}, "task_id": "solve", "args": {"text": "theirs"}}]})
    visit(page, f"/tasksets/{taskset}/draft")
    expect(page.get_by_text("1 task was changed by others too")).to_be_visible()
    expect(page.get_by_role("region", name="row-003")).to_contain_text("theirs")
    press(page, "m")
    expect(page.get_by_text("mine is kept")).to_be_visible()
    press(page, "Control+Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "Control+Enter")
    page.wait_for_url(re.compile("/versions$"))
    assert '"mine"' in server.get(f"/api/tasksets/{taskset}/tasks/row-003")["args"]


def test_the_raw_text_says_where_it_stops_being_json_and_the_form_waits(page: Page, taskset: str) -> None:
    visit(page, f"/tasksets/{taskset}/edit?slug=row-003")
    raw = page.get_by_label("Raw JSON of the task")
    raw.fill('{\n  "env": "gsm8k"\n  "id": "solve"\n}')
    expect(page.get_by_text("Line 3, column 3: a comma or } is missing")).to_be_visible()
    expect(page.get_by_role("button", name="Save to draft")).to_be_disabled()
    raw.fill('{"env": "gsm8k", "id": "solve", "args": {"n": 1.0}}')
    page.get_by_label("n", exact=True).fill("2.50")
    expect(raw).to_have_value('{"env": "gsm8k", "id": "solve", "args": {"n": 2.50}}')


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_clean_on_the_pages_of_versions(page: Page, server: Server, taskset: str, theme: str) -> None:
    server.post(f"/api/tasksets/{taskset}/upload", {"tasks": [{"name": "row-001", "env": {"name": "gsm8k"}, "task_id": "solve", "args": {"q": "changed words"}}]})
    visit(page, f"/tasksets/{taskset}/tasks/row-007")
    heading(page, "row-007")
    press(page, "Delete")
    expect(page.get_by_role("region", name="Draft")).to_be_visible()
    base = f"/tasksets/{taskset}"
    routes = [
        f"{base}/versions", f"{base}/versions?tag=1", f"{base}/versions?restore=1", f"{base}/diff/2..3", f"{base}/diff/1..3?view=fields", f"{base}/diff/1..3?view=unified&all=1",
        f"{base}/diff/2..2", f"{base}/draft", f"{base}/edit?slug=row-003", f"{base}/edit", f"{base}/settings", f"{base}/tasks/row-003", base,
    ]  # fmt: skip
    page.emulate_media(color_scheme=theme)
    found = {route: problems for route in routes if (problems := axe(page, route))}
    assert not found
