"""How a version is made ready: claimed by one worker, probed, and failed with a sentence that says what the environment did."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.callers import Caller
from environments import actions, builder, claims, deploy, probe, queries
from environments.models import EnvironmentVersion
from environments.variables import set_variables
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.processes import SubprocessEngine, SubprocessSandbox
from tests.support.environments import EXITS, GARBAGE, LINGERS, log_of, python, serve_sample
from web.errors import AppError

SPEAKS = """
import json, socket
s = socket.create_server(('127.0.0.1', 0))
print('HUD_SERVE_PORT=' + str(s.getsockname()[1]), flush=True)
while True:
    c = s.accept()[0]
    f = c.makefile('rw')
    for line in f:
        call = json.loads(line)
        hello = {'session_id': 's', 'env': {'name': 'e', 'version': '1'}, 'bindings': []}
        reply = {'result': hello} if call['method'] == 'hello' else %s
        f.write(json.dumps({'jsonrpc': '2.0', 'id': call['id'], **reply}) + chr(10))
        f.flush()
"""


class Processes:
    """Stands in for the Docker engine: runs a command whatever image it is asked for, and counts what is left."""

    def __init__(self, command: list[str]) -> None:
        self.command, self.started = command, list[SubprocessSandbox]()

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> SubprocessSandbox:
        sandbox = await SubprocessEngine().start(SandboxSpec(kind="subprocess", command=self.command), labels)
        self.started.append(sandbox)
        return sandbox

    async def list_ours(self, instance: str) -> list[Any]:
        return []

    async def all_ended(self) -> bool:
        return all([await sandbox.exit_state() is not None for sandbox in self.started])


@pytest.fixture
def waiting(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> EnvironmentVersion:
    async def image(*_: Any) -> tuple[str, str]:
        return "letters:1", "sha256:1"

    monkeypatch.setattr(builder, "_image", image)
    return actions.register_image(ada, name="letters", image="letters:1")


def process(command: list[str], worker: str = "w1") -> bool:
    async def story() -> bool:
        engine = Processes(command)
        done = await builder.process_one(worker, "instance", engine=engine)  # type: ignore[arg-type]
        assert await engine.all_ended()
        return done

    return async_to_sync(story)()


def test_a_version_that_serves_is_ready_with_what_it_holds(waiting: EnvironmentVersion) -> None:
    assert process(serve_sample()) is True
    waiting.refresh_from_db()
    assert (waiting.status, waiting.image, waiting.image_id, waiting.error) == ("ready", "letters:1", "sha256:1", None)
    assert [template["id"] for template in waiting.manifest["templates"]] == ["solve"]
    assert waiting.manifest["templates"][0]["args"]["required"] == ["question", "answer"]
    assert waiting.manifest["capabilities"] == [] and waiting.ready_at is not None
    assert "1 templates" in log_of(waiting) and waiting.claimed_until is None


def test_without_a_waiting_version_there_is_nothing_to_do(ada: Caller) -> None:
    assert process(serve_sample()) is False


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (EXITS, ["exit code 3", "no licence found"]),
        (LINGERS, ["did not serve within", "here"]),
        (GARBAGE.format(port=0), ["HTTP/1.1 400"]),
        (SPEAKS % "{'error': {'code': -32601, 'message': 'what?'}}", ["tasks.list failed", "what?"]),
        (SPEAKS % "{'result': {'tasks': 'none'}}", ["tasks.list was answered with something else"]),
    ],
)
def test_an_environment_that_misbehaves_fails_its_version_and_says_how(
    program: str, said: list[str], waiting: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "STARTUP_S", 3.0 if program != LINGERS else 1.0)
    assert process(python(program)) is True
    waiting.refresh_from_db()
    assert waiting.status == "failed" and waiting.ready_at is None
    for text in said:
        assert text in (waiting.error or ""), waiting.error
    assert (waiting.error or "") in log_of(waiting)


def test_a_worker_without_docker_fails_a_version_and_says_why(waiting: EnvironmentVersion) -> None:
    assert async_to_sync(builder.process_one)("w1", "instance", why_no_docker="PROCTOR_SANDBOX=subprocess") is True
    waiting.refresh_from_db()
    assert waiting.status == "failed" and "PROCTOR_SANDBOX=subprocess" in (waiting.error or "")


def test_no_worker_takes_a_failed_version_again(waiting: EnvironmentVersion) -> None:
    process(python(EXITS))
    assert process(serve_sample()) is False


def test_a_defect_of_ours_fails_the_version_without_its_details(waiting: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("/secret/path")

    monkeypatch.setattr(builder, "probe", broken)
    process(serve_sample())
    waiting.refresh_from_db()
    assert waiting.status == "failed" and "KeyError" in (waiting.error or "") and "/secret/path" not in (waiting.error or "")


def test_a_stopped_worker_gives_its_version_back(waiting: EnvironmentVersion) -> None:
    async def story() -> None:
        engine = Processes(python(LINGERS))
        work = asyncio.create_task(builder.process_one("w1", "instance", engine=engine))  # type: ignore[arg-type]
        while not engine.started:
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await engine.all_ended()

    async_to_sync(story)()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.claimed_by, waiting.attempts) == ("pending", None, 0)


def test_a_worker_that_lost_its_claim_stops_and_writes_nothing(waiting: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "KEEP_EVERY_S", 0.05)

    async def story() -> None:
        engine = Processes(python(LINGERS))
        work = asyncio.create_task(builder.process_one("w1", "instance", engine=engine))  # type: ignore[arg-type]
        while not engine.started:
            await asyncio.sleep(0.01)
        await builder.in_writer(EnvironmentVersion.objects.filter(id=waiting.id).update, claimed_by="w2", attempts=2)
        assert await work is True
        assert await engine.all_ended()

    async_to_sync(story)()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.claimed_by) == ("probing", "w2")


def test_one_worker_gets_a_version_until_its_lease_ends(ada: Caller) -> None:
    version = actions.register_image(ada, name="letters", image="a:1")
    first = claims.claim_next("w1")
    assert first is not None and first.version_id == version.id and claims.claim_next("w2") is None
    EnvironmentVersion.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    second = claims.claim_next("w2")
    assert second is not None and second.attempt == 2
    assert claims.keep(first) is False
    assert claims.finish_version(first, log="", error="late") is False
    assert claims.finish_version(second, log="", manifest={}, image="a:1", image_id="sha256:1") is True
    version.refresh_from_db()
    assert (version.status, version.error) == ("ready", None)


def test_the_oldest_version_goes_first_and_the_sample_is_never_claimed(ada: Caller) -> None:
    actions.register_sample(ada.team_id)
    first = actions.register_image(ada, name="b", image="a:1")
    second = actions.register_image(ada, name="a", image="a:1")
    got = [claims.claim_next("w1"), claims.claim_next("w1"), claims.claim_next("w1")]
    assert [claim.version_id if claim else None for claim in got] == [first.id, second.id, None]


def test_a_version_that_costs_three_workers_their_life_is_failed(ada: Caller) -> None:
    version = actions.register_image(ada, name="letters", image="a:1")
    for _ in range(claims.MAX_ATTEMPTS):
        assert claims.claim_next("w") is not None
        assert claims.free_claims() == 1
    assert claims.claim_next("w") is None
    version.refresh_from_db()
    assert version.status == "failed" and "lost 3 times" in (version.error or "")


def test_a_long_log_keeps_its_beginning_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "LOG_CHARACTERS", 100)
    log = builder.Log()
    for number in range(1_000):
        log.add(f"line {number}")
    lines = (log.taken(last=True) or "").splitlines()
    assert lines[0] == "line 0" and lines[-1] == "line 999" and "(787 lines left out)" in lines
    assert len(lines) == 13 + 1 + builder.LAST_LINES


def test_no_value_of_a_secret_is_in_a_log() -> None:
    log = builder.Log(["hunter2hunter2", "hunter2", "abc"])
    log.add("got hunter2hunter2 and hunter2, abc")
    assert log.taken() == "got [secret] and [secret], abc\n" and log.taken() is None


def test_lines_are_appended_in_order_and_without_nul(ada: Caller) -> None:
    version = actions.register_image(ada, name="letters", image="a:1")
    claim = claims.claim_next("w1")
    assert claim is not None and claims.keep(claim, "one\0\n") and claims.keep(claim) and claims.keep(claim, "two\n")
    assert [(chunk.seq, chunk.text) for chunk in queries.read_log(version.id)] == [(1, "one\n"), (2, "two\n")]
    assert [chunk.seq for chunk in queries.read_log(version.id, 1)] == [2]


def test_a_cancelled_version_ends_and_its_work_stops(waiting: EnvironmentVersion, ada: Caller) -> None:
    async def story() -> None:
        engine = Processes(python(LINGERS))
        work = asyncio.create_task(builder.process_one("w1", "instance", engine=engine))  # type: ignore[arg-type]
        while not engine.started:
            await asyncio.sleep(0.01)
        asked = await builder.in_writer(deploy.cancel, ada, waiting)
        assert (asked.status, asked.cancel_requested_at is None) == ("probing", False)
        assert await work is True
        assert await engine.all_ended()

    async_to_sync(story)()
    waiting.refresh_from_db()
    assert (waiting.status, waiting.error, waiting.claimed_until) == ("cancelled", "Cancelled", None)
    assert log_of(waiting).endswith("Cancelled\n")


def test_a_version_that_nobody_works_on_is_cancelled_at_once(waiting: EnvironmentVersion, ada: Caller) -> None:
    assert deploy.cancel(ada, waiting).status == "cancelled"
    assert process(serve_sample()) is False
    with pytest.raises(AppError, match="has ended already"):
        deploy.cancel(ada, waiting)


def test_a_cancelled_version_of_a_lost_worker_is_not_taken_again(waiting: EnvironmentVersion, ada: Caller) -> None:
    assert claims.claim_next("w1") is not None
    assert deploy.cancel(ada, waiting).status == "probing"
    assert claims.free_claims() == 1 and claims.claim_next("w2") is None
    waiting.refresh_from_db()
    assert waiting.status == "cancelled"


def test_variables_reach_the_sandbox_and_stay_out_of_the_log(waiting: EnvironmentVersion, ada: Caller) -> None:
    set_variables(ada, waiting.environment, {"TOKEN": "s3cr3t-value"})
    seen = list[Mapping[str, str]]()

    class Tells(Processes):
        async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> SubprocessSandbox:
            seen.append(dict(spec.env))
            return await super().start(spec, labels)

    async_to_sync(builder.process_one)("w1", "instance", engine=Tells(python("print('it is s3cr3t-value'); raise SystemExit(3)")))  # type: ignore[arg-type]
    waiting.refresh_from_db()
    assert seen == [{"TOKEN": "s3cr3t-value"}] and waiting.status == "failed"
    assert "it is [secret]" in (waiting.error or "") and "s3cr3t-value" not in log_of(waiting) + (waiting.error or "")
