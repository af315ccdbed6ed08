"""The built page in a real Chromium against a real server. The server runs the shipped sample as plain processes, so that these
tests need no engine; `tests/journeys` run the same in containers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from tests.support.server import EMAIL, PASSWORD, ROOT, Server, running, sample_rows

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]


def visit(page: Page, path: str) -> None:
    """Chromium drops what it is loading when a network of the machine changes, as every container's start does; a person reloads."""
    for _ in range(20):
        try:
            page.goto(path)
            return
        except Error as error:
            if not any(sign in str(error) for sign in ("ERR_NETWORK_CHANGED", "chrome-error")):
                raise
    page.goto(path)


@pytest.fixture(scope="session")
def built_page() -> None:
    subprocess.run([str(ROOT / "scripts" / "page")], check=True)


@pytest.fixture(scope="module")
def server(built_page: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("browser")
    with running(folder, PROCTOR_SANDBOX="subprocess", PROCTOR_SAMPLE="1", PROCTOR_SLOTS="2") as server:
        server.upload("Slow sums", sample_rows(12))
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while Playwright's loop runs in this thread, no async test can."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("PROCTOR_CHROMIUM", "/usr/bin/chromium"), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=f"http://127.0.0.1:{server.port}", viewport={"width": 1440, "height": 900})
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """Signed in; a defect of the page (an exception in its script) fails the test."""
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page broke: {error}"))
    visit(page, "/sign-in")
    page.get_by_label("E-mail").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    return page
