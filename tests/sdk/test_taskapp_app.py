"""`create_task_app`: an app of one's own, asked over ASGI; and `proctor task-app validate`, which judges apps."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from proctor.cli import app as cli
from proctor.taskapp import TaskAppConfig, TaskInfo, create_task_app, load_rubric
from proctor.taskapp.rollouts import RolloutRequest
from tests.support.fake_task_app import KEY, Says, fake_task_app, recorded, well

BASE = TaskInfo.model_validate({**recorded("05-"), "extra": "kept"})
BODY = {"run_id": "r", "env": {"seed": 1}, "policy": {}, "ops": ["agent", "env"], "mode": "eval"}


def respond(request: RolloutRequest) -> dict[str, Any]:
    return {**recorded("10-"), "run_id": request.run_id}


def an_app(rollout: Callable[..., Any] = respond, **changes: Any) -> Any:
    def instances(seeds: list[int]) -> list[TaskInfo]:
        return [BASE.model_copy(update={"task_metadata": {"seed": seed}}) for seed in seeds]

    config = {"app_id": "count", "base_task_info": BASE, "provide_task_instances": instances, "rollout": rollout, "keys": [KEY]}
    return create_task_app(TaskAppConfig(**{**config, **changes}))


def client_of(app: Any, key: str | None = KEY, **headers: str) -> httpx.AsyncClient:
    known = {**({"X-API-Key": key} if key else {}), **headers}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app", headers=known)


async def test_c1_create_task_app_serves_all_endpoints() -> None:
    rubric = load_rubric({"version": "1", "criteria": [{"id": "a", "description": "d"}]})
    async with client_of(an_app(rubrics={"outcome": rubric}, describe_taskset=lambda: {"size": 2})) as http:
        assert (await http.get("/")).json() == {"status": "ok", "service": "count"}
        assert (await http.get("/health")).json() == {"healthy": True, "auth": {"required": True}}
        info = (await http.get("/info")).json()
        assert info["rubrics"]["outcome"]["criteria"][0]["id"] == "a" and info["dataset"]["id"] == "counting"
        assert (await http.get("/task_info")).json() == {"taskset": {"size": 2}}
        assert (await http.get("/task_info?seed=3")).json()["task_metadata"] == {"seed": 3}
        many = (await http.get("/task_info?seeds=1&seeds=2&seed=9")).json()
        assert [one["task_metadata"]["seed"] for one in many] == [9, 1, 2] and many[0]["extra"] == "kept"
        assert (await http.post("/rollout", json=BODY)).json()["metrics"]["mean_return"] == 1.0
        assert (await http.post("/done")).json()["ok"] is True
        assert (await http.head("/")).content == b""


@pytest.mark.parametrize("key", [None, "wrong", "nope, no"])
async def test_a_wrong_key_is_401_and_nothing_of_the_right_one_is_said(key: str | None) -> None:
    async with client_of(an_app(), key) as http:
        for path in ("/health", "/info", "/task_info"):
            reply = await http.get(path)
            assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert reply.json()["error"]["code"] == "unauthorised" and KEY[:4] not in reply.text
        assert (await http.get("/")).status_code == 200


async def test_keys_come_from_the_environment_and_no_key_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVIRONMENT_API_KEY", "main-key")
    monkeypatch.setenv("ENVIRONMENT_API_KEY_ALIASES", "alias-a, alias-b")
    async with client_of(an_app(keys=None), None) as http:
        assert (await http.get("/health", headers={"Authorization": "Bearer nope,alias-b"})).status_code == 200
        monkeypatch.delenv("ENVIRONMENT_API_KEY")
        monkeypatch.delenv("ENVIRONMENT_API_KEY_ALIASES")
        assert (await http.get("/health")).json()["error"]["code"] == "missing_environment_api_key"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/rollout", b"{", 400, "bad_json"), ("POST", "/rollout", b"{}", 422, "invalid"), ("GET", "/task_info?seed=abc", None, 422, "invalid"),
        ("GET", "/task_info?seed=3.9", None, 422, "invalid"), ("GET", "/nope", None, 404, "not_found"), ("GET", "/rollout", None, 405, "method_not_allowed"),
        ("GET", "/debug/env", None, 404, "not_found"),
    ],
)  # fmt: skip
async def test_bad_input_has_one_envelope(method: str, path: str, body: bytes | None, status: int, code: str) -> None:
    async with client_of(an_app()) as http:
        reply = await http.request(method, path, content=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


async def test_a_crash_is_an_id_for_the_caller_and_a_trace_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def crash(request: RolloutRequest) -> Any:
        raise RuntimeError("secret detail")

    async with client_of(an_app(crash)) as http:
        with caplog.at_level(logging.ERROR):
            reply = await http.post("/rollout", json=BODY)
        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (500, "internal") and "secret detail" not in reply.text
        assert error["details"]["error_id"] in caplog.text and "secret detail" in caplog.text
        assert (await http.get("/health")).status_code == 200


async def test_a_rollout_that_gives_no_response_is_500_with_the_places() -> None:
    async with client_of(an_app(lambda request: {"run_id": 3})) as http:
        error = (await http.post("/rollout", json=BODY)).json()["error"]
        assert error["code"] == "invalid_response" and any(problem.startswith("metrics") for problem in error["details"]["problems"])


async def test_other_origins_are_let_in_only_when_named() -> None:
    async with client_of(an_app(cors_origins=["https://good.example"])) as http:
        assert (await http.get("/", headers={"Origin": "https://good.example"})).headers["access-control-allow-origin"] == "https://good.example"
        assert "access-control-allow-origin" not in (await http.get("/", headers={"Origin": "https://evil.example"})).headers


async def test_a_client_that_goes_cancels_its_rollout() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(request: RolloutRequest) -> Any:
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    messages = asyncio.Queue[dict[str, Any]]()
    messages.put_nowait({"type": "http.request", "body": json.dumps(BODY).encode()})
    scope = {"type": "http", "method": "POST", "path": "/rollout", "headers": [(b"x-api-key", KEY.encode())], "query_string": b""}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    call = asyncio.create_task(an_app(slow)(scope, messages.get, send))
    await started.wait()
    messages.put_nowait({"type": "http.disconnect"})
    await call
    assert cancelled.is_set() and sent == []


async def test_it_starts_and_stops_with_its_server() -> None:
    happened: list[str] = []
    app = an_app(on_start=lambda: happened.append("start"), on_stop=lambda: happened.append("stop"))
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        happened.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert happened == ["start", "lifespan.startup.complete", "stop", "lifespan.shutdown.complete"]


# — validate


def run_cli(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["task-app", "validate", *arguments])


LEAKY = {
    "health": Says({"healthy": True, "auth": {"required": True, "expected_prefix": "peer-k..."}}),
    "root": Says({"status": "ok"}, headers={"Access-Control-Allow-Origin": "https://elsewhere.invalid", "Access-Control-Allow-Credentials": "true"}),
}  # fmt: skip


def test_c1_validate_reports_leaks_open_origins_and_damage_and_fails_only_when_strict() -> None:
    with fake_task_app(well(**LEAKY)) as peer:
        plain = run_cli(peer.url, "--key", KEY, "--json")
        strict = run_cli(peer.url, "--key", KEY, "--strict")
        assert peer.posts() == []
    assert (plain.exit_code, strict.exit_code) == (0, 1), plain.output
    findings = json.loads(plain.output)
    warnings = {finding["subject"] for finding in findings if finding["level"] == "warning"}
    assert warnings == {"auth", "auth_leak", "cors", "damage"}
    assert [finding["subject"] for finding in findings if finding["level"] == "error"] == []
    assert KEY not in plain.output + strict.output


def test_validate_fails_for_an_app_that_is_not_there_or_lacks_instances() -> None:
    assert run_cli("http://127.0.0.1:1", "--timeout", "1").exit_code == 1
    with fake_task_app(well(task_info=Says([]))) as peer:
        outcome = run_cli(peer.url, "--key", KEY)
    assert outcome.exit_code == 1 and "asked for 2 tasks and answered 0" in outcome.output
    assert run_cli("javascript:alert(1)").exit_code == 2


def test_an_option_that_is_not_known_is_refused() -> None:
    with pytest.raises(TypeError, match="middleware"):
        an_app(middleware=[object()])
