"""The table of tasks with 100,000 rows, with none and with many columns: reached by keyboard alone, light on the page, clean for axe."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import axe
from tests.support.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.server]
TASKS = 100_000
expect.set_options(timeout=20_000)
LEVELS = ("easy", "medium", "hard")
MOST_NODES = 3_000


def task(number: int, **more: Any) -> dict[str, Any]:
    columns = {"level": LEVELS[number % 3], "ops": number % 7, "score": number / TASKS}
    return {"name": f"t{number:06}", "env": {"name": "sums"}, "task_id": "add", "args": {"question": f"What is {number} and {number}?"}, "columns": columns, **more}


@pytest.fixture(scope="module")
def filled(server: Server) -> Server:
    """Made once for the module: a large set, an empty one, a wide one, and a small one to edit."""
    sets = {"Big": [task(n) for n in range(TASKS)], "Wide": [task(n, columns={f"c{c:02}": n * c for c in range(60)}) for n in range(50)]}
    sets["Small"] = [task(n) for n in range(30)]
    for name, rows in sets.items():
        server.post("/v2/tasks/upload", {"taskset_name": name, "tasks": rows}, timeout=300)
    server.post("/api/tasksets", {"name": "Empty"})
    server.call("GET", "/api/tasksets/big/facets", timeout=300)
    return server


def rows(page: Page) -> Any:
    return page.locator(".grid-table a.stretch")


def first(page: Page, slug: str) -> None:
    expect(rows(page).first).to_have_text(slug)


def nodes(page: Page) -> int:
    return int(page.evaluate("document.querySelectorAll('*').length"))


def chosen(page: Page) -> Any:
    return page.get_by_role("group", name="Chosen tasks")


def test_any_place_of_a_hundred_thousand_is_one_key_away_and_few_nodes_are_drawn(page: Page, filled: Server) -> None:
    visit(page, "/tasksets/big")
    first(page, "t000000")
    assert nodes(page) < MOST_NODES
    page.keyboard.press("End")
    expect(page.get_by_role("link", name="t099999")).to_be_focused()
    page.keyboard.press("k")
    expect(page.get_by_role("link", name="t099998")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.get_by_role("link", name="t000000")).to_be_focused()
    page.locator(".grid-table").evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(page.get_by_role("link", name="t050010")).to_be_attached()
    assert nodes(page) < MOST_NODES


def test_search_filter_sort_choose_and_edit_without_a_mouse(page: Page, filled: Server) -> None:
    visit(page, "/tasksets/small")
    first(page, "t000000")
    page.keyboard.press("/")
    page.keyboard.type("WHAT IS 1")
    expect(page.get_by_role("status").filter(has_text="11 of 30 tasks match")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("status").filter(has_text=re.compile("^30 tasks$"))).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.get_by_role("menu", name="Sort")).to_be_visible()
    page.get_by_role("menuitem", name="ops").press("Enter")
    expect(rows(page).nth(1)).to_have_text("t000007")
    expect(page).to_have_url(re.compile(r"sort=columns\.ops"))
    expect(page.get_by_role("columnheader", name="ops")).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("menu")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(chosen(page)).to_contain_text("3 chosen")
    page.keyboard.press("p")
    expect(page.get_by_role("complementary", name="Task t000014")).to_contain_text("What is 14 and 14?")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Set column…").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("level")
    page.get_by_label("Value", exact=True).focus()
    page.keyboard.type("checked")
    page.keyboard.press("Enter")
    expect(page.get_by_text("3 tasks changed in your draft").first).to_be_visible()
    expect(page.locator(".grid-table .dm.ch")).to_have_count(3)
    changes = filled.get("/api/tasksets/small/draft")["changes"]
    assert [change["slug"] for change in changes] == ["t000000", "t000007", "t000014"]
    assert all('"level":"checked"' in change["text"] for change in changes)


def test_a_choice_survives_filters_and_all_that_match_are_a_second_step(page: Page, filled: Server) -> None:
    visit(page, "/tasksets/big?f.level=hard")
    first(page, "t000002")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(chosen(page)).to_contain_text("1 chosen")
    page.get_by_role("button", name="Remove the filter level: hard").click()
    first(page, "t000000")
    expect(chosen(page)).to_contain_text("1 chosen")
    page.go_back()
    visit(page, "/tasksets/big?f.level=hard&f.ops=3")
    first(page, "t000017")
    page.keyboard.press("Control+a")
    expect(chosen(page)).to_contain_text("100 chosen")
    page.get_by_role("button", name="Choose all 4,762 that match").click()
    expect(chosen(page)).to_contain_text("all 4,762 that match chosen")
    page.keyboard.press("n")
    expect(page.get_by_test_id("which-tasks")).to_contain_text("4,762 of 100 k tasks match level: hard, ops: 3")


def test_filters_stand_in_the_address_and_in_words(page: Page, filled: Server) -> None:
    visit(page, "/tasksets/big?q=what&f.level=!easy&f.score=%3E%3D0.5&sort=-columns.score")
    first(page, "t099998")
    expect(page.get_by_role("list", name="Filters")).to_contain_text("level: not easy")
    expect(page.get_by_role("list", name="Filters")).to_contain_text("score: from 0.5")
    page.get_by_role("list", name="level").get_by_label("medium").click()
    expect(page).to_have_url(re.compile(r"f\.level=medium"))
    first(page, "t099997")
    page.get_by_role("slider", name="score, from").focus()
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile(r"0\.5(&|$)"))
    page.get_by_role("button", name="Clear filters").click()
    expect(page).not_to_have_url(re.compile(r"f\."))


def test_columns_and_widths_are_kept_for_the_person(page: Page, filled: Server) -> None:
    visit(page, "/tasksets/big")
    first(page, "t000000")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("list", name="Shown columns, in order").get_by_label("level", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="level")).to_have_count(0)
    with page.expect_response(re.compile("preferences")):
        page.get_by_role("slider", name="Width of ops").press("ArrowRight")
    visit(page, "/tasksets/big")
    first(page, "t000000")
    expect(page.get_by_role("columnheader", name="level")).to_have_count(0)
    expect(page.get_by_role("slider", name="Width of ops")).to_have_attribute("aria-valuenow", re.compile(r"1[2-9]\d"))
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="As it was at first").click()
    expect(page.get_by_role("columnheader", name="level")).to_have_count(1)


def test_of_many_columns_those_in_view_are_drawn(page: Page, filled: Server) -> None:
    columns = ["prompt", *(f"columns.c{c:02}" for c in range(60))]
    set_id = filled.get("/api/tasksets/wide")["id"]
    filled.call("PUT", f"/api/me/preferences/tasks.{set_id}", {"columns": columns})
    visit(page, "/tasksets/wide")
    first(page, "t000000")
    expect(page.get_by_role("columnheader", name="c00")).to_be_visible()
    expect(page.get_by_role("columnheader", name="c59")).to_have_count(0)
    assert nodes(page) < MOST_NODES
    page.locator(".grid-table").evaluate("box => { box.scrollLeft = box.scrollWidth }")
    expect(page.get_by_role("columnheader", name="c59")).to_be_visible()
    expect(page.get_by_role("link", name="t000000")).to_be_visible()


def test_a_phone_shows_cards_and_filters_in_a_drawer(page: Page, filled: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, "/tasksets/big")
    first(page, "t000000")
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_role("dialog", name="Filters").get_by_label("hard").click()
    page.keyboard.press("Escape")
    first(page, "t000002")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_clean_with_no_row_and_with_a_hundred_thousand(page: Page, filled: Server, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    routes = ["/tasksets/empty", "/tasksets/big", "/tasksets/big?q=what&f.level=hard,!easy&f.score=%3E%3D0.2&sort=-slug", "/tasksets/big?q=nothing", "/tasksets/big/tasks/t000001"]
    assert not {route: problems for route in routes if (problems := axe(page, route))}
