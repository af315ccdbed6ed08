"""HUD 0.2.x images in real containers: whole rollouts, commands with exact exits and hard ends, archives as streams."""

from __future__ import annotations

import io
import json
import resource
import tarfile
import uuid

import pytest

from proctor.rollout.drivers.hud02 import TEMPLATE
from proctor.rollout.engine import run_rollout
from proctor.rollout.images import build_image
from proctor.rollout.inside import InsideError
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


async def test_a_model_acts_until_the_environment_is_done_and_is_graded(engine, image, labels, instance):
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


async def test_an_environment_that_is_done_ends_the_loop(engine, image, labels):
    with fake_model(calls("step", '{"actions": [{"type": "click"}, {"type": "click"}, {"type": "click"}]}'), says("never asked")) as model:
        outcome = await run_rollout(plan(image, labels, TASK, True, model.base_url), Collected(), engine=engine)
    assert (outcome.stop_reason, len(model.requests)) == ("environment_done", 1)
    assert json.loads(outcome.evaluation_text)["score"] == 0.0


async def test_answers_reach_the_evaluators_that_compare_answers(engine, image, labels):
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
async def test_what_fails_inside_is_told_and_nothing_is_left(engine, image, labels, instance, task, failure_class, blame, words):
    report = Collected()
    outcome = await run_rollout(plan(image, labels, task), report, engine=engine)
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, blame)
    assert words in outcome.failure.message
    assert await engine.list_ours(instance) == []
    if "RuntimeError" in words:
        assert [step["result"]["isError"] for step in report.payloads("tool")] == [False, True]


async def test_an_image_without_a_controller_says_so(engine, sample_image, labels):
    sandbox = SandboxSpec("docker", image=sample_image, speaks="hud02", command=["/usr/local/bin/python3", "-c", "import time; time.sleep(60)"])
    outcome = await run_rollout(plan(sample_image, labels, TASK, sandbox=sandbox), Collected(), engine=engine)
    assert outcome.failure.failure_class == "setup"
    assert "the image needs python3 and timeout" in outcome.failure.message


async def test_commands_end_with_their_own_exit_code_and_streams(inside):
    done = await inside.execute(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=20, workdir="/tmp", env={"A": "1"})
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out, done.spawn_error) == (b"out\n", b"err\n", 3, False, None)
    assert (await inside.execute(["sh", "-c", "pwd; echo $A"], timeout_s=20, workdir="/tmp", env={"A": "1"})).stdout == b"/tmp\n1\n"
    assert (await inside.execute(["false"], timeout_s=20)).exit_code == 1
    assert (await inside.execute(["sh", "-c", "read line; echo $line"], timeout_s=20, stdin=b"told\n")).stdout == b"told\n"


async def test_a_command_that_hangs_is_ended_with_what_it_started(inside):
    done = await inside.execute(["sh", "-c", "sleep 300 & sleep 300"], timeout_s=1)
    assert done.timed_out
    left = await inside.execute(["sh", "-c", "ps | grep -c '[s]leep 300' || true"], timeout_s=20)
    assert left.stdout.strip() == b"0"


async def test_a_program_that_is_not_there_was_never_started(inside):
    missing = await inside.execute(["no-such-program"], timeout_s=20)
    assert missing.spawn_error and missing.exit_code in (126, 127)
    nowhere = await inside.execute(["true"], timeout_s=20, workdir="/no/such/folder")
    assert nowhere.spawn_error and nowhere.stdout == b""


async def test_endless_output_is_kept_at_both_ends(inside):
    done = await inside.execute(["sh", "-c", "echo first; head -c 30000000 /dev/zero; echo last"], timeout_s=60, keep_bytes=1_000_000)
    assert done.stdout.startswith(b"first\n") and done.stdout.endswith(b"last\n")
    assert len(done.stdout) + done.dropped_bytes == 30_000_011


async def test_a_large_archive_passes_through_without_being_held(inside):
    size = 200 * 1024**2
    assert (await inside.execute(["sh", "-c", f"head -c {size} /dev/zero > /tmp/large"], timeout_s=60)).exit_code == 0
    before, taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0
    async for piece in inside.get_archive("/tmp/large"):
        taken += len(piece)
    assert taken > size
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


async def test_archives_go_in_and_come_out_and_are_capped(inside):
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
