"""Live pages: load a snapshot, then follow. Whatever is cut off, slow or repeated, snapshot and events together are a fresh snapshot."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.server import Server, kill, replay_job, sample_rows, until
from tests.support.sockets import page_socket, ticket_socket

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", autouse=True)
def taskset(server: Server) -> None:
    """Tests share a server and this taskset; jobs and traces are their own."""
    server.upload("live", sample_rows(24))


def start_job(server: Server, **more: Any) -> str:
    return str(server.post("/api/jobs", replay_job("live", **more))["id"])


async def calls(function: Any, *args: Any) -> Any:
    return await asyncio.to_thread(function, *args)


def spans(server: Server, trace_id: str, numbers: range, text: str = "") -> None:
    """Steps of an outside run."""
    telemetry = [
        {"span_id": f"{number:016x}", "name": "step.agent", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"step_id": number, "source": "agent", "content": text}}}
        for number in numbers
    ]  # fmt: skip
    server.call("POST", f"/v3/api/trace/{trace_id}/telemetry-upload", json.dumps({"telemetry": telemetry}).encode())


def outside_run(server: Server) -> str:
    trace_id = str(uuid.uuid4())
    server.post(f"/v2/trace/{trace_id}/enter", {"job_id": str(uuid.uuid4()), "task_slug": "outside"})
    return trace_id


def matrix_rows(server: Server, job_id: str) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in server.get(f"/api/jobs/{job_id}/matrix")["runs"]}


def steps(server: Server, run_id: str) -> dict[int, dict[str, Any]]:
    return {step["seq"]: step for step in server.get(f"/api/runs/{run_id}/steps?limit=1000")["items"]}


# — snapshot, then follow


async def test_a_job_page_ends_up_with_what_a_fresh_page_shows(server: Server) -> None:
    job_id = await calls(start_job, server)
    snapshot = await calls(server.get, f"/api/jobs/{job_id}/matrix")
    async with page_socket(server) as page:
        page.rows = {row["id"]: row for row in snapshot["runs"]}
        await page.subscribe(f"job:{job_id}", after=snapshot["seq"])
        await page.until(lambda: all(row["state"] == "completed" for row in page.rows.values()))
        assert page.rows == await calls(matrix_rows, server, job_id)
        assert len(page.rows) == 24


async def test_a_run_page_ends_up_with_every_step_of_a_hosted_run(server: Server) -> None:
    job_id = await calls(start_job, server)
    run_id = (await calls(server.runs, job_id))[-1]["id"]
    async with page_socket(server) as page:
        await page.subscribe(f"run:{run_id}", after=0)
        await page.until(lambda: page.rows.get(run_id, {}).get("state") == "completed")
        assert page.steps == await calls(steps, server, run_id) != {}


async def test_a_connection_that_breaks_again_and_again_leaves_no_gap(server: Server) -> None:
    """Property: however the stream is cut, what a page has gathered is what a fresh page would load."""
    job_id, trace_id = await calls(start_job, server), await calls(outside_run, server)
    snapshot = await calls(server.get, f"/api/jobs/{job_id}/matrix")
    job_seq, run_seq, sent = snapshot["seq"], 0, 0
    rows = {row["id"]: row for row in snapshot["runs"]}
    gathered: dict[int, dict[str, Any]] = {}
    while sent < 300 or any(row["counted"] == "pending" for row in rows.values()):
        async with page_socket(server) as job_page, ticket_socket(server) as run_page:
            job_page.rows, run_page.steps = rows, gathered
            job_page.cursor, run_page.cursor = job_seq, run_seq
            await job_page.subscribe(f"job:{job_id}", after=job_seq)
            await run_page.subscribe(f"run:{trace_id}", after=run_seq)
            for _ in range(3):
                await calls(spans, server, trace_id, range(sent, sent + 7))
                sent += 7
                await run_page.frame()
            await job_page.live()
            job_seq, run_seq = job_page.cursor, run_page.cursor
    async with ticket_socket(server) as page:
        page.steps = gathered
        await page.subscribe(f"run:{trace_id}", after=run_seq)
        await page.live()
    assert rows == await calls(matrix_rows, server, job_id)
    assert gathered == await calls(steps, server, trace_id)
    assert sorted(gathered) == list(range(1, sent + 1))


async def test_many_pages_that_join_while_steps_come_in_all_have_all_of_them(server: Server) -> None:
    trace_id = await calls(outside_run, server)

    async def write() -> None:
        for start in range(0, 400, 4):
            await calls(spans, server, trace_id, range(start, start + 4))

    async def watch(delay_s: float) -> list[int]:
        await asyncio.sleep(delay_s)
        async with ticket_socket(server) as page:
            await page.subscribe(f"run:{trace_id}", after=0)
            await page.until(lambda: 400 in page.steps)
            return sorted(page.steps)

    _, *seen = await asyncio.gather(write(), *(watch(0.05 * index) for index in range(12)))
    assert all(seqs == list(range(1, 401)) for seqs in seen)


async def test_following_goes_on_when_the_web_process_was_killed(server: Server) -> None:
    trace_id = await calls(outside_run, server)
    await calls(spans, server, trace_id, range(5))
    async with ticket_socket(server) as page:
        await page.subscribe(f"run:{trace_id}", after=0)
        await page.until(lambda: 5 in page.steps)
        await calls(kill, server.child("web"))
        with pytest.raises(ConnectionClosed):
            while True:
                await page.frame()
    await calls(until, server.healthy, 60)
    await calls(spans, server, trace_id, range(5, 9))
    async with ticket_socket(server) as again:
        again.steps = page.steps
        await again.subscribe(f"run:{trace_id}", after=page.cursor)
        await again.until(lambda: 9 in again.steps)
    assert sorted(again.steps) == list(range(1, 10))


async def test_the_team_topic_names_jobs_that_change(server: Server) -> None:
    async with page_socket(server) as page:
        await page.subscribe("team")
        await page.live()
        job_id = await calls(start_job, server)
        named: set[str] = set()
        while job_id not in named:
            named |= {event["job_id"] for event in (await page.frame()).get("events", [])}


async def test_a_cursor_from_another_world_means_the_end_and_hurts_nobody(server: Server) -> None:
    trace_id = await calls(outside_run, server)
    await calls(spans, server, trace_id, range(3))
    async with ticket_socket(server) as strange, ticket_socket(server) as page:
        await strange.subscribe(f"run:{trace_id}", after=10**9)
        await strange.live()
        await page.subscribe(f"run:{trace_id}", after=0)
        await page.until(lambda: 3 in page.steps)
        await calls(spans, server, trace_id, range(3, 5))
        await page.until(lambda: 5 in page.steps)
        await strange.until(lambda: 5 in strange.steps)
        assert sorted(strange.steps) == [4, 5]


async def test_an_ended_subscription_is_silent_and_its_number_can_be_used_again(server: Server) -> None:
    trace_id = await calls(outside_run, server)
    async with ticket_socket(server) as page:
        await page.subscribe(f"run:{trace_id}", after=0)
        await page.live()
        await page.send(op="unsub", id=1)
        await calls(spans, server, trace_id, range(2))
        await page.send(op="ping", id=7)
        assert (await page.frame()) == {"id": 7, "pong": True}
        await page.subscribe(f"run:{trace_id}", after=1)
        await page.live()
        assert sorted(page.steps) == [2]


# — who may watch


@pytest.mark.parametrize("origin", [None, "http://elsewhere.example"])
async def test_a_cookie_alone_opens_nothing_from_another_origin(server: Server, origin: str | None) -> None:
    async with page_socket(server, origin=origin) as page:
        assert (await page.frame())["error"]["code"] == "unauthorized"
        assert await page.closed() == 4003


async def test_without_signing_in_there_is_nothing_to_watch(server: Server) -> None:
    async with page_socket(server, cookie="proctor_session=made-up") as page:
        assert (await page.frame())["error"]["code"] == "unauthorized"
        assert await page.closed() == 4003


async def test_a_ticket_opens_one_socket(server: Server) -> None:
    ticket = (await calls(server.post, "/api/ws-ticket"))["ticket"]
    async with ticket_socket(server, ticket) as page:
        await page.send(op="ping", id=1)
        assert (await page.frame()) == {"id": 1, "pong": True}
    for text in (ticket, ticket[:-2], "nonsense"):
        async with ticket_socket(server, text) as page:
            assert (await page.frame())["error"]["code"] == "unauthorized"
            assert await page.closed() == 4003


@pytest.mark.parametrize("topic", ["run:{id}", "job:{id}", "run:nonsense", "secrets:{id}", "", "job:"])
async def test_a_topic_that_is_not_the_teams_own_is_not_found(server: Server, topic: str) -> None:
    async with page_socket(server) as page:
        await page.subscribe(topic.format(id=uuid.uuid4()))
        assert (await page.frame())["error"]["code"] == "not_found"
        await page.send(op="ping", id=2)
        assert (await page.frame()) == {"id": 2, "pong": True}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"op": "dance", "id": 1}', '{"op": "sub"}', "null", '{"op":"sub","id":"x"}'])
async def test_a_frame_that_is_none_is_refused_and_the_socket_lives_on(server: Server, text: str) -> None:
    async with page_socket(server) as page:
        await page.connection.send(text)
        assert (await page.frame())["error"]["code"] == "bad_frame"
        await page.send(op="ping", id=2)
        assert (await page.frame()) == {"id": 2, "pong": True}


async def test_another_teams_run_is_not_found_although_it_exists(server: Server) -> None:
    trace_id = await calls(outside_run, server)
    stranger = await calls(stranger_key, server)
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers={"Authorization": f"Bearer {stranger}"}) as http:
        ticket = http.post("/api/ws-ticket").json()["ticket"]
    async with ticket_socket(server, ticket) as page:
        await page.subscribe(f"run:{trace_id}", after=0)
        assert (await page.frame())["error"]["code"] == "not_found"


def stranger_key(server: Server) -> str:
    """A key of a new team, made the way an operator makes one."""
    assert server.command("team", f"Cygnus {uuid.uuid4().hex[:8]}").wait(60) == 0, server.log()
    return next(word for word in reversed(server.log().split()) if word.startswith("pk_"))
