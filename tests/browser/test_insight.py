"""What Proctor found out about a version, on the page: begun, watched, read by keyboard, acted on, and its choices."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import visit
from tests.browser.test_access import AXE
from tests.support.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.server]
SHEEP = "A farmer has 17 sheep and all but nine of them run away over the hill; how many sheep does the farmer have left in the end?"


@pytest.fixture(scope="module")
def found(server: Server) -> str:
    """A set with something for every list, in the environment of the sample, which is known."""
    questions = {
        "first": (SHEEP, "9"),
        "same": (SHEEP, "9"),
        "alike": (SHEEP.replace("A farmer", "One farmer"), "9"),
        "leaky": ("Say banana to the monkey; what did you say to the monkey just now?", "Banana"),
    }
    rows = [
        {"slug": slug, "env": "gsm8k", "id": "solve", "args": {"question": question, "answer": answer}}
        for slug, (question, answer) in questions.items()
    ]
    rows.append({"slug": "unfit", "env": "gsm8k", "id": "unheard-of", "args": {"n": 1}})
    rows.append({"slug": "elsewhere", "env": "not-registered", "id": "x", "args": {}})
    server.upload("Insightful", rows)
    return "/tasksets/insightful/insight"


def analysed(page: Page, address: str) -> None:
    visit(page, address)
    done = page.get_by_text(re.compile(r"^v\d+ analysed$"))
    begin = page.get_by_role("button", name=re.compile("^Analyse v"))
    expect(done.or_(begin)).to_be_visible()
    if begin.is_visible():
        begin.click()
    expect(done).to_be_visible(timeout=60_000)


def axe(page: Page) -> list[str]:
    page.wait_for_load_state("networkidle")
    page.evaluate(AXE.read_text())
    result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
    return [f"{problem['id']}: {problem['nodes'][0]['html'][:200]}" for problem in result["violations"]]


def test_an_analysis_is_begun_and_its_lists_are_read_by_keyboard(page: Page, found: str) -> None:
    analysed(page, found)
    group = page.get_by_role("group", name="Findings")
    for name in ("Checks 1", "Exact duplicates 1", "Near duplicates 1", "Leaks 1"):
        expect(group.get_by_role("button", name=name)).to_be_visible()
    detail = page.get_by_role("region", name="The task")
    expect(detail).to_contain_text("must be a template of environment gsm8k")
    environments = page.get_by_role("list", name="Environments")
    expect(environments).to_contain_text(re.compile("gsm8k.*checked against version 1"))
    expect(environments).to_contain_text(re.compile("not-registered.*unknown, not checked"))
    group.get_by_role("button", name="Near duplicates 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Jaccard of their prompts: 0.91")).to_be_visible()
    expect(page.get_by_role("region", name="Side by side")).to_contain_text("One farmer")
    expect(page).to_have_url(re.compile("list=near"))


def test_a_leak_shows_its_place(page: Page, found: str) -> None:
    analysed(page, f"{found}?list=leaks")
    expect(page.locator("blockquote mark")).to_have_text("banana")
    expect(page.get_by_role("region", name="leaky")).to_contain_text("args.answer is Banana, and stands in args.question")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_clean_on_every_list_and_the_choices(page: Page, found: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    analysed(page, found)
    for query in ("list=checks", "list=exact", "list=near", "list=leaks", "settings=1"):
        analysed_at = f"{found}?{query}"
        visit(page, analysed_at)
        expect(page.get_by_text(re.compile(r"^v\d+ analysed$"))).to_be_visible()
        assert axe(page) == [], query


def test_choices_are_kept_and_make_a_new_analysis(page: Page, server: Server, found: str) -> None:
    analysed(page, found)
    page.get_by_role("button", name="What is looked at").click()
    page.get_by_label(re.compile("^Off")).check()
    page.get_by_label("Fields that hold the expected answer").fill("gold.text, key")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    kept = server.get("/api/tasksets/insightful")
    assert (kept["schema_policy"], kept["answer_fields"]) == ("off", ["gold.text", "key"])
    analysed(page, f"{found}?list=checks")
    expect(page.get_by_text("Checks are off")).to_be_visible()
    page.get_by_role("button", name="Leaks 0").click()
    expect(page.get_by_text("Answers were looked for in gold.text, key.")).to_be_visible()


def test_repeats_are_taken_out_in_a_draft_without_a_mouse(page: Page, server: Server, found: str) -> None:
    analysed(page, f"{found}?list=exact")
    expect(page.get_by_role("region", name="first and same")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_role("group", name="Selected tasks")).to_contain_text("1 task selected")
    page.get_by_role("button", name="Take 1 task out in my draft").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 task taken out in your draft")).to_be_visible()
    draft = page.evaluate("fetch('/api/tasksets/insightful/draft').then((reply) => reply.json())")
    assert [(change["op"], change["slug"]) for change in draft["changes"]] == [("remove", "same")]
