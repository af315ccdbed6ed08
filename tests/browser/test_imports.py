"""A file of 50,000 rows from a person's disk into a version, by keyboard alone; axe on every step in both themes; broken connections."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import visit
from tests.support.server import ROOT, Server

pytestmark = [pytest.mark.browser, pytest.mark.server]
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
ROWS = 50_000
SLOW_MS = 40_000
RULES = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})"

# Colours change in a moment, and half way they are no colours of either theme.
SETTLED = "Promise.all(document.getAnimations().filter(one => one instanceof CSSTransition).map(one => one.finished.catch(() => 0))).then(() => 0)"


@pytest.fixture(scope="module")
def spreadsheet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cells of no JSON, far behind what a guess looks at, and an id that stands twice in the last row."""
    path = tmp_path_factory.mktemp("files") / "sums.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "answer", "meta", "notes"])
        writer.writerows([f"q-{n:05}", f"What is {n} + 1?", n + 1, "oops" if n in (700, 30_000) else '{"n": 1.10}', ""] for n in range(ROWS - 1))
        writer.writerow(["q-00005", "again", "1", "{}", ""])
    return path


def tab_to(page: Page, target: Locator, limit: int = 80) -> None:
    """Only the Tab key."""
    expect(target).to_be_enabled()
    for _ in range(limit):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{target} is not reached with {limit} tabs")


def check_access(page: Page, where: str) -> None:
    found: list[str] = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.evaluate(SETTLED)
        page.evaluate(AXE.read_text())
        result = page.evaluate(RULES)
        found += [f"{where}, {theme}: {one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]]
    page.emulate_media(color_scheme="light")
    assert found == []


def begin(page: Page) -> None:
    visit(page, "/tasksets/import")
    expect(page.get_by_role("heading", level=1)).to_have_text("Import a new taskset")


def choose_by_key(page: Page, path: Path) -> None:
    tab_to(page, page.get_by_label("Choose a file"))
    with page.expect_file_chooser() as chooser:
        page.evaluate("0")  # a round trip, so that the browser hands the dialog over before the key comes
        page.keyboard.press("Space")
    chooser.value.set_files(path)


def test_50_000_rows_are_mapped_mended_and_committed_without_a_mouse(page: Page, server: Server, spreadsheet: Path) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasksets")
    page.keyboard.press("u")
    expect(page.get_by_role("heading", level=1)).to_have_text("Import a new taskset")
    check_access(page, "file")
    choose_by_key(page, spreadsheet)

    page.wait_for_url("**/map")
    tab_to(page, page.get_by_label("notes becomes"))
    page.keyboard.type("left")
    tab_to(page, page.get_by_label("Environment"))
    page.keyboard.type("sums")
    expect(page.get_by_text("all 20 good")).to_be_visible(timeout=SLOW_MS)
    expect(page.get_by_role("region", name="Columns").get_by_text("you")).to_have_count(1)
    check_access(page, "map")
    page.reload()
    expect(page.get_by_label("Environment")).to_have_value("sums")
    page.keyboard.press("Control+Enter")

    page.wait_for_url("**/check*")
    expect(page.get_by_text(f"{ROWS - 3:,} of {ROWS:,} rows good")).to_be_visible(timeout=SLOW_MS)
    errors = page.get_by_role("region", name="Errors", exact=True)
    expect(errors.get_by_role("row")).to_have_count(4, timeout=SLOW_MS)
    check_access(page, "check")
    tab_to(page, page.get_by_role("button", name="the slug stands on line"))
    page.keyboard.press("Enter")
    expect(errors.get_by_role("row")).to_have_count(2, timeout=SLOW_MS)
    tab_to(page, page.get_by_role("button", name=f"Edit row on line {ROWS + 1}"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="id", exact=True)).to_be_focused(timeout=SLOW_MS)
    expect(page.get_by_role("dialog").get_by_text("the slug stands on line 7 already")).to_be_visible()
    check_access(page, "row")
    page.keyboard.press("Control+a")
    page.keyboard.type("q-last")
    expect(page.get_by_role("button", name="Save and check again")).to_be_enabled()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(f"{ROWS - 2:,} of {ROWS:,} rows good")).to_be_visible(timeout=SLOW_MS)
    tab_to(page, page.get_by_label("Leave out 2 bad rows", exact=False))
    page.keyboard.press("Space")
    expect(page.get_by_role("link", name="Commit", exact=True)).to_be_visible()
    page.keyboard.press("Control+Enter")

    page.wait_for_url("**/commit?leave_out=1*")
    expect(page.get_by_role("region", name="Plan")).to_contain_text(f"{ROWS - 2:,}")
    check_access(page, "commit")
    tab_to(page, page.get_by_label("Message"))
    page.keyboard.type("first sums")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile(r"/tasksets/[0-9a-f-]{36}$"), timeout=SLOW_MS)
    expect(page.get_by_role("heading", level=1)).to_have_text("sums")
    head = server.get("/api/tasksets/sums")["head"]
    assert (head["task_count"], head["message"]) == (ROWS - 2, "first sums")
    assert server.get("/api/tasksets/sums/tasks/q-last")["args"] == '{"question":"again","answer":"1","meta":{}}'

    visit(page, "/tasksets/sums/imports")
    expect(page.get_by_role("link", name="sums.csv")).to_be_visible()
    check_access(page, "imports")
    tab_to(page, page.get_by_role("link", name="sums.csv"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Bad rows left out")).to_be_visible()
    check_access(page, "report")


def test_an_upload_goes_on_after_a_lost_connection_and_after_a_reload(page: Page, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(b"slug,q\n" + b"".join(b"t%d,%s\n" % (index, b"x" * 1000) for index in range(10_000)))
    sent: list[str] = []

    def cut(route: Route) -> None:
        """The first part goes through; then the line is dead until it is mended."""
        sent.append(route.request.url)
        if len(sent) == 1:
            route.continue_()
        else:
            route.abort()

    page.route("**/api/uploads/*?offset=*", cut)
    begin(page)
    page.get_by_label("Choose a file").set_input_files(path)
    expect(page.get_by_text("Connection lost")).to_be_visible(timeout=SLOW_MS)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused.")).to_be_visible()

    page.reload()
    page.unroute("**/api/uploads/*?offset=*")
    offsets: list[str] = []
    page.on("request", lambda request: offsets.append(request.url.partition("offset=")[2]) if "offset=" in request.url else None)
    share = int(100 * 4 * 1024**2 / path.stat().st_size)
    again = page.get_by_label(f"Continue large.csv, {share} %")
    other = tmp_path / "other.csv"
    other.write_bytes(b"slug,q\n" * 1000)
    again.set_input_files(other)
    expect(page.get_by_text("This is another file than the large.csv")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    page.reload()
    page.get_by_label(f"Continue large.csv, {share} %").set_input_files(path)
    page.wait_for_url("**/map")
    expect(page.get_by_text("2 columns")).to_be_visible()
    assert offsets == [str(4 * 1024**2), str(8 * 1024**2)]


def test_a_file_for_a_set_that_is_there_lands_on_what_it_changed(page: Page, server: Server, tmp_path: Path) -> None:
    server.post("/api/tasksets", {"name": "there"})
    server.post("/api/tasksets/there/upload", {"tasks": [{"slug": "a", "env": "zoo", "id": "run"}, {"slug": "b", "env": "zoo", "id": "run"}]})
    (tmp_path / "more.csv").write_text("slug;q\nb;changed\nc;new\n")
    visit(page, "/tasksets/there")
    expect(page.get_by_role("heading", level=1)).to_have_text("there")
    page.keyboard.press("u")
    page.wait_for_url("**/imports/new")
    page.get_by_label("Choose a file").set_input_files(tmp_path / "more.csv")
    page.wait_for_url("**/map")
    expect(page.get_by_label("Environment")).to_have_value("zoo")
    page.get_by_role("button", name="Check").click()
    page.get_by_role("link", name="Commit", exact=True).last.click()
    expect(page.get_by_label("Create")).to_be_disabled()
    page.get_by_label("Replace all").check()
    plan = page.get_by_role("region", name="Plan")
    expect(plan).to_contain_text("Remove1")
    page.get_by_label("Add or update").check()
    expect(plan).to_contain_text("Remove0")
    page.get_by_role("button", name="Commit").click()
    page.wait_for_url("**/diff/1..2*")
    assert server.get("/api/tasksets/there")["head"]["number"] == 2


def test_wrong_files_are_answered_with_what_is_right(page: Page, tmp_path: Path) -> None:
    begin(page)
    for name, body, words in (("sheet.xlsx", b"PK", "Save the sheet as CSV"), ("empty.csv", b"", "empty.csv is empty")):
        (tmp_path / name).write_bytes(body)
        page.get_by_label("Choose a file").set_input_files(tmp_path / name)
        expect(page.get_by_text(words)).to_be_visible()
    (tmp_path / "broken.json").write_bytes(b'[{"a": 1}, {"a"')
    page.get_by_label("Choose a file").set_input_files(tmp_path / "broken.json")
    page.wait_for_url("**/map")
    page.get_by_label("Environment").fill("zoo")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("broken.json was refused")).to_be_visible()


def test_pasted_and_dropped_rows_are_files_too(page: Page) -> None:
    begin(page)
    for text, name in (("slug,q\na,1\n", "pasted.csv"), ('{"slug": "a"}\n', "pasted.jsonl")):
        page.evaluate("text => { const data = new DataTransfer(); data.setData('text/plain', text); window.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data})) }", text)
        page.wait_for_url("**/map")
        expect(page.get_by_text(name).first).to_be_visible()
        begin(page)
    page.evaluate("() => { const data = new DataTransfer(); data.items.add(new File(['slug,q\\na,1\\n'], 'dropped.csv')); window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true})) }")
    page.wait_for_url("**/map")
    expect(page.get_by_text("dropped.csv").first).to_be_visible()
