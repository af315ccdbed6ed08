"""The gateway passes a chat completions call through, both ways as it is, and nothing of ours or of the endpoint's leaks."""

from __future__ import annotations

import dataclasses
import gzip
import json
import logging
import socket
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from accounts.actions import create_key, run_token
from accounts.callers import Caller
from gateway import actions, forward
from proctor import addresses
from tests.support.echo_model import EchoModel, echo_model

KEY = "sk-upstream-0123456789"
BODY = b'{"model": "stub-1",  "messages": [{"role": "user", "content": "h\\u00e9"}], "n": 1.10}'


@pytest.fixture
def model(ada: Caller) -> Iterator[EchoModel]:
    with echo_model() as model:
        admin = dataclasses.replace(ada, is_instance_admin=True)
        actions.create_endpoint(admin, pattern="stub-*", base_url=model.url, api_key=KEY, headers={"X-Tenant": "tenant-0042"})
        yield model


def call(key: str, body: bytes = BODY, **headers: str) -> Any:
    return Client().post(
        "/gateway/chat/completions", body, content_type="application/json", headers={"Authorization": f"Bearer {key}", **headers}
    )


def test_the_body_goes_through_unchanged_and_the_reply_comes_back_with_its_status(model: EchoModel, ada_key: str) -> None:
    model.status, model.pieces = 418, [b'{"id": ', b"1.10}"]
    reply = call(ada_key)
    assert (reply.status_code, reply.content, reply["Content-Type"]) == (418, b'{"id": 1.10}', "application/json")
    (path, headers, body) = model.requests[0]
    assert (path, body) == ("/v1/chat/completions", BODY)
    assert headers["authorization"] == f"Bearer {KEY}" and headers["x-tenant"] == "tenant-0042"


def test_nothing_of_ours_goes_out_but_the_trace_id(model: EchoModel, ada_key: str) -> None:
    call(
        ada_key,
        **{
            "Trace-Id": "8f4f",
            "Cookie": "proctor_session=secret",
            "X-CSRFToken": "t",
            "X-Team": "x",
            "Connection": "close",
            "X-Forwarded-For": "1.2.3.4",
        },
    )
    headers = model.requests[0][1]
    assert headers["trace-id"] == "8f4f"
    assert not {"cookie", "x-csrftoken", "x-team", "x-forwarded-for"} & set(headers)
    assert ada_key not in str(headers)


def test_nothing_of_the_endpoints_comes_back_but_what_a_client_needs(model: EchoModel, ada_key: str) -> None:
    model.headers |= {
        "Set-Cookie": "a=b",
        "Retry-After": "7",
        "X-RateLimit-Remaining": "3",
        "Content-Security-Policy": "none",
        "Server": "x",
    }
    model.status = 429
    reply = call(ada_key)
    assert (reply.status_code, reply["Retry-After"], reply["X-RateLimit-Remaining"]) == (429, "7", "3")
    assert "Set-Cookie" not in reply and "a=b" not in str(reply.cookies) and reply.get("Content-Security-Policy") != "none"


@pytest.mark.parametrize("status", [200, 401])
def test_the_endpoints_key_is_never_echoed(status: int, model: EchoModel, ada_key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model.status = status
    model.pieces = [b'{"error": "bad key ' + KEY[:9].encode(), KEY[9:].encode() + b' of tenant-0042"}']
    model.headers["X-RateLimit-Key"] = KEY
    reply = call(ada_key)
    assert reply.content == b'{"error": "bad key [redacted] of [redacted]"}'
    assert KEY not in str(reply.headers) and KEY not in caplog.text


def test_a_compressed_reply_is_opened_so_that_its_secrets_are_seen(model: EchoModel, ada_key: str) -> None:
    model.headers["Content-Encoding"], model.pieces = "gzip", [gzip.compress(f'"{KEY}"'.encode())]
    reply = call(ada_key)
    assert reply.content == b'"[redacted]"' and "Content-Encoding" not in reply


def test_a_run_token_may_call(model: EchoModel, ada: Caller) -> None:
    assert call(run_token(ada.team_id, uuid.uuid4(), 1)).status_code == 200


def test_the_address_with_v1_is_the_same(model: EchoModel, ada_key: str) -> None:
    reply = Client().post(
        "/gateway/v1/chat/completions", BODY, content_type="application/json", headers={"Authorization": f"Bearer {ada_key}"}
    )
    assert reply.status_code == 200


def test_without_a_key_or_the_scope_run_nothing_is_called(model: EchoModel, ada: Caller) -> None:
    assert Client().post("/gateway/chat/completions", BODY, content_type="application/json").status_code == 401
    assert call("pk_wrong_key").status_code == 401
    assert call(create_key(ada, name="reader", scopes=["read"]).secret).status_code == 403
    assert Client().get("/gateway/chat/completions").status_code == 405
    assert model.requests == []


def test_another_teams_endpoint_serves_nobody_else(model: EchoModel, cy_key: str) -> None:
    reply = call(cy_key)
    assert reply.status_code == 404 and "no model endpoints yet" in reply.json()["detail"]
    assert model.requests == []


def test_a_model_without_endpoint_is_404_with_the_patterns_there_are(model: EchoModel, ada_key: str) -> None:
    reply = call(ada_key, b'{"model": "gpt-9"}')
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "model_not_found"
    assert "gpt-9" in reply.json()["detail"] and "stub-*" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status"), [(b"{nope", 400), (b"\xff\xfe", 400), (b"", 400), (b"[]", 422), (b"{}", 422), (b'{"model": 3}', 422)]
)
def test_a_body_that_is_no_request_is_refused(body: bytes, status: int, model: EchoModel, ada_key: str) -> None:
    reply = call(ada_key, body)
    assert reply.status_code == status and isinstance(reply.json()["detail"], str)
    assert model.requests == []


def test_a_body_over_the_limit_is_413(model: EchoModel, ada_key: str, settings: Any) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "telemetry_bytes": 20}
    assert call(ada_key).status_code == 413
    assert model.requests == []


def test_a_reply_over_the_limit_is_502(model: EchoModel, ada_key: str, settings: Any) -> None:
    settings.PROCTOR_LIMITS = {**settings.PROCTOR_LIMITS, "telemetry_bytes": len(BODY)}
    model.pieces = [b"x" * len(BODY), b"x"]
    assert call(ada_key).json()["error"]["code"] == "model_reply_too_large"


def test_an_endpoint_that_is_down_is_502_with_the_one_error_body(ada: Caller, ada_key: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: refuses
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=True), pattern="stub-*", base_url=url, api_key=KEY)
        reply = call(ada_key)
    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "model_unreachable" and "stub-1" in reply.json()["detail"]


def test_an_endpoint_that_is_silent_is_504(model: EchoModel, ada_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "CALL_S", 0.3)
    model.silent = True
    reply = call(ada_key)
    assert reply.status_code == 504 and reply.json()["error"]["code"] == "model_timeout"


def test_an_endpoint_that_breaks_off_is_502(model: EchoModel, ada_key: str) -> None:
    model.break_off = True
    assert call(ada_key).status_code == 502


def test_a_redirect_is_not_followed(model: EchoModel, ada_key: str) -> None:
    model.status = 307
    model.headers["Location"] = "http://169.254.169.254/latest"
    reply = call(ada_key)
    assert reply.status_code == 502 and "169.254" not in reply.content.decode()


def test_a_name_that_moved_inside_is_not_connected_to(model: EchoModel, ada: Caller, ada_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port = int(model.url.rsplit(":", 1)[1].split("/")[0])
    where = {"models.example": "93.184.216.34"}
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda host, port, **_: [(0, 0, 0, "", (where[host], port))])
    actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=False), pattern="moved", base_url=f"http://models.example:{port}/v1")
    where["models.example"] = "127.0.0.1"
    reply = call(ada_key, b'{"model": "moved"}')
    assert reply.status_code == 422 and reply.json()["error"]["code"] == "private_address"
    assert model.requests == []


def test_an_endpoint_of_a_plain_member_is_called_at_the_address_that_was_checked(
    model: EchoModel, ada: Caller, ada_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(model.url.rsplit(":", 1)[1].split("/")[0])
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda host, port, **_: [(0, 0, 0, "", ("127.0.0.1", port))])
    monkeypatch.setattr(addresses, "is_public", lambda address: str(address) == "127.0.0.1")
    actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=False), pattern="named", base_url=f"http://models.example:{port}/v1")
    assert call(ada_key, b'{"model": "named"}').status_code == 200
    assert model.requests[0][1]["host"] == f"models.example:{port}"


def stream(key: str, model: EchoModel, *, release_after_first: bool = False) -> tuple[Any, list[bytes]]:
    """The pieces as they came; the endpoint is held until the first one is here."""

    async def follow() -> tuple[Any, list[bytes]]:
        body = BODY.replace(b"{", b'{"stream": true, ', 1)
        response = await AsyncClient().post(
            "/gateway/chat/completions", body, content_type="application/json", headers={"Authorization": f"Bearer {key}"}
        )
        pieces = []
        async for piece in response.streaming_content:
            pieces.append(piece)
            if release_after_first:
                model.go.set()
        return response, pieces

    return async_to_sync(follow)()


def test_a_stream_arrives_while_it_is_made(model: EchoModel, ada_key: str) -> None:
    model.headers["Content-Type"] = "text/event-stream"
    model.pieces, model.hold = [b'data: {"a": 1}\n\n', b"data: [DONE]\n\n"], True
    response, pieces = stream(ada_key, model, release_after_first=True)
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream")
    assert pieces[0] == b'data: {"a": 1}\n\n' and b"".join(pieces) == b"".join(model.pieces)


def test_a_key_across_the_pieces_of_a_stream_is_taken_out(model: EchoModel, ada_key: str) -> None:
    model.pieces = [b"data: " + KEY[:5].encode(), KEY[5:12].encode(), KEY[12:].encode() + b" end", b" " + KEY[:6].encode()]
    _response, pieces = stream(ada_key, model)
    assert b"".join(pieces) == b"data: [redacted] end " + KEY[:6].encode()


def test_a_stream_that_breaks_off_says_so_inside_the_stream(model: EchoModel, ada_key: str) -> None:
    model.pieces, model.break_off = [b'data: {"a": 1}\n\n'], True
    _response, pieces = stream(ada_key, model)
    last = json.loads(b"".join(pieces).rsplit(b"data: ", 1)[1])
    assert last["error"]["code"] == "model_unreachable" and "stub-1" in last["detail"]
