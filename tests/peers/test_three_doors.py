"""`hud sync tasks` of the real command line, plain REST and the page change one taskset in turn: each sees what the others made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import browser, built_page, context, page, server, visit  # noqa: F401 - fixtures
from tests.peers.conftest import NEW
from tests.peers.test_deploy import Hud
from tests.support.server import Server

pytestmark = [pytest.mark.peer, pytest.mark.browser, pytest.mark.server]
NAME = "three-doors"
DIGITS = '{"word":"mirror","n":1.10}'


@pytest.fixture
def hud(peers: Path, server: Server, tmp_path: Path) -> Iterator[Hud]:  # noqa: F811
    (tmp_path / "work").mkdir()
    yield Hud(peers / NEW / "bin" / "hud", server, tmp_path)


def sync(hud: Hud, **words: str) -> str:
    tasks = [{"env": "letters", "id": "count", "args": {"word": word}, "slug": slug} for slug, word in words.items()]
    (hud.home / "work" / "tasks.json").write_text(json.dumps(tasks))
    code, _, said = hud.run("sync", "tasks", NAME, "tasks.json", "--yes")
    assert code == 0, said
    return said


def history(server: Server) -> list[tuple[int, str]]:  # noqa: F811
    """Number and digest of all versions, oldest first."""
    return [(version["number"], version["digest"]) for version in reversed(server.get(f"/api/tasksets/{NAME}/versions")["items"])]


def shown(page: Page, server: Server) -> list[tuple[int, str]]:  # noqa: F811
    """The same, as the page tells it."""
    visit(page, f"/tasksets/{NAME}/versions")
    rows = page.get_by_role("table", name="Versions").get_by_role("row").filter(has_text="sha256:")
    expect(rows).to_have_count(len(history(server)))
    found = [re.search(r"v(\d+).*(sha256:[0-9a-f]{12})", row.inner_text(), re.S) for row in rows.all()]
    return sorted((int(match[1]), match[2]) for match in found if match)


def test_each_door_sees_what_the_others_made_and_histories_agree(hud: Hud, server: Server, page: Page) -> None:  # noqa: F811
    sync(hud, banana="banana", mirror="mirror")
    row = f'{{"tasks":[{{"slug":"mirror","env":"letters","id":"count","args":{DIGITS}}}]}}'
    server.post(f"/api/tasksets/{NAME}/upload", row.encode(), headers={"Content-Type": "application/json"})

    visit(page, f"/tasksets/{NAME}/tasks/banana")
    expect(page.get_by_role("heading", level=1)).to_have_text("banana")
    page.keyboard.press("Delete")
    expect(page.get_by_role("region", name="Draft")).to_contain_text("1 removed")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("Without the banana")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert [number for number, _digest in history(server)] == [1, 2, 3]

    said = sync(hud, banana="banana", cherry="cherry")
    assert "Create: 2" in said and "Remote-only: 1" in said, "the command line knows that the page removed one"
    task = server.get(f"/api/tasksets/{NAME}/tasks/mirror")
    assert task["args"] == DIGITS, "what REST wrote is as it was after the page and the command line"
    found = history(server)
    assert [number for number, _digest in found] == [1, 2, 3, 4]
    assert len({digest for _number, digest in found}) == 4
    assert shown(page, server) == [(number, digest[:19]) for number, digest in found]

    for number, digest in found:  # pinned references read what each door made
        assert server.get(f"/v2/tasksets/by-name/{NAME}@{digest}")["taskset_id"] == server.get(f"/v2/tasksets/by-name/{NAME}@{number}")["taskset_id"]
    assert sync(hud, banana="banana", cherry="cherry") and history(server) == found, "nothing new is no version"
