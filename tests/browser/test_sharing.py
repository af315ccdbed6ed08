"""A taskset leaves the page: as a link that works signed out, as a file that comes back with its digest, and from another Proctor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import AXE
from tests.support.server import KEY, Server, running, sample_rows

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture
def visitor(browser: Browser, server: Server) -> Iterator[Page]:
    """Somebody without an account."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{server.port}", viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page broke: {error}"))
    yield page
    context.close()


def more(page: Page, item: str) -> None:
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name=item).click()


def share(page: Page, *, pinned: bool) -> str:
    visit(page, "/tasksets/slow-sums")
    more(page, "Share…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name=re.compile("for good" if pinned else "newest")).check()
    dialog.get_by_label("It ends").select_option("in 30 days")
    dialog.get_by_role("button", name="Make link").click()
    url = dialog.get_by_text(re.compile("/share/")).inner_text()
    dialog.get_by_role("button", name="I have copied it").click()
    return "/share/" + url.rpartition("/share/")[2].strip()


def axe(page: Page) -> list[str]:
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text())
    result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
    return [f"{problem['id']}: {problem['nodes'][0]['html'][:200]}" for problem in result["violations"]]


def test_a_link_is_made_followed_signed_out_and_revoked(page: Page, visitor: Page) -> None:
    path = share(page, pinned=True)
    visit(visitor, path)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Slow sums")
    expect(visitor.get_by_text("This link shows this version for good")).to_be_visible()
    assert visitor.get_by_role("button", name=re.compile("Upload|New job|More actions|Rename")).count() == 0
    visitor.get_by_label("Search slugs and arguments").fill("row-003")
    expect(visitor.get_by_text("1 of 12 tasks match")).to_be_visible()
    visitor.get_by_role("link", name="row-003").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("row-003")
    expect(visitor.get_by_text("What is 3 + 1?").first).to_be_visible()
    visit(page, "/settings/shares")
    page.get_by_role("button", name=re.compile("Revoke the link to slow-sums@1")).first.click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke link").click()
    expect(page.get_by_text("revoked").first).to_be_visible()
    visit(visitor, path)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Nothing to show here")


def test_a_link_to_the_newest_follows_the_set_and_gives_a_file(page: Page, visitor: Page, server: Server) -> None:
    path = share(page, pinned=False)
    server.upload("Slow sums", sample_rows(13))
    visit(visitor, path)
    expect(visitor.get_by_text("This link shows the newest version")).to_be_visible()
    expect(visitor.get_by_text("13 tasks").first).to_be_visible()
    visitor.get_by_role("button", name="Download").click()
    with visitor.expect_download() as waiting:
        visitor.get_by_role("menuitem", name=re.compile("JSON Lines")).click()
    assert re.fullmatch(r"slow-sums-v\d+\.jsonl", waiting.value.suggested_filename)
    assert Path(waiting.value.path()).read_bytes().count(b"\n") == 13


@pytest.mark.parametrize(("title", "ending"), [("JSON Lines", "jsonl"), ("CSV", "csv"), ("Parquet", "parquet"), ("Task folders", "zip")])
def test_a_file_from_the_menu_comes_back_with_its_digest(page: Page, server: Server, title: str, ending: str) -> None:
    visit(page, "/tasksets/slow-sums")
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=re.compile(f"^{title}")).click()
    assert waiting.value.suggested_filename.endswith(f".{ending}")
    body = Path(waiting.value.path()).read_bytes()
    upload = server.post("/api/uploads", {"filename": f"x.{ending}", "size_bytes": len(body)})
    server.call("PUT", f"/api/uploads/{upload['id']}?offset=0", body)
    found = server.post("/api/imports", {"upload_id": upload["id"], "taskset": "slow-sums"})
    assert found["layout"] == "tasks" and found["preview"] and not any(row["errors"] for row in found["preview"])


def test_a_format_that_cannot_be_had_is_told_in_the_page(page: Page) -> None:
    visit(page, "/tasksets/slow-sums")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    body = '{"detail": "take jsonl", "error": {"code": "invalid", "message": "take jsonl", "details": {}, "request_id": "err_1"}}'
    page.route("**/download?**", lambda route: route.fulfill(status=422, content_type="application/json", body=body))
    page.get_by_role("button", name="Download").click()
    page.get_by_role("menuitem", name=re.compile("Task folders")).click()
    expect(page.get_by_role("dialog", name="Nothing was downloaded")).to_contain_text("take jsonl")


def test_a_set_is_pulled_from_another_proctor(page: Page, server: Server, tmp_path: Path) -> None:
    with running(tmp_path / "there", PROCTOR_SANDBOX="subprocess") as there:
        there.upload("Far away", sample_rows(30))
        digest = there.get("/api/tasksets/far-away")["head"]["digest"]
        visit(page, "/tasksets")
        page.get_by_role("button", name="Pull from another Proctor…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Its address").fill(f"http://127.0.0.1:{there.port}")
        dialog.get_by_label("Taskset there").fill("far-away@9")
        dialog.get_by_label("API key of that Proctor").fill(KEY)
        dialog.get_by_role("button", name="Pull", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text("no such taskset or version")
        dialog.get_by_label("Taskset there").fill("far-away@1")
        dialog.get_by_role("button", name="Pull", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("far-away")
    assert server.get("/api/tasksets/far-away")["head"]["digest"] == digest
    assert KEY not in page.content()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_clean_on_what_shares_and_pulls(page: Page, visitor: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    visitor.emulate_media(color_scheme=theme)
    path = share(page, pinned=False)
    found: dict[str, list[str]] = {}
    for name, looker, address in (("set", visitor, path), ("task", visitor, f"{path}/tasks/row-001"), ("gone", visitor, "/share/wrong"), ("list", page, "/settings/shares")):
        visit(looker, address)
        expect(looker.get_by_role("heading", level=1)).to_be_visible()
        found[name] = axe(looker)
    visit(page, "/tasksets/slow-sums")
    page.get_by_role("button", name="Download").click()
    expect(page.get_by_role("menu")).to_be_visible()
    found["menu"] = axe(page)
    page.keyboard.press("Escape")
    for item in ("Share…", "Pull from another Proctor…"):
        more(page, item)
        expect(page.get_by_role("dialog")).to_be_visible()
        found[item] = axe(page)
        page.keyboard.press("Escape")
    assert not any(found.values()), found


def test_sharing_works_by_keyboard_alone(page: Page) -> None:
    visit(page, "/tasksets/slow-sums")
    page.get_by_role("button", name="More actions").focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Share…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("radio", name=re.compile("newest"))).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_text(re.compile("/share/"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
