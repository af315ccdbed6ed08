"""Docker sandboxes: limits, loopback ports, early ends, and that nothing stays, whatever was cut off."""

from __future__ import annotations

import asyncio

import pytest

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.sandbox import DockerEngine

pytestmark = pytest.mark.docker

PYTHON = "/usr/local/bin/python3"


def program(image: str, text: str, **changes) -> SandboxSpec:
    return SandboxSpec("docker", image=image, command=[PYTHON, "-S", "-I", "-c", text], **changes)


async def ended(sandbox):
    while (state := await sandbox.exit_state()) is None:
        await asyncio.sleep(0.05)
    return state


async def test_a_container_carries_our_labels_limits_and_no_privileges(engine, sample_image, instance, labels):
    spec = SandboxSpec("docker", image=sample_image, env={"GIVEN": "yes"}, cpu=0.5, memory_mb=256, pids=64)
    sandbox = await engine.start(spec, labels)
    shown = await engine._control.containers.container(sandbox.container_id).show()
    host = shown["HostConfig"]
    assert (host["Memory"], host["MemorySwap"], host["NanoCpus"], host["PidsLimit"]) == (2**28, 2**28, 500_000_000, 64)
    assert (host["CapDrop"], host["SecurityOpt"], host["Init"]) == (["ALL"], ["no-new-privileges:true"], True)
    assert (host["Binds"], shown["Mounts"], host["Privileged"], host["RestartPolicy"]["Name"]) == (None, [], False, "no")
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "1"}}
    assert "GIVEN=yes" in shown["Config"]["Env"] and shown["Image"] == sandbox.image_id
    assert (host["NetworkMode"], host["PortBindings"]) == (f"proctor-{instance}", None)
    assert (sandbox.host, sandbox.port) == (shown["NetworkSettings"]["Networks"][f"proctor-{instance}"]["IPAddress"], 8765)
    (ours,) = await engine.list_ours(instance)
    assert (ours.id, ours.state) == (sandbox.container_id, "running")
    assert labels.items() <= ours.labels.items()
    assert await sandbox.remove()
    assert await engine.list_ours(instance) == []


async def test_next_to_no_processor_is_not_all_of_them(engine, sample_image, labels):
    sandbox = await engine.start(SandboxSpec("docker", image=sample_image, cpu=1e-300), labels)
    shown = await engine._control.containers.container(sandbox.container_id).show()
    assert shown["HostConfig"]["NanoCpus"] == 10_000_000
    assert await sandbox.remove()


async def test_without_a_bridge_of_this_machine_a_port_is_published_on_loopback_only(sample_image, labels):
    async with DockerEngine(own_network=False) as engine:
        sandbox = await engine.start(SandboxSpec("docker", image=sample_image), labels)
        shown = await engine._control.containers.container(sandbox.container_id).show()
        assert await sandbox.remove()
    assert shown["NetworkSettings"]["Ports"]["8765/tcp"] == [{"HostIp": "127.0.0.1", "HostPort": str(sandbox.port)}]
    assert sandbox.host == "127.0.0.1"


async def test_removing_twice_is_as_good_as_once(engine, sample_image, labels):
    sandbox = await engine.start(SandboxSpec("docker", image=sample_image), labels)
    assert await asyncio.gather(sandbox.remove(), sandbox.remove()) == [True, True]
    assert await sandbox.remove()
    assert await sandbox.exit_state() == (None, False)


async def test_a_missing_image_is_the_environments_fault_and_names_it(engine, labels):
    with pytest.raises(RolloutFailed) as caught:
        await engine.start(SandboxSpec("docker", image="no-such-image:1"), labels)
    assert (caught.value.failure.failure_class, caught.value.failure.blame) == ("image_missing", "environment")
    assert "no-such-image:1" in caught.value.failure.message


@pytest.mark.parametrize("cpu", [10_000, 1e9])
async def test_limits_that_the_engine_refuses_are_the_environments_fault(engine, sample_image, labels, cpu):
    with pytest.raises(RolloutFailed) as caught:
        await engine.start(SandboxSpec("docker", image=sample_image, cpu=cpu), labels)
    assert (caught.value.failure.failure_class, caught.value.failure.blame) == ("environment_start", "environment")
    assert "CPUs" in caught.value.failure.message


async def test_a_command_that_is_not_in_the_image_ends_with_127_and_says_so(engine, sample_image, labels):
    sandbox = await engine.start(SandboxSpec("docker", image=sample_image, command=["/no/such/program"]), labels)
    assert await ended(sandbox) == (127, False)
    assert b"/no/such/program" in await sandbox.tail()
    assert await sandbox.remove()


async def test_an_unreachable_engine_is_the_platforms_fault(monkeypatch, labels):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    async with DockerEngine() as engine:
        for attempt in (engine.ping(), engine.start(SandboxSpec("docker", image="any"), labels), engine.list_ours("x")):
            with pytest.raises(RolloutFailed) as caught:
                await attempt
            assert (caught.value.failure.failure_class, caught.value.failure.blame) == ("platform", "platform")


async def test_an_early_end_tells_exit_code_and_both_streams(engine, sample_image, labels):
    text = "import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr); sys.exit(3)"
    sandbox = await engine.start(program(sample_image, text), labels)
    assert await ended(sandbox) == (3, False)
    assert sorted((await sandbox.tail()).split()) == [b"err", b"out"]
    assert await sandbox.remove()


async def test_running_out_of_memory_is_seen(engine, sample_image, labels):
    sandbox = await engine.start(program(sample_image, "x = bytearray(10**9)", memory_mb=32), labels)
    code, killed = await ended(sandbox)
    assert (code, killed) == (137, True)
    assert await sandbox.remove()


async def test_the_tail_is_the_last_256_kibibytes(engine, sample_image, labels):
    sandbox = await engine.start(program(sample_image, "print(('y' * 999 + chr(10)) * 1000, flush=True); print('end')"), labels)
    await ended(sandbox)
    tail = await sandbox.tail()
    assert len(tail) == 256 * 1024 and tail.endswith(b"end\n")
    assert await sandbox.remove()


async def test_a_container_cannot_gain_privileges_or_fork_without_end(engine, sample_image, labels):
    text = """
import os
try:
    while True:
        if os.fork() == 0:
            import time; time.sleep(60)
except OSError as error:
    print('stopped', error.errno, flush=True)
print(open('/proc/self/status').read())
"""
    sandbox = await engine.start(program(sample_image, text, pids=32), labels)
    while b"NoNewPrivs" not in await sandbox.tail():
        await asyncio.sleep(0.1)
    shown = (await sandbox.tail()).decode()
    assert "stopped 11" in shown and "NoNewPrivs:\t1" in shown and "CapBnd:\t0000000000000000" in shown
    assert await sandbox.remove()


async def test_a_shared_network_gives_the_containers_own_address_and_publishes_nothing(engine, sample_image, instance, labels):
    network = await engine._network(instance)
    sandbox = await engine.start(SandboxSpec("docker", image=sample_image, network=network.name), labels)
    assert sandbox.port == 8765 and sandbox.host != "127.0.0.1"
    shown = await engine._control.containers.container(sandbox.container_id).show()
    assert not any(shown["NetworkSettings"]["Ports"].values())
    assert await sandbox.remove()


async def test_sandboxes_do_not_reach_each_other(engine, sample_image, labels):
    first = await engine.start(SandboxSpec("docker", image=sample_image), labels)
    shown = await engine._control.containers.container(first.container_id).show()
    (network,) = shown["NetworkSettings"]["Networks"].values()
    text = f"""
import socket
try:
    socket.create_connection(('{network["IPAddress"]}', 8765), timeout=2)
    print('reached', flush=True)
except OSError as error:
    print('walled', flush=True)
"""
    second = await engine.start(program(sample_image, text), labels)
    await ended(second)
    assert await second.tail() == b"walled\n"
    assert await asyncio.gather(first.remove(), second.remove()) == [True, True]


@pytest.mark.parametrize("after_s", [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4])
async def test_a_start_that_is_cancelled_at_any_moment_leaves_no_container(engine, sample_image, instance, labels, after_s):
    task = asyncio.create_task(engine.start(SandboxSpec("docker", image=sample_image), labels))
    await asyncio.sleep(after_s)
    task.cancel()
    (result,) = await asyncio.gather(task, return_exceptions=True)
    if not isinstance(result, BaseException):  # it was faster than the cancellation
        await result.remove()
    assert await engine.list_ours(instance) == []


async def test_the_sweeper_sees_only_its_own_instance(engine, sample_image, instance, labels):
    other = labels | {"proctor.instance": f"{instance}-other"}
    async with DockerEngine(own_network=False) as neighbour:
        theirs = await neighbour.start(SandboxSpec("docker", image=sample_image), other)
        assert await engine.list_ours(instance) == []
        assert await theirs.remove()


async def test_the_engine_answers_a_ping_with_its_version(engine):
    assert (await engine.ping())[0].isdigit()


async def test_a_network_that_somebody_removed_is_made_again(engine, sample_image, instance, labels):
    spec = SandboxSpec("docker", image=sample_image)
    first = await engine.start(spec, labels)
    assert await first.remove()
    async with DockerEngine() as other:
        await other.remove_network(instance)
    second = await engine.start(spec, labels)
    assert await second.remove()


@pytest.mark.parametrize(("nested", "answer"), [(False, b"refused"), (True, b"made")])
async def test_only_an_environment_with_a_workspace_may_make_a_user_namespace(engine, sample_image, labels, nested, answer):
    text = "import ctypes; print('made' if ctypes.CDLL(None).unshare(0x10000000) == 0 else 'refused')"
    sandbox = await engine.start(program(sample_image, text, nested=nested), labels)
    try:
        await ended(sandbox)
        assert await sandbox.tail() == answer + b"\n"
    finally:
        assert await sandbox.remove()
