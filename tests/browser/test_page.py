"""The page as its users meet it: the sample, a job started and watched live, a run, a cancel, keys, models, environments."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import visit
from tests.support.server import Server, replay_job, sample_rows

pytestmark = [pytest.mark.browser, pytest.mark.server]


def open_page(page: Page, path: str, title: str | re.Pattern[str]) -> None:
    visit(page, path)
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_a_wrong_password_is_answered_with_one_message_for_both_fields(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/jobs")
    page.wait_for_url("**/sign-in**")
    page.get_by_label("E-mail").fill("ada@example.test")
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("E-mail or password is wrong")).to_be_visible()


def test_the_sample_job_is_there_and_says_that_it_ran_unsandboxed(page: Page, server: Server) -> None:
    open_page(page, "/jobs", "Jobs")
    page.get_by_role("link", name=re.compile("Sample: GSM8K")).first.click()
    expect(page.get_by_text("20 of 20 ended", exact=True)).to_be_visible(timeout=60_000)
    expect(page.get_by_text("unsandboxed").first).to_be_visible()
    expect(page.get_by_text("adds up")).to_be_visible()
    assert page.locator("a[data-run]").count() == 20


def test_a_job_is_started_from_a_taskset_and_watched_to_its_end(page: Page, server: Server) -> None:
    open_page(page, "/tasksets/slow-sums", "Slow sums")
    page.get_by_role("link", name=re.compile("New job")).first.click()
    page.get_by_role("button", name="Replay").click()
    page.get_by_label("Column", exact=False).first.fill("says")
    page.get_by_label("Repeats of each task").fill("2")
    page.get_by_role("button", name=re.compile("Start 24 runs")).click()
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]{36}$"))
    expect(page.get_by_text("24 of 24 ended", exact=True)).to_be_visible(timeout=90_000)
    job = server.get(page.url.split(str(server.port))[1].replace("/jobs/", "/api/jobs/"))
    assert job["counts"]["graded"] == 24 and job["mean_reward"] == 1.0
    expect(page.get_by_text("1.000").first).to_be_visible()


def test_a_run_shows_its_steps_its_grade_and_what_it_measured(page: Page, server: Server) -> None:
    job = server.post("/api/jobs", replay_job("slow-sums", slugs=["row-003"]))
    server.wait_for(job["id"], "graded", 1)
    run = server.runs(job["id"])[0]
    open_page(page, f"/trace/{run['id']}", "row-003")
    expect(page.get_by_text("What is 3 + 1?").first).to_be_visible()
    expect(page.get_by_text("A: 4").first).to_be_visible()
    page.get_by_role("tab", name="Details").click()
    expect(page.get_by_text(re.compile("sha256:|[0-9a-f]{12}")).first).to_be_visible()
    page.goto(f"/trace/{run['id'].replace('-', '')}")
    expect(page.get_by_role("heading", level=1)).to_have_text("row-003")


def test_steps_of_an_outside_run_appear_while_one_looks(page: Page, server: Server) -> None:
    job, trace = "a" * 32, "b" * 32
    server.post(f"/v2/trace/job/{job}/enter", {"name": "from my laptop", "group": 1})
    server.post(f"/v2/trace/{trace}/enter", {"job_id": job, "task_slug": "live-one"})
    open_page(page, f"/trace/{trace}", "live-one")
    for number in range(1, 4):
        payload = {"step_id": number, "source": "agent", "content": f"thought number {number}", "tool_calls": [], "done": False}
        span = {"name": "step.agent", "span_id": f"{number:016x}", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": payload}}
        server.post(f"/v3/api/trace/{trace}/telemetry-upload", {"telemetry": [span]})
        expect(page.get_by_text(f"thought number {number}").first).to_be_visible()
    server.post(f"/v2/trace/{trace}/exit", {"status": "completed", "reward": 0.5, "evaluation_result": {"score": 0.5}})
    expect(page.get_by_text("graded").first).to_be_visible()


def test_a_running_job_is_cancelled_from_its_page(page: Page, server: Server) -> None:
    server.upload("Many sums", sample_rows(200))
    job = server.post("/api/jobs", replay_job("many-sums", max_concurrent=1))
    open_page(page, f"/jobs/{job['id']}", re.compile("."))
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile(r"Cancel \d+ runs")).click()
    expect(page.get_by_text("200 of 200 ended", exact=True)).to_be_visible(timeout=60_000)
    counts = server.counts(job["id"])
    assert counts["cancelled"] > 0 and counts["pending"] == 0 and counts["failed"] == 0


def test_an_api_key_is_made_shown_once_used_and_revoked(page: Page, server: Server) -> None:
    import httpx

    open_page(page, "/project/api-keys", "API keys")
    assert page.url.endswith("/settings/api-keys")
    page.get_by_role("button", name="Make key").first.click()
    page.get_by_role("dialog").get_by_label("Name").fill("laptop")
    page.get_by_role("dialog").get_by_role("button", name="Make key").click()
    expect(page.get_by_role("button", name="I have copied it")).to_be_visible()
    secret = re.search(r"pk_[0-9a-f]{12}_[\w-]{43}", page.get_by_role("dialog").inner_text())
    assert secret, "the key is not shown"
    headers = {"Authorization": f"Bearer {secret[0]}"}
    url = f"http://127.0.0.1:{server.port}/v2/auth/me"
    assert httpx.get(url, headers=headers).status_code == 200
    page.get_by_role("button", name="I have copied it").click()
    expect(page.get_by_text(secret[0])).to_have_count(0)
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Revoke")).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert httpx.get(url, headers=headers).status_code == 401


def test_a_model_endpoint_is_added_without_its_key_ever_coming_back(page: Page, server: Server) -> None:
    open_page(page, "/models", re.compile("Model"))
    page.get_by_role("button", name=re.compile("Add")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(re.compile("Pattern|Model", re.I)).first.fill("tiny-*")
    dialog.get_by_label(re.compile("URL", re.I)).first.fill("http://127.0.0.1:9/v1")
    dialog.get_by_label(re.compile("key", re.I)).first.fill("very-secret-model-key")
    dialog.get_by_role("button", name=re.compile("Add|Save")).click()
    expect(page.get_by_text("tiny-*", exact=True)).to_be_visible()
    assert "very-secret-model-key" not in page.content() and "very-secret" not in str(server.get("/api/models"))


@pytest.mark.parametrize("path", ["/jobs", "/tasksets", "/tasksets/slow-sums", "/environments", "/models", "/", "/nowhere"])
def test_the_pages_that_the_command_line_prints_lead_somewhere(page: Page, path: str) -> None:
    visit(page, path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation").first).to_be_visible()


def test_an_agent_of_huds_can_be_chosen_and_a_server_that_cannot_run_it_says_what_to_do(page: Page, server: Server) -> None:
    server.post("/api/models", {"pattern": "claude-*", "base_url": "http://127.0.0.1:9/v1"})
    visit(page, "/jobs/new?taskset=slow-sums")
    page.get_by_label("Model", exact=True).fill("claude-x")
    page.get_by_label("Agent loop").select_option("claude")
    expect(page.get_by_text("make hud-agents").first).to_be_visible()
    page.get_by_label("Agent loop").select_option("openai_compatible")
    expect(page.get_by_role("button", name=re.compile("Start 12 runs"))).to_be_enabled()
    expect(page.get_by_text("make hud-agents")).to_have_count(0)
