"""The client and the probe against peers that work and peers that do not: causes, bounds, and no second POST."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from proctor.taskapp import TaskAppClient, probe
from proctor.taskapp.client import Target
from proctor.taskapp.inference import InferenceClient, InferenceError
from proctor.taskapp.rollouts import RolloutRequest, alternating
from proctor.taskapp.transport import CallFailed
from tests.support.fake_model import Reply, closed_port, fails, fake_model, says
from tests.support.fake_task_app import KEY, FakeTaskApp, Says, fake_task_app, recorded, well

REQUEST = RolloutRequest.model_validate(
    {"run_id": "run-rl-1", "env": {"seed": 1}, "policy": {"config": {"api_key": "sk-policy-secret"}}, "ops": alternating(2), "mode": "eval"}
)


@pytest.fixture
def peer() -> Iterator[FakeTaskApp]:
    with fake_task_app() as app:
        yield app


def client_of(app: FakeTaskApp, **changes: Any) -> TaskAppClient:
    return TaskAppClient(app.url, KEY, **changes)


async def cause_of(work: Any) -> str:
    with pytest.raises(CallFailed) as failed:
        await work
    return failed.value.cause


async def test_it_reads_what_an_app_says_of_itself(peer: FakeTaskApp) -> None:
    client = client_of(peer)
    assert (await client.root())["service"] == "counting" and (await client.health())["healthy"] is True
    info, marks = await client.info()
    assert info.dataset is None and [mark.path for mark in marks] == ["dataset", "limits"]
    assert await client.taskset() == {"id": "counting", "size": 16}


async def test_instances_come_in_order_in_parts_and_as_the_text_that_was_sent(peer: FakeTaskApp) -> None:
    found = await client_of(peer).task_info(list(range(120)))
    assert [one.info.task_metadata["seed"] for one in found] == list(range(120))
    assert len([1 for method, path, _h, _b in peer.requests if path.startswith("/task_info")]) == 3
    assert (await client_of(peer).task_info([]), (await client_of(peer).task_info([3]))[0].info.task.id) == ([], "counting")


async def test_digits_of_an_instance_are_kept(peer: FakeTaskApp) -> None:
    text = json.dumps(recorded("05-")).replace('"seed": 3', '"seed": 3, "rate": 1.10')
    peer.replies["GET /task_info"] = Says(text.encode())
    assert '"rate": 1.10' in (await client_of(peer).task_info([3]))[0].text


async def test_a_rollout_is_posted_once_and_read(peer: FakeTaskApp) -> None:
    found = await client_of(peer).rollout(REQUEST, within_s=5)
    assert (found.source, found.score(), len(peer.posts())) == ("trace", 1.0, 1)
    assert peer.posts()[0]["policy"]["config"]["api_key"] == "sk-policy-secret"


async def test_secrets_that_a_peer_echoes_are_taken_out(peer: FakeTaskApp) -> None:
    body = {**recorded("10-"), "pipeline_metadata": {"echo": ["sk-policy-secret", KEY]}}
    peer.replies["POST /rollout"] = Says(body)
    found = await client_of(peer).rollout(REQUEST, within_s=5, secrets=["sk-policy-secret"])
    assert "[redacted]" in found.text and KEY not in found.text and "sk-policy" not in found.text
    peer.replies["POST /rollout"] = Says({"error": {"code": "no", "message": f"bad {KEY}"}}, 400)
    with pytest.raises(CallFailed) as failed:
        await client_of(peer).rollout(REQUEST, within_s=5)
    assert KEY not in failed.value.message


@pytest.mark.parametrize(
    ("says_", "cause"),
    [
        (Says(die=True), "lost"), (Says(recorded("10-"), half=True), "lost"), (Says(hang_s=5), "timeout"), (Says(b"nonsense"), "bad_reply"),
        (Says([1]), "bad_reply"), (Says(endless=500_000_000), "too_large"), (Says(None, 302, {"Location": "http://127.0.0.1:1/"}), "redirect"),
        (Says(b"x", headers={"Content-Encoding": "gzip"}), "bad_reply"), (Says(b"Internal Server Error", 500), "server_error"),
        (Says(recorded("24-"), 400), "auth"), (Says(recorded("21-"), 400), "refused_request"),
    ],
)  # fmt: skip
async def test_c1_a_failed_rollout_has_a_cause_and_was_posted_once(peer: FakeTaskApp, says_: Says, cause: str) -> None:
    peer.replies["POST /rollout"] = says_
    assert await cause_of(client_of(peer, reply_bytes=2_000_000).rollout(REQUEST, within_s=1)) == cause
    assert len(peer.posts()) == 1


async def test_reads_are_tried_twice_when_the_connection_breaks(peer: FakeTaskApp) -> None:
    peer.replies["GET /info"] = Says(die=True)
    assert await cause_of(client_of(peer).info()) == "lost"
    assert [path for _m, path, _h, _b in peer.requests] == ["/info", "/info"]


async def test_an_address_inside_is_not_entered_unless_allowed(peer: FakeTaskApp) -> None:
    assert await cause_of(client_of(peer, public_only=True).info()) == "private"
    assert peer.requests == []


async def test_a_call_that_is_cancelled_closes_its_connection(peer: FakeTaskApp) -> None:
    peer.replies["POST /rollout"] = Says(hang_s=10)
    call = asyncio.create_task(client_of(peer).rollout(REQUEST, within_s=30))
    while not peer.posts():
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# — the probe


async def test_c1_all_five_endpoints_are_probed_and_a_dead_app_says_why(peer: FakeTaskApp) -> None:
    checks = await probe.probe(Target(peer.url, KEY, public_only=False))
    assert [(check.endpoint, check.ok) for check in checks] == [(endpoint, True) for endpoint in probe.ENDPOINTS]
    assert all(check.latency_ms is not None for check in checks) and peer.posts() == []
    dead = await probe.probe(Target(f"http://127.0.0.1:{closed_port()}", KEY, public_only=False))
    assert {check.cause for check in dead} == {"refused"} and all(check.message for check in dead)


async def test_c1_six_kinds_of_broken_peer_have_six_causes(peer: FakeTaskApp) -> None:
    peer.replies |= well(health=Says({"detail": "broken"}, 503), info=Says(hang_s=3))
    with socket.create_server(("127.0.0.1", 0)) as plain:
        plain_port = plain.getsockname()[1]
        serving = asyncio.create_task(asyncio.to_thread(_answer_plain, plain))
        targets = {
            "dns": Target("http://no-such-host.invalid", KEY, False), "refused": Target(f"http://127.0.0.1:{closed_port()}", KEY, False),
            "tls": Target(f"https://127.0.0.1:{plain_port}", KEY, False), "auth": Target(peer.url, "wrong", False),
            "server_error": Target(peer.url, KEY, False), "timeout": Target(peer.url, KEY, False),
        }  # fmt: skip
        paths = {"timeout": "/info"}
        found = {name: (await probe.probe(target, within_s=1.0, endpoints=[paths.get(name, "/health")]))[0].cause for name, target in targets.items()}
        await serving
    assert found == {name: name for name in targets}


def _answer_plain(server: socket.socket) -> None:
    """Plain HTTP where TLS is expected."""
    connection = server.accept()[0]
    with connection:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


async def test_c1_a_hanging_peer_costs_no_more_than_the_time_given(peer: FakeTaskApp) -> None:
    peer.replies = {key: Says(hang_s=10) for key in peer.replies}
    started = time.monotonic()
    checks = await probe.probe(Target(peer.url, KEY, public_only=False), within_s=0.5)
    assert {check.cause for check in checks} == {"timeout"}
    assert time.monotonic() - started < 5


async def test_c1_health_asks_with_head_and_falls_back_to_get(peer: FakeTaskApp) -> None:
    assert (await probe.health(Target(peer.url, KEY, False))).ok
    assert [method for method, _p, _h, _b in peer.requests] == ["HEAD"]
    peer.replies["GET /"] = Says(None, 405)
    assert (await probe.health(Target(peer.url, KEY, False))).endpoint == "/health"


# — the inference client


async def test_c1_inference_client_keeps_the_query_retries_and_always_has_usage() -> None:
    with fake_model(fails(429), says("hi", usage={"prompt_tokens": 3, "completion_tokens": 2})) as model:
        async with InferenceClient(f"{model.base_url}?cid=t", "sk-1234") as client:
            reply = await client.complete(model="m", messages=[], tools=[{"type": "function"}], logprobs=True)
        assert model.paths == ["/v1/chat/completions?cid=t"] * 2 and model.requests[0]["logprobs"] is True
    assert reply.message["content"] == "hi" and reply.usage == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    with fake_model(Reply('{"choices": [{"message": {"role": "assistant", "content": "x"}}]}')) as model:
        async with InferenceClient(model.base_url) as client:
            bare = await client.complete(model="m", messages=[])
    assert bare.usage == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0} and not bare.usage_known


async def test_inference_failures_hide_the_key_and_are_not_repeated_for_nothing() -> None:
    with fake_model(fails(401, "bad key sk-1234")) as model:
        async with InferenceClient(model.base_url, "sk-1234") as client:
            with pytest.raises(InferenceError) as failed:
                await client.complete(model="m", messages=[])
        assert len(model.requests) == 1
    assert failed.value.status == 401 and "sk-1234" not in str(failed.value)


async def test_streams_come_chunk_by_chunk() -> None:
    body = 'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: {"choices": [{"delta": {"content": "b"}}]}\n\ndata: [DONE]\n\n'
    with fake_model(Reply(body, headers={"Content-Type": "text/event-stream"})) as model:
        async with InferenceClient(model.base_url) as client:
            chunks = [chunk["choices"][0]["delta"]["content"] async for chunk in client.stream(model="m", messages=[])]
    assert chunks == ["a", "b"]
