"""HUD 0.2.x images in real containers: whole rollouts, commands with exact exits and hard ends, archives as streams."""

from __future__ import annotations

import io
import json
import re
import resource
import tarfile
import uuid

import aiodocker
import pytest

from proctor.hud02.calls import Call
from proctor.hud02.environment import Environment, EnvironmentFailed, LegacyTask
from proctor.rollout.drivers.hud02 import TEMPLATE, open_session
from proctor.rollout.engine import run_rollout
from proctor.rollout.images import build_image
from proctor.rollout.inside import Inside, InsideError, Status
from proctor.rollout.plan import ModelRoute, SandboxSpec
from proctor.rollout.sandbox import docker_client
from tests.support import hud02
from tests.support.fake_model import calls, fake_model, says
from tests.support.rollouts import Collected, make_plan

pytestmark = pytest.mark.docker

TASK = {"prompt": "Click twice", "setup": ["setup", {"function": "setup", "args": [1]}], "evaluate": {"function": "evaluate", "args": [2]}}


@pytest.fixture
async def image(sample_image, tmp_path):
    tag = f"proctor-test:{uuid.uuid4().hex[:12]}"
    (tmp_path / "context.tar").write_bytes(hud02.context(sample_image))
    await build_image(tmp_path / "context.tar", tag, print)
    yield tag
    async with docker_client() as docker:
        await docker.images.delete(tag, force=True)


@pytest.fixture
async def inside(engine, image, labels):
    sandbox = await engine.start(SandboxSpec("docker", image=image, speaks="hud02"), labels)
    yield sandbox.inside()
    assert await sandbox.remove()


def plan(image, labels, task, replies=None, base_url="", **changes):
    agent = {"agent_type": "openai_compatible", "agent_config": {"model": "m"}, "model": ModelRoute("m", base_url)} if replies else {}
    sandbox = SandboxSpec("docker", image=image, speaks="hud02")
    return make_plan(**({"task_id": TEMPLATE, "args_text": json.dumps(task), "sandbox": sandbox, "labels": labels} | agent | changes))


async def test_c2_reset_step_urls_and_maybe_store_response_in_a_whole_run(engine, image, labels, instance):
    click = calls("step", '{"actions": [{"type": "click"}]}')
    report = Collected()
    with fake_model(click, calls("step", '{"actions": [{"type": "click"}, {"type": "response", "text": "two"}]}')) as model:
        outcome = await run_rollout(plan(image, labels, TASK | {"evaluate": {"function": "evaluate", "args": [3]}}, True, model.base_url), report, engine=engine)
    assert (outcome.status, outcome.failure, outcome.stop_reason) == ("completed", None, "environment_done")
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    told = [(step["call"]["name"], step["result"]["isError"]) for step in report.payloads("tool")]
    assert told == [("setup", False), ("setup", False), ("step", False), ("step", False), ("evaluate", False)]
    first, last = (step["result"] for step in report.payloads("tool")[2:4])
    assert first["structuredContent"]["reward"] == 0.5 and first["content"][0]["text"] == "2 clicks"
    assert [block["type"] for block in last["content"]] == ["text", "image"]
    opening = [message["content"] for message in report.payloads("user")[0]["messages"]]
    assert [block.get("text", block["type"]) for block in opening] == ["Click twice", "1 clicks", "image"]
    assert report.payloads("system")[0]["extra"] == {"urls": {"url": "http://127.0.0.1:6080/"}}
    assert await engine.list_ours(instance) == []


async def test_c2_step_that_is_done_ends_the_loop(engine, image, labels):
    with fake_model(calls("step", '{"actions": [{"type": "click"}, {"type": "click"}, {"type": "click"}]}'), says("never asked")) as model:
        outcome = await run_rollout(plan(image, labels, TASK, True, model.base_url), Collected(), engine=engine)
    assert (outcome.stop_reason, len(model.requests)) == ("environment_done", 1)
    assert json.loads(outcome.evaluation_text)["score"] == 0.0


async def test_c2_evaluators_that_compare_answers_get_the_answer(engine, image, labels):
    task = {"prompt": "Capital of France?", "evaluate": {"function": "response_includes", "args": ["Paris"]}}
    replay = {"agent_type": "replay", "agent_config": {"answers": {"count-1": "It is PARIS"}}}
    outcome = await run_rollout(plan(image, labels, task, **replay), Collected(), engine=engine)
    assert json.loads(outcome.evaluation_text)["score"] == 1.0


@pytest.mark.parametrize(
    ("task", "failure_class", "blame", "words"),
    [
        (TASK | {"setup": ["setup", "broken"]}, "setup", "environment", "RuntimeError: the database of letters is gone"),
        (TASK | {"setup": "os;print(1)"}, "setup", "task", "not a dotted function name"),
        (TASK | {"evaluate": "nothing"}, "grading", "grader", "returned null"),
        (TASK | {"evaluate": None}, "grading", "grader", "names no evaluate"),
    ],
)
async def test_c2_invoke_all_tells_each_call_and_failures_leave_nothing(engine, image, labels, instance, task, failure_class, blame, words):
    report = Collected()
    outcome = await run_rollout(plan(image, labels, task), report, engine=engine)
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, blame)
    assert words in outcome.failure.message
    assert await engine.list_ours(instance) == []
    if "RuntimeError" in words:
        assert [step["result"]["isError"] for step in report.payloads("tool")] == [False, True]


@pytest.mark.parametrize(("task", "clicks"), [({"config": {"function": "setup", "args": [2]}}, 2), ({"setup": [], "config": {"other": 1}}, 0)])
async def test_c2_setup_falls_back_to_config_and_may_be_nothing(engine, image, labels, task, clicks):
    evaluate = {"function": "evaluate", "args": [clicks]}
    outcome = await run_rollout(plan(image, labels, {"prompt": "p", "evaluate": evaluate, **task}), Collected(), engine=engine)
    assert json.loads(outcome.evaluation_text)["score"] == 1.0


async def test_an_image_without_a_controller_says_so(engine, sample_image, labels):
    sandbox = SandboxSpec("docker", image=sample_image, speaks="hud02", command=["/usr/local/bin/python3", "-c", "import time; time.sleep(60)"])
    outcome = await run_rollout(plan(sample_image, labels, TASK, sandbox=sandbox), Collected(), engine=engine)
    assert outcome.failure.failure_class == "setup"
    assert "the image needs python3 and timeout" in outcome.failure.message


async def test_c2_execute_ends_with_the_commands_own_exit_code_and_streams(inside):
    done = await inside.execute(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=20, workdir="/tmp", env={"A": "1"})
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out, done.spawn_error) == (b"out\n", b"err\n", 3, False, None)
    assert (await inside.execute(["sh", "-c", "pwd; echo $A"], timeout_s=20, workdir="/tmp", env={"A": "1"})).stdout == b"/tmp\n1\n"
    assert (await inside.execute(["false"], timeout_s=20)).exit_code == 1
    assert (await inside.execute(["sh", "-c", "read line; echo $line"], timeout_s=20, stdin=b"told\n")).stdout == b"told\n"


async def test_c2_execute_ends_a_command_that_hangs_with_what_it_started(inside):
    done = await inside.execute(["sh", "-c", "sleep 300 & sleep 300"], timeout_s=1)
    assert done.timed_out
    left = await inside.execute(["sh", "-c", "ps | grep -c '[s]leep 300' || true"], timeout_s=20)
    assert left.stdout.strip() == b"0"


async def test_c2_execute_says_that_a_program_was_never_started(inside):
    missing = await inside.execute(["no-such-program"], timeout_s=20)
    assert missing.spawn_error and missing.exit_code in (126, 127)
    nowhere = await inside.execute(["true"], timeout_s=20, workdir="/no/such/folder")
    assert nowhere.spawn_error and nowhere.stdout == b""


async def test_c2_execute_keeps_endless_output_at_both_ends(inside):
    done = await inside.execute(["sh", "-c", "echo first; head -c 30000000 /dev/zero; echo last"], timeout_s=60, keep_bytes=1_000_000)
    assert done.stdout.startswith(b"first\n") and done.stdout.endswith(b"last\n")
    assert len(done.stdout) + done.dropped_bytes == 30_000_011


async def test_c2_get_archive_passes_200_mb_through_without_holding_it(inside):
    size = 200 * 1024**2
    assert (await inside.execute(["sh", "-c", f"head -c {size} /dev/zero > /tmp/large"], timeout_s=60)).exit_code == 0
    before, taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    async for piece in inside.get_archive("/tmp/large"):
        taken += len(piece)
    assert taken > size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


async def test_c2_put_archive_is_read_by_commands_and_comes_out_again(inside):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo("note.txt")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"hello"))

    async def sent():
        yield buffer.getvalue()

    await inside.put_archive("/tmp", sent())
    assert (await inside.execute(["cat", "/tmp/note.txt"], timeout_s=20)).stdout == b"hello"
    back = b"".join([piece async for piece in inside.get_archive("/tmp/note.txt")])
    with tarfile.open(fileobj=io.BytesIO(back)) as tar:
        assert tar.extractfile("note.txt").read() == b"hello"
    with pytest.raises(InsideError, match="larger than 10 bytes"):
        [piece async for piece in inside.get_archive("/tmp/note.txt", limit=10)]
    with pytest.raises(InsideError, match="reading /no/such"):
        [piece async for piece in inside.get_archive("/no/such")]


async def test_c2_container_id_costs_no_look_at_the_container(inside, monkeypatch):
    looks = []
    query = inside._docker._do_query
    monkeypatch.setattr(inside._docker, "_do_query", lambda *args, **more: (looks.append(str(more.get("path") or args[0])), query(*args, **more))[1])
    for _ in range(100):
        assert (await inside.execute(["true"], timeout_s=20)).exit_code == 0
    assert len(looks) >= 300 and not [url for url in looks if re.search(r"containers/[0-9a-f]+/json", url)]


async def test_c2_get_status_of_a_running_paused_ended_and_missing_container(engine, image, labels):
    sandbox = await engine.start(SandboxSpec("docker", image=image, speaks="hud02", command=["sh", "-c", "read code; exit $code"]), labels)
    inside, container = sandbox.inside(), engine._control.containers.container(sandbox.container_id)
    assert await inside.status() == Status("running")
    await container.pause()
    assert await inside.status() == Status("paused")
    await container.unpause()
    await container.kill(signal="SIGKILL")
    await container.wait(timeout=20.0)
    assert await inside.status() == Status("exited", 137)
    assert await sandbox.remove()
    assert await inside.status() == Status("gone")


async def test_c2_get_status_does_not_call_an_engine_that_is_down_an_error(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    async with aiodocker.Docker(url="unix:///nowhere/docker.sock") as docker:
        assert await Inside(docker, "0" * 64).status() == Status("unknown")


async def test_c2_set_source_path_lets_an_image_name_another_package(engine, sample_image, labels, tmp_path):
    tag = f"proctor-test:{uuid.uuid4().hex[:12]}"
    files = {"hud_controller/__init__.py": "raise RuntimeError('not this one')", "hud_controller/other.py": "def setup(): return 'other'"}
    dockerfile = hud02._dockerfile(sample_image) + "\nENV HUD_CONTROLLER_PACKAGE=other PYTHONPATH=/opt/controller/hud_controller"
    (tmp_path / "context.tar").write_bytes(hud02.context(sample_image, dockerfile, **files))
    await build_image(tmp_path / "context.tar", tag, print)
    sandbox = await engine.start(SandboxSpec("docker", image=tag, speaks="hud02"), labels)
    session = await open_session(sandbox.inside())
    assert (await session.invoke(Call("setup")))[0] == "other"
    await session.close()
    assert await sandbox.remove()
    async with docker_client() as docker:
        await docker.images.delete(tag, force=True)


async def test_c2_source_of_one_environment_is_not_seen_by_another(engine, image, labels):
    """A changed source is another image (its tag is its content's), and every sandbox is its own."""
    first, second = [await engine.start(SandboxSpec("docker", image=image, speaks="hud02"), {**labels, "proctor.run": uuid.uuid4().hex}) for _ in range(2)]
    one, other = await open_session(first.inside()), await open_session(second.inside())
    await one.invoke(Call("setup", (3,)))
    assert [(await session.invoke(Call("evaluate", (3,))))[0]["reward"] for session in (one, other)] == [1.0, 0.0]
    for session, sandbox in ((one, first), (other, second)):
        await session.close()
        assert await sandbox.remove()


async def test_c2_close_twice_and_the_values_of_gymnasium(image):
    task = LegacyTask(prompt="Click", setup=("setup", 1), evaluate=("evaluate", 2))
    env = Environment.local(image, task)
    async with env:
        observation, info = await env.reset()
        assert (observation.text, info["prompt"]) == ("1 clicks", "Click") and observation.screenshot.startswith(b"\x89PNG")
        observation, reward, terminated, truncated, info = await env.step([{"type": "click"}, {"type": "response", "text": "done"}])
        assert (observation.text, reward, terminated, truncated, env.final_response) == ("2 clicks", 0.5, False, False, "done")
        assert await env.evaluate() == {"reward": 1.0}
        assert await env.get_urls() == {"url": "http://127.0.0.1:6080/"}
        await env.close()
    await env.close()
    broken = Environment.local(image, LegacyTask(setup="broken"))
    with pytest.raises(EnvironmentFailed, match="the database of letters is gone"):
        await broken.__aenter__()
    async with docker_client() as docker:
        assert await docker.containers.list(all=True, filters={"label": ["proctor.instance=proctor-sdk"], "ancestor": [image]}) == []
