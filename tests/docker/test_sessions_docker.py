"""A runtime session's container on a real engine, where its own address is used and where worker and sandbox share a network: limits, the
way in through the relay, and that nothing stays."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accounts.callers import Caller
from environments import actions as environments
from environments.models import EnvironmentVersion, RuntimeSession
from environments.sessions import actions, keeper
from environments.sessions.keeper import Keeper
from environments.sessions.relay import first_line
from environments.variables import set_variables
from proctor.rollout.sandbox import DockerEngine, docker_client
from tests.support.server import docker
from web.threads import in_reader, in_writer

pytestmark = [pytest.mark.docker, pytest.mark.django_db(transaction=True)]
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}\n'


@pytest.fixture
async def shared_network() -> AsyncIterator[str]:
    name = f"proctor-test-{uuid.uuid4().hex[:8]}"
    async with docker_client() as client:
        network = await client.networks.create({"Name": name, "Driver": "bridge"})
        yield name
        await network.delete()


@pytest.mark.parametrize("mode", ["host", "network"])
async def test_a_session_is_driven_through_the_relay_and_leaves_nothing(
    mode: str, ada: Caller, sample_image: str, engine: DockerEngine, instance: str, shared_network: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROCTOR_SANDBOX_NETWORK = shared_network if mode == "network" else None
    monkeypatch.setattr(keeper, "RENEW_EVERY_S", 0.1)
    session = await in_writer(waiting_session, ada, sample_image)
    task = asyncio.create_task(Keeper("w1", instance, engine, room=1, relay_host="127.0.0.1").follow())
    try:
        await until_state(session, "open")
        (container,) = await engine.list_ours(instance)
        shown = json.loads(" ".join(docker("inspect", container.id)))[0]
        limits = shown["HostConfig"]
        assert container.labels["proctor.session"] == str(session.id) and "proctor.expiry" in container.labels
        assert (limits["Memory"], limits["NanoCpus"], limits["PidsLimit"], limits["CapDrop"]) == (1024 * 1024**2, 500_000_000, 512, ["ALL"])
        assert "TOKEN=t" in shown["Config"]["Env"] and (shared_network in shown["NetworkSettings"]["Networks"]) is (mode == "network")
        assert json.loads(await said(session))["result"]["env"]["name"] == "gsm8k"
        await in_writer(actions.close_session, ada, session)
        await until_state(session, "closed")
        assert await engine.list_ours(instance) == []
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def waiting_session(ada: Caller, image: str) -> RuntimeSession:
    version = environments.register_image(ada, name="sums", image=image)
    EnvironmentVersion.objects.filter(id=version.id).update(status="ready", image_id=image)
    type(version.environment).objects.update(runtime_config={"resources": {"cpu": 0.5, "memory_mb": 1024}})
    set_variables(ada, version.environment, {"TOKEN": "t"})
    return actions.open_session(ada, environment="sums")


async def until_state(session: RuntimeSession, state: str) -> None:
    async with asyncio.timeout(90):
        while session.state != state:
            assert session.state != "failed", session.error
            await asyncio.sleep(0.1)
            await in_reader(session.refresh_from_db)


async def said(session: RuntimeSession) -> bytes:
    """The answer to `hello`, as the web process would hear it."""
    assert session.relay is not None
    host, _, port = session.relay.rpartition(":")
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(first_line(session.id) + HELLO)
        answer = await reader.readline()
    writer.close()
    return answer
