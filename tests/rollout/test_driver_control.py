"""The control channel's client against the real server: calls in turn, digits kept, tunnels, heartbeats, and a broken line."""

from __future__ import annotations

import asyncio
import json

import pytest

from proctor.environment import Capability, Environment
from proctor.environment.server import Server
from proctor.rollout.drivers import control
from proctor.rollout.drivers.control import ControlDriver
from proctor.rollout.errors import ControlError, ControlLost, RolloutFailed
from proctor.rollout.fake import FakeEngine, FakeScript
from proctor.rollout.plan import SandboxSpec


def letters() -> Environment:
    env = Environment("letters", version="1.2")

    @env.template()
    async def count(word: str):
        answer = yield f"Count {word}"
        yield {"score": 1.0 if answer == "3" else 0.0, "info": {"big": 2**70}}

    @env.template()
    async def slow():
        yield "wait"
        await asyncio.Event().wait()
        yield 1.0

    return env


@pytest.fixture
async def session():
    async with Server(letters()) as server:
        session = await ControlDriver().connect("127.0.0.1", server.port)
        yield session
        await session.close()


async def fake_session(script: FakeScript):
    sandbox = await FakeEngine(script).start(SandboxSpec("fake"), {})
    return sandbox, await ControlDriver().connect(sandbox.host, sandbox.port)


async def test_a_task_is_listed_started_and_graded_against_the_real_server(session):
    assert (session.manifest.env_name, session.manifest.env_version) == ("letters", "1.2")
    assert {task["id"] for task in json.loads(await session.list_tasks())["tasks"]} == {"count", "slow"}
    assert json.loads(await session.start("count", '{\n "word": "banana"\n}')) == {"prompt": "Count banana"}
    frame = await session.grade('"3"')
    assert json.loads(frame)["score"] == 1.0 and str(2**70) in frame


async def test_errors_carry_the_channels_code(session):
    for call, code in ((session.start("nope", "{}"), -32602), (session.grade('"x"'), -32600), (session.start("count", '{"z":1}'), -32000)):
        with pytest.raises(ControlError) as caught:
            await call
        assert caught.value.code == code


async def test_a_cancel_is_answered_while_grading_hangs(session):
    await session.start("slow", "{}")
    grading = asyncio.create_task(session.grade('"x"'))
    await asyncio.sleep(0.05)
    await session.cancel(2.0)
    (result,) = await asyncio.gather(grading, return_exceptions=True)
    assert isinstance(result, ControlError)
    assert not session.lost.done()


async def test_a_call_that_was_given_up_does_not_confuse_the_next(session):
    await session.start("count", '{"word":"banana"}')
    given_up = asyncio.create_task(session.list_tasks())
    await asyncio.sleep(0)
    given_up.cancel()
    assert json.loads(await session.grade('"3"'))["score"] == 1.0


async def test_an_ended_environment_is_noticed_without_a_call():
    async with Server(letters()) as server:
        session = await ControlDriver().connect("127.0.0.1", server.port)
    with pytest.raises(ControlLost):
        await session.lost
    with pytest.raises(ControlLost):
        await session.list_tasks()
    await session.close()


async def test_nobody_at_the_address_is_not_ready_yet():
    async with Server(letters()) as server:
        port = server.port
    with pytest.raises(ControlLost):
        await ControlDriver().connect("127.0.0.1", port)


async def test_a_heartbeat_says_hello_again_with_the_session(monkeypatch):
    monkeypatch.setattr(control, "HEARTBEAT_EVERY_S", 0.02)
    engine = FakeEngine()
    sandbox = await engine.start(SandboxSpec("fake"), {})
    session = await ControlDriver().connect(sandbox.host, sandbox.port)
    while len(engine.tally.calls) < 3:
        await asyncio.sleep(0.01)
    assert engine.tally.calls[1:3] == [("hello", {"session_id": "sess-fake"})] * 2
    await session.close()
    await sandbox.remove()


async def test_a_heartbeat_never_comes_between_a_call_and_its_reply(monkeypatch):
    monkeypatch.setattr(control, "HEARTBEAT_EVERY_S", 0.02)
    engine = FakeEngine(FakeScript(silent=frozenset({"tasks.grade"})))
    sandbox = await engine.start(SandboxSpec("fake"), {})
    session = await ControlDriver().connect(sandbox.host, sandbox.port)
    grading = asyncio.create_task(session.grade('"x"'))
    while "tasks.grade" not in engine.tally.methods():
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    assert engine.tally.methods()[-1] == "tasks.grade"
    await session.close()
    assert isinstance((await asyncio.gather(grading, return_exceptions=True))[0], ControlLost)
    await sandbox.remove()


async def test_an_environment_that_stops_answering_heartbeats_is_lost(monkeypatch):
    monkeypatch.setattr(control, "HEARTBEAT_EVERY_S", 0.01)
    monkeypatch.setattr(control, "HEARTBEAT_REPLY_S", 0.05)
    script = FakeScript()
    sandbox, session = await fake_session(script)
    script.silent = frozenset({"hello"})
    with pytest.raises(ControlLost, match="heartbeats"):
        await session.lost
    await session.close()
    await sandbox.remove()


async def test_garbage_ends_the_session_for_good():
    sandbox, session = await fake_session(FakeScript(garbage=frozenset({"tasks.start"})))
    with pytest.raises(RolloutFailed, match="broke the control protocol"):
        await session.start("x", "{}")
    with pytest.raises(RolloutFailed):
        await session.grade('"x"')
    await session.close()
    await sandbox.remove()


async def test_a_call_over_the_channels_limit_is_refused_before_it_is_sent(session):
    with pytest.raises(RolloutFailed, match="16 MiB"):
        await session.grade(json.dumps("x" * (16 * 1024 * 1024)))
    assert not session.lost.done()


async def test_a_frame_over_the_limit_is_the_environments_fault():
    sandbox, session = await fake_session(FakeScript(start=lambda _: {"prompt": "x" * (17 * 1024 * 1024)}))
    with pytest.raises(RolloutFailed, match="over 16 MiB"):
        await session.start("x", "{}")
    await session.close()
    await sandbox.remove()


async def test_a_capability_is_reached_through_the_control_port():
    async def shout(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    service = await asyncio.start_server(shout, "127.0.0.1", 0)
    env = letters()
    env.add_capability(Capability("echo", "echo/1", f"tcp://127.0.0.1:{service.sockets[0].getsockname()[1]}/path"))
    async with Server(env) as server:
        session = await ControlDriver().connect("127.0.0.1", server.port)
        (capability,) = session.manifest.capabilities
        address = await session.address_of(capability)
        assert address.startswith("tcp://127.0.0.1:") and address.endswith("/path") and address != capability.url
        port = int(address.split(":")[2].split("/")[0])
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            assert await reader.readline() == b"HELLO\n"
            writer.close()
        await session.close()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
    service.close()
