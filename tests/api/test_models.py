"""Model endpoints: made, listed and deleted by a team, with secrets that never come back and addresses that stay outside."""

from __future__ import annotations

import dataclasses
import json
import logging
from ipaddress import ip_address
from typing import Any

import pytest
from django.test import Client

from accounts.callers import Caller
from accounts.models import AuditEvent, User
from gateway import actions, queries
from gateway.addresses import refuse_private
from gateway.models import ModelEndpoint
from gateway.patterns import best
from proctor import addresses
from web.errors import AppError

KEY = "sk-very-secret-0123456789"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def post(key: str, **body: Any) -> Any:
    return Client().post("/api/models", json.dumps(body), content_type="application/json", headers=bearer(key))


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A name service without a network: a name that is not in here has no address."""
    known: dict[str, list[str]] = {"models.example": ["93.184.216.34"]}
    real = addresses.socket.getaddrinfo

    def getaddrinfo(host: str, port: int, **kwargs: Any) -> Any:
        if host in known:
            return [(0, 0, 0, "", (address, port)) for address in known[host]]
        if host.replace(".", "").replace("0x", "").isalnum() and host[0].isdigit():
            return real(host, port, **kwargs)  # odd spellings of addresses need no network
        raise OSError(f"{host} has no address")

    monkeypatch.setattr(addresses.socket, "getaddrinfo", getaddrinfo)
    return known


def test_a_key_makes_an_endpoint_and_lists_and_deletes_it(ada: Caller, ada_key: str) -> None:
    made = post(ada_key, pattern="gpt-*", base_url="https://models.example/v1/", api_key=KEY, headers={"X-Tenant": "tenant-secret-1"})
    assert made.status_code == 201
    assert made.json() | {"id": "", "created_at": ""} == {
        "id": "", "pattern": "gpt-*", "base_url": "https://models.example/v1", "has_key": True, "header_names": ["X-Tenant"], "created_at": "",
        "created_by": made.json()["created_by"],
    }  # fmt: skip
    listed = Client().get("/api/models", headers=bearer(ada_key)).json()
    assert [item["pattern"] for item in listed["items"]] == ["gpt-*"] and listed["total"] == 1
    assert Client().delete(f"/api/models/{made.json()['id']}", headers=bearer(ada_key)).status_code == 204
    assert Client().get("/api/models", headers=bearer(ada_key)).json()["items"] == []
    assert list(AuditEvent.objects.filter(object_kind="model_endpoint").order_by("id").values_list("verb", flat=True)) == [
        "model.create",
        "model.delete",
    ]


def test_the_list_pages_by_cursor_in_order_of_pattern(ada: Caller, ada_key: str) -> None:
    for pattern in ("c", "a", "b"):
        actions.create_endpoint(ada, pattern=pattern, base_url="https://models.example/v1")
    first = Client().get("/api/models?limit=2", headers=bearer(ada_key)).json()
    second = Client().get(f"/api/models?limit=2&cursor={first['next_cursor']}", headers=bearer(ada_key)).json()
    assert [item["pattern"] for item in first["items"] + second["items"]] == ["a", "b", "c"]
    assert second["next_cursor"] is None


def test_secrets_are_encrypted_at_rest_and_in_no_reply_log_or_audit(ada: Caller, ada_key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    replies = [
        post(ada_key, pattern="m", base_url="https://models.example", api_key=KEY, headers={"X-Tenant": KEY}),
        post(ada_key, pattern="m", base_url="https://models.example", api_key=KEY),
        post(ada_key, pattern="n", base_url="https://models.example", api_key=KEY + "x" * 1000),
        post(ada_key, pattern="n", base_url="https://models.example", apikey=KEY),
        post(ada_key, pattern="n", base_url="https://models.example", api_key=KEY + "\n"),
        post(ada_key, pattern="n", base_url="https://models.example", headers={"X-Tenant": KEY + "\r\nX: y"}),
        post(ada_key, pattern="n", base_url=f"https://user:{KEY}@models.example"),
        Client().get("/api/models", headers=bearer(ada_key)),
        Client().get("/v2/models", headers=bearer(ada_key)),
    ]
    assert [reply.status_code for reply in replies] == [201, 409, 422, 422, 422, 422, 422, 200, 200]
    assert not [reply.content for reply in replies if KEY in reply.content.decode()]
    row = ModelEndpoint.objects.get()
    assert KEY not in row.api_key_encrypted + row.headers_encrypted
    route = queries.resolve_model(ada.team_id, "m")
    assert route is not None and (route.api_key, route.headers) == (KEY, {"X-Tenant": KEY})
    assert KEY not in repr(route) + caplog.text + str(list(AuditEvent.objects.values()))


@pytest.mark.parametrize(
    "url",
    ["ftp://models.example/v1", "models.example/v1", "https://", "https://user@models.example", "https://models.example/v1?key=1",
     "https://models.example/#x", "https://models.example:99999/", "https://models.example/a b", "file:///etc/passwd", "https://[::1", "https://models.example/\n"],
)  # fmt: skip
def test_a_bad_url_is_refused_with_its_field(url: str, ada_key: str) -> None:
    reply = post(ada_key, pattern="m", base_url=url)
    assert reply.status_code == 422
    assert [problem["path"] for problem in reply.json()["error"]["details"]["problems"]] == ["base_url"]


INSIDE = [
    "http://127.0.0.1:8000/v1", "http://localhost/v1", "http://10.1.2.3/v1", "http://192.168.0.1", "http://172.16.0.9", "http://169.254.169.254/latest",
    "http://[::1]/v1", "http://[fe80::1]/", "http://[fd00::1]/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://0.0.0.0/", "http://100.64.0.1/",
    "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://inside.example/v1", "http://both.example/v1", "http://224.0.0.1/",
]  # fmt: skip


@pytest.mark.parametrize("url", INSIDE)
def test_addresses_inside_are_for_instance_admins_only(url: str, ada: Caller, names: dict[str, list[str]]) -> None:
    names.update({"localhost": ["127.0.0.1", "::1"], "inside.example": ["10.0.0.5"], "both.example": ["93.184.216.34", "127.0.0.1"]})
    with pytest.raises(AppError) as refused:
        actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=False), pattern="m", base_url=url)
    assert refused.value.status == 422 and "instance admin" in refused.value.message
    row = actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=True), pattern="m", base_url=url)
    assert row.by_instance_admin


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:4700::1111", "8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert addresses.is_public(ip_address(address))


def test_a_name_that_moved_inside_is_refused_at_call_time(ada: Caller, names: dict[str, list[str]]) -> None:
    actions.create_endpoint(dataclasses.replace(ada, is_instance_admin=False), pattern="m", base_url="http://models.example/v1")
    names["models.example"] = ["127.0.0.1"]
    route = queries.resolve_model(ada.team_id, "m")
    assert route is not None and not route.may_lead_inside
    with pytest.raises(AppError) as refused:
        refuse_private(route.base_url)
    assert refused.value.code == "private_address"


@pytest.mark.parametrize(
    ("patterns", "model", "wins"),
    [
        (["gpt-*", "gpt-4*", "*"], "gpt-4o", "gpt-4*"),
        (["gpt-*", "gpt-4o"], "gpt-4o", "gpt-4o"),
        (["gpt-4o-very-long-*", "gpt-4o"], "gpt-4o", "gpt-4o"),
        (["*"], "anything/at-all", "*"),
        (["GPT-*"], "gpt-4", None),
        (["gpt-?"], "gpt-4", None),
        (["gpt-[45]"], "gpt-4", None),
        (["*-mini"], "gpt-4-mini", "*-mini"),
        (["a*c*e"], "abcde", "a*c*e"),
        (["a.c"], "abc", None),
        ([], "gpt-4", None),
    ],
)
def test_the_exact_name_wins_then_the_longest_pattern(patterns: list[str], model: str, wins: str | None) -> None:
    assert best(patterns, model) == wins


def test_a_resolved_route_is_found_again_by_its_id_until_it_is_deleted(ada: Caller) -> None:
    row = actions.create_endpoint(ada, pattern="gpt-*", base_url="https://models.example/v1")
    route = queries.resolve_model(ada.team_id, "gpt-4o")
    assert route is not None and route == queries.route_by_id(row.id, "gpt-4o")
    actions.delete_endpoint(ada, row.id)
    assert queries.route_by_id(row.id, "gpt-4o") is None and queries.resolve_model(ada.team_id, "gpt-4o") is None


def test_another_teams_endpoint_is_not_there(ada: Caller, cy: Caller, cy_key: str) -> None:
    row = actions.create_endpoint(ada, pattern="gpt-*", base_url="https://models.example/v1")
    assert Client().get("/api/models", headers=bearer(cy_key)).json()["items"] == []
    assert Client().get("/v2/models", headers=bearer(cy_key)).json() == {"items": [], "total": 0}
    assert Client().delete(f"/api/models/{row.id}", headers=bearer(cy_key)).status_code == 404
    assert queries.resolve_model(cy.team_id, "gpt-4o") is None and queries.find_patterns(cy.team_id) == []
    assert actions.create_endpoint(cy, pattern="gpt-*", base_url="https://models.example/v1").id != row.id


def test_a_pattern_is_taken_once_per_team(ada: Caller, ada_key: str) -> None:
    assert post(ada_key, pattern="m", base_url="https://models.example").status_code == 201
    again = post(ada_key, pattern="m", base_url="https://models.example")
    assert again.status_code == 409 and "m" in again.json()["detail"]


def test_hud_lists_models_with_the_agent_type_that_its_cli_needs(ada: Caller, ada_key: str) -> None:
    row = actions.create_endpoint(ada, pattern="stub/chat-1", base_url="https://models.example/v1")
    page = Client().get("/v2/models?limit=100&offset=0", headers=bearer(ada_key)).json()
    assert page == {
        "items": [
            {"id": str(row.id), "name": "stub/chat-1", "model_name": "stub/chat-1", "sdk_agent_type": "openai_compatible", "is_trainable": False,
             "provider": {"name": "models.example"}, "created_at": row.created_at.isoformat()}
        ],
        "total": 1,
    }  # fmt: skip
    assert Client().get("/v2/models?offset=1", headers=bearer(ada_key)).json() == {"items": [], "total": 1}


def test_the_first_boot_text_makes_an_endpoint(ada: Caller) -> None:
    admin = dataclasses.replace(ada, is_instance_admin=True)
    row = actions.endpoint_from_text(admin, f"stub-*|http://127.0.0.1:9/v1|{KEY}")
    assert (row.pattern, row.base_url, row.by_instance_admin) == ("stub-*", "http://127.0.0.1:9/v1", True)
    assert actions.endpoint_from_text(admin, "plain|http://127.0.0.1:9/v1").api_key_encrypted == ""
    with pytest.raises(AppError) as refused:
        actions.endpoint_from_text(admin, "stub-*")
    assert "pattern|url|key" in refused.value.message


def test_who_may_not_write_makes_no_endpoint(ada: Caller) -> None:
    with pytest.raises(AppError) as refused:
        actions.create_endpoint(dataclasses.replace(ada, scopes=frozenset({"read"})), pattern="m", base_url="https://models.example")
    assert refused.value.status == 403
    assert Client().get("/api/models").status_code == 401


@pytest.mark.parametrize("header", ["Host", "content-length", "Cookie", "Bad Header", "X:Y", "Connection"])
def test_headers_that_would_break_the_call_are_refused(header: str, ada_key: str) -> None:
    reply = post(ada_key, pattern="m", base_url="https://models.example", headers={header: "v"})
    assert reply.status_code == 422 and header in reply.json()["detail"]


def test_an_instance_admins_key_carries_the_right_to_lead_inside(ada: Caller, ada_key: str) -> None:
    User.objects.filter(id=ada.user_id).update(is_instance_admin=True)
    assert post(ada_key, pattern="m", base_url="http://127.0.0.1:9/v1").status_code == 201
