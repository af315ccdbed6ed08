"""Tunnels in this process: a websocket's frames through the relay to a sandbox and back; what is refused, and how that is told; and the
keeper that starts and ends sandboxes (plain processes here: `tests/peers/test_runtime_tunnel.py` has containers and the real client)."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from accounts.callers import Caller
from environments import actions as environments
from environments.models import EnvironmentVersion, RuntimeSession
from environments.sessions import actions, keeper, tunnels
from environments.sessions.keeper import Keeper
from environments.sessions.relay import Relay, first_line
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.processes import SubprocessEngine, SubprocessSandbox
from tests.conftest import Person
from tests.support.environments import EXITS, LINGERS, python, serve_sample
from web.threads import in_reader, in_writer

HELLO = b'{"jsonrpc":"2.0","id":7,"method":"hello","params":{}}\n'


@pytest.fixture
def letters(ada: Caller) -> EnvironmentVersion:
    version = environments.register_image(ada, name="letters", image="letters:1")
    EnvironmentVersion.objects.update(status="ready", image_id="sha256:1")
    return version


@dataclass
class Place:
    """A sandbox as the relay needs it."""

    port: int
    host: str = "127.0.0.1"


@dataclass
class Echo:
    """Gives back what comes; after the end of the input says so, then ends."""

    port: int = 0
    connections: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.write(b"(end)")
        writer.close()


@asynccontextmanager
async def relayed(session_id: uuid.UUID) -> AsyncIterator[tuple[Relay, Echo]]:
    echo = Echo()
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    place = Place(server.sockets[0].getsockname()[1])
    async with Relay("127.0.0.1", lambda asked: place if asked == session_id else None) as relay:  # type: ignore[arg-type, return-value]
        yield relay, echo
    server.close()


async def dial(relay: Relay) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = relay.address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def test_bytes_go_both_ways_and_a_half_closed_side_still_hears() -> None:
    session_id = uuid.uuid4()
    async with relayed(session_id) as (relay, _):
        reader, writer = await dial(relay)
        writer.write(first_line(session_id) + b"x" * 200_000)
        writer.write_eof()
        assert await reader.read(-1) == b"x" * 200_000 + b"(end)"
        writer.close()


@pytest.mark.parametrize("line", [b"nonsense\n", b"\xff\xfe\n", b"x" * 5_000 + b"\n", b"\n"])
async def test_an_unsigned_line_reaches_no_sandbox(line: bytes) -> None:
    async with relayed(uuid.uuid4()) as (relay, echo):
        reader, writer = await dial(relay)
        writer.write(line)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(1)
        writer.close()
    assert echo.connections == 0


async def test_another_sessions_line_and_an_old_one_reach_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = uuid.uuid4()
    async with relayed(session_id) as (relay, echo):
        for line, good_for in ((first_line(uuid.uuid4()), 30), (first_line(session_id), -1)):
            monkeypatch.setattr("environments.sessions.relay.GOOD_FOR_S", good_for)
            reader, writer = await dial(relay)
            writer.write(line)
            assert await reader.read(-1) == b""
            writer.close()
    assert echo.connections == 0


# — the websocket


@dataclass
class Socket:
    """A client of the ASGI application."""

    key: str
    session_id: str
    sent: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.incoming.put_nowait({"type": "websocket.connect"})

    def say(self, data: bytes) -> None:
        self.incoming.put_nowait({"type": "websocket.receive", "bytes": data})

    def hang_up(self) -> None:
        self.incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def run(self) -> None:
        scope = {"headers": [(b"authorization", f"Bearer {self.key}".encode())], "url_route": {"kwargs": {"session_id": self.session_id}}}
        async with asyncio.timeout(60):
            await tunnels.tunnel(scope, self.incoming.get, self.send)

    @property
    def heard(self) -> bytes:
        return b"".join(message.get("bytes", b"") for message in self.sent)

    @property
    def close_code(self) -> int | None:
        return self.sent[-1].get("code")


async def until(what: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not what():
            await asyncio.sleep(0.01)


@pytest.mark.django_db(transaction=True)
async def test_frames_reach_the_sandbox_and_come_back(ada_person: Person, letters: EnvironmentVersion) -> None:
    session = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    async with relayed(session.id) as (relay, _):
        await in_writer(RuntimeSession.objects.filter(id=session.id).update, state="open", relay=relay.address)
        socket = Socket(ada_person.key, str(session.id))
        running = asyncio.create_task(socket.run())
        socket.say(HELLO)
        socket.say(b"y" * 100_000)
        await until(lambda: len(socket.heard) == len(HELLO) + 100_000)
        socket.hang_up()
        await running
    assert socket.sent[0]["type"] == "websocket.accept" and socket.heard == HELLO + b"y" * 100_000


@pytest.mark.django_db(transaction=True)
async def test_a_session_that_is_not_ready_is_closed_cleanly(ada_person: Person, letters: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "HOLD_S", 0.05)
    session = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    socket = Socket(ada_person.key, str(session.id))
    socket.say(HELLO)
    await socket.run()
    assert [message["type"] for message in socket.sent] == ["websocket.accept", "websocket.close"] and socket.close_code == 1000


@pytest.mark.django_db(transaction=True)
async def test_what_the_client_cannot_mend_is_the_answer_to_its_first_call(
    ada_person: Person, cy_person: Person, letters: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    monkeypatch.setattr(tunnels, "TUNNELS_A_SESSION", 0)
    cases = [("wrong-key", session.id, "key"), (cy_person.key, session.id, "not found"), (ada_person.key, "nonsense", "not found"), (ada_person.key, session.id, "at most 0 tunnels")]
    for key, session_id, said in cases:
        assert said in await refusal(key, str(session_id))
    await in_writer(RuntimeSession.objects.filter(id=session.id).update, state="failed", ended_at=session.created_at, error="no licence found")
    assert "no licence found" in await refusal(ada_person.key, str(session.id))


async def refusal(key: str, session_id: str) -> str:
    socket = Socket(key, session_id)
    socket.say(HELLO)
    await socket.run()
    answer = json.loads(socket.heard)
    assert answer["id"] == 7 and answer["error"]["code"] == -32000 and socket.heard.endswith(b"\n")
    return str(answer["error"]["message"])


@pytest.mark.django_db(transaction=True)
async def test_a_session_that_is_closed_ends_its_tunnels(ada_person: Person, letters: EnvironmentVersion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "CHECK_EVERY_S", 0.05)
    monkeypatch.setattr(tunnels, "FIRST_CALL_S", 0.05)
    session = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    async with relayed(session.id) as (relay, _):
        await in_writer(RuntimeSession.objects.filter(id=session.id).update, state="open", relay=relay.address)
        socket = Socket(ada_person.key, str(session.id))
        running = asyncio.create_task(socket.run())
        socket.say(HELLO)
        await until(lambda: socket.heard)
        await in_writer(actions.close_session, ada_person.caller, session)
        await running
    assert socket.close_code == 1000


# — the keeper


class Processes:
    """Stands in for the Docker engine: runs a command whatever image it is asked for."""

    kinds = frozenset({"docker"})

    def __init__(self, command: list[str]) -> None:
        self.command, self.started = command, list[SubprocessSandbox]()
        self.labels = list[dict[str, str]]()

    async def start(self, spec: SandboxSpec, labels: Any) -> SubprocessSandbox:
        self.labels.append(dict(labels))
        sandbox = await SubprocessEngine().start(SandboxSpec(kind="subprocess", command=self.command), labels)
        self.started.append(sandbox)
        return sandbox

    async def close(self) -> None:
        return None

    async def all_ended(self) -> bool:
        return all([await sandbox.exit_state() is not None for sandbox in self.started])


@asynccontextmanager
async def keeping(engine: Processes | None, room: int = 4) -> AsyncIterator[None]:
    task = asyncio.create_task(Keeper("w1", "instance", engine, room=room, relay_host="127.0.0.1", why_no_docker="It was not found.").follow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert engine is None or await engine.all_ended()


async def state_becomes(session: RuntimeSession, *states: str) -> RuntimeSession:
    async with asyncio.timeout(60):
        while session.state not in states:
            await asyncio.sleep(0.05)
            await in_reader(session.refresh_from_db)
    return session


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOOK_EVERY_S", "RENEW_EVERY_S", "WATCH_EVERY_S"):
        monkeypatch.setattr(keeper, name, 0.05)


@pytest.mark.usefixtures("quick")
@pytest.mark.django_db(transaction=True)
async def test_a_session_lives_from_its_claim_to_its_closing(ada_person: Person, letters: EnvironmentVersion) -> None:
    session, engine = await in_writer(actions.open_session, ada_person.caller, environment="letters"), Processes(serve_sample())
    async with keeping(engine):
        await state_becomes(session, "open", "failed")
        assert session.state == "open" and session.relay and engine.labels[0]["proctor.session"] == str(session.id)
        socket = Socket(ada_person.key, str(session.id))
        running = asyncio.create_task(socket.run())
        socket.say(HELLO)
        await until(lambda: b'"session_id"' in socket.heard)
        await in_writer(actions.close_session, ada_person.caller, session)
        await running
        await state_becomes(session, "closed")
        assert await engine.all_ended() and session.error is None


@pytest.mark.usefixtures("quick")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("engine", "said"), [(Processes(python(EXITS)), "exit code 3 before it served"), (None, "need a Docker engine. It was not found.")])
async def test_an_environment_that_cannot_be_had_fails_its_session(
    ada_person: Person, letters: EnvironmentVersion, engine: Processes | None, said: str
) -> None:
    session = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    async with keeping(engine):
        await state_becomes(session, "failed")
    assert said in (session.error or "")


@pytest.mark.usefixtures("quick")
@pytest.mark.django_db(transaction=True)
async def test_further_sessions_wait_for_room_and_a_stopped_worker_ends_its_own(ada_person: Person, letters: EnvironmentVersion) -> None:
    first = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    second = await in_writer(actions.open_session, ada_person.caller, environment="letters")
    engine = Processes(serve_sample())
    async with keeping(engine, room=1):
        await state_becomes(first, "open")
        await in_reader(second.refresh_from_db)
        assert second.state == "waiting"
        await in_writer(actions.close_session, ada_person.caller, first)
        await state_becomes(second, "open")
    await in_reader(second.refresh_from_db)
    assert (second.state, second.error) == ("closed", "The worker stopped")


@pytest.mark.usefixtures("quick")
@pytest.mark.django_db(transaction=True)
async def test_a_session_that_somebody_else_ended_leaves_no_sandbox(ada_person: Person, letters: EnvironmentVersion) -> None:
    session, engine = await in_writer(actions.open_session, ada_person.caller, environment="letters"), Processes(python(LINGERS))
    async with keeping(engine):
        await until(lambda: engine.started)
        await in_writer(RuntimeSession.objects.filter(id=session.id).update, state="failed", ended_at=session.created_at, claimed_until=None)
        async with asyncio.timeout(60):
            while not await engine.all_ended():
                await asyncio.sleep(0.05)
