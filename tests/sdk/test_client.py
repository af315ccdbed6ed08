"""The client: where origin and key come from, what is tried again, and what each answer is. The server is a transport in memory; the
real one answers in tests/sdk/test_against_server.py."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from proctor import errors
from proctor.client import Access, AsyncClient, Client, calls, find_access, login_file, save_login
from proctor.client.request import Call
from proctor.wire.jobs import JobIn

KEY = "pk_secret_0123456789"
ACCESS = Access("http://server.test/prefix/", KEY)
Answer = Callable[[httpx.Request], httpx.Response]


def client(*answers: httpx.Response | Exception, seen: list[httpx.Request] | None = None) -> Client:
    left = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        (seen if seen is not None else []).append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Client(ACCESS, pauses_s=(0, 0, 0), transport=httpx.MockTransport(handle))


def failed(status: int, **error: Any) -> httpx.Response:
    body = {"detail": "sentence", "error": {"code": "c", "message": "The sentence.", "details": {}, "request_id": "r1", **error}}
    return httpx.Response(status, json=body)


PING: Call[Any] = Call("GET", "/api/ping", lambda reply: reply.json())
POST: Call[Any] = Call("POST", "/api/things", lambda reply: reply.json(), body=b"{}")


def test_the_key_goes_in_a_header_and_a_path_prefix_is_kept() -> None:
    seen: list[httpx.Request] = []
    assert client(httpx.Response(200, json={"a": 1}), seen=seen).send(PING) == {"a": 1}
    assert str(seen[0].url) == "http://server.test/prefix/api/ping"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Refused), (401, errors.Unauthorised), (403, errors.Forbidden), (404, errors.NotFound), (409, errors.Conflict), (410, errors.NotFound),
        (413, errors.Refused), (422, errors.Refused), (500, errors.ServerFailed), (302, errors.BadReply), (418, errors.RequestFailed),
    ],
)  # fmt: skip
def test_each_status_is_an_error_of_its_own(status: int, kind: type[errors.RequestFailed]) -> None:
    with pytest.raises(kind) as raised:
        client(failed(status)).send(PING)
    assert type(raised.value) is kind and raised.value.status == status
    assert KEY not in str(raised.value)


def test_problems_are_shown_with_their_places() -> None:
    answer = failed(422, details={"problems": [{"path": "tasks[3].args", "rule": "must be an object", "value": "7"}]})
    with pytest.raises(errors.Refused, match=r"(?s)The sentence\.\n  tasks\[3\]\.args: must be an object") as raised:
        client(answer).send(POST)
    assert (raised.value.code, raised.value.request_id, raised.value.problems[0].value) == ("c", "r1", "7")


def test_an_answer_that_is_a_page_is_a_bad_reply() -> None:
    with pytest.raises(errors.BadReply, match="no JSON"):
        client(httpx.Response(200, text="<html>")).send(PING)
    with pytest.raises(errors.BadReply, match="is no Me"):
        client(httpx.Response(200, json={"id": 1})).send(calls.me())


def test_a_read_is_tried_again_after_a_broken_connection_and_a_busy_server() -> None:
    seen: list[httpx.Request] = []
    answers = [httpx.ReadError("broken"), httpx.Response(503), httpx.Response(200, json={})]
    assert client(*answers, seen=seen).send(PING) == {}
    assert len(seen) == 3


def test_a_write_is_never_sent_twice_once_it_may_have_arrived() -> None:
    for answer in (httpx.ReadError("broken"), httpx.Response(503), httpx.Response(502)):
        seen: list[httpx.Request] = []
        with pytest.raises(errors.RequestFailed):
            client(answer, httpx.Response(200, json={}), seen=seen).send(POST)
        assert len(seen) == 1


def test_a_write_that_never_arrived_is_sent_again() -> None:
    for answer in (httpx.ConnectError("refused"), httpx.Response(429, headers={"Retry-After": "0"})):
        assert client(answer, httpx.Response(200, json={"ok": 1})).send(POST) == {"ok": 1}


def test_a_job_is_started_once_however_often_it_is_sent() -> None:
    seen: list[httpx.Request] = []
    job = JobIn(taskset="t", agent=calls.agent_in("noop", {}))
    with pytest.raises(errors.ServerFailed):
        client(*[httpx.Response(503)] * 4, seen=seen).send(calls.start_job(job))
    keys = {json.loads(request.content)["idempotency_key"] for request in seen}
    assert len(seen) == 4 and len(keys) == 1


def test_giving_up_says_that_the_server_cannot_be_reached() -> None:
    with pytest.raises(errors.Unreachable, match="PROCTOR_URL"):
        client(*[httpx.ConnectError("refused")] * 4).send(PING)
    with pytest.raises(errors.TimedOut, match="not answered within 60 s"):
        client(httpx.ReadTimeout("slow")).send(PING)


async def test_the_async_client_does_the_same() -> None:
    answers = [httpx.Response(503), httpx.Response(200, json={"a": 1}), failed(404)]
    async with AsyncClient(ACCESS, pauses_s=(0,), transport=httpx.MockTransport(lambda request: answers.pop(0))) as one:
        assert await one.send(PING) == {"a": 1}
        with pytest.raises(errors.NotFound):
            await one.send(PING)


def test_the_environment_wins_over_the_login_file(monkeypatch: pytest.MonkeyPatch) -> None:
    save_login(Access("https://saved.test", "pk_saved"))
    assert find_access() == Access("https://saved.test", "pk_saved")
    monkeypatch.setenv("PROCTOR_API_KEY", "pk_env")
    monkeypatch.setenv("PROCTOR_URL", "https://env.test/")
    assert find_access() == Access("https://env.test", "pk_env")
    assert find_access("https://given.test", "pk_given") == Access("https://given.test", "pk_given")


def test_a_saved_key_is_never_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    save_login(Access("https://saved.test", "pk_saved"))
    monkeypatch.setenv("PROCTOR_URL", "https://other.test")
    with pytest.raises(errors.NotConfigured):
        find_access()


def test_the_login_file_is_its_owners_alone() -> None:
    path = save_login(Access("https://saved.test", "pk_saved"))
    assert path == login_file() and path.stat().st_mode & 0o777 == 0o600
    os.chmod(path, 0o644)
    with pytest.raises(errors.NotConfigured, match="read by others"):
        find_access()


@pytest.mark.parametrize("origin", ["ftp://x.test", "server.test", "https://user:pk_secret@x.test", "https://x.test?key=pk_secret"])
def test_an_address_that_is_none_is_refused_without_showing_a_key(origin: str) -> None:
    with pytest.raises(errors.NotConfigured) as raised:
        Access(origin, "pk_1")
    assert "pk_secret" not in str(raised.value)


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(ACCESS)
