"""An environment on the control channel: contract 4.1 to 4.3, method by method, with the recorded exchange as the yardstick."""

import asyncio
import dataclasses
import json
import math
import threading
from pathlib import Path

import pytest

from proctor.environment import Answer, Capability, Environment
from proctor.environment.frames import FRAME_LIMIT_BYTES
from tests.support.control import connect, outcome, served, until_live, wired


def letters() -> Environment:
    env = Environment("letters")

    @env.template(description="Count a letter")
    async def count(word: str = "strawberry", letter: str = "r"):
        answer = yield f"How many '{letter}'s are in '{word}'?"
        score = 1.0 if answer == str(word.count(letter)) else 0.0
        subscore = {"name": "exact", "weight": 1.0, "value": score, "children": None, "info": None}
        info = {"expected": word.count(letter)}
        yield {"done": True, "content": "counted", "info": info, "isError": False, "subscores": [subscore], "score": score}

    return env


def grading(value) -> Environment:
    """An environment whose only task is graded with this value, whatever the answer."""
    env = Environment("fixed")

    @env.template()
    async def task():
        yield "go"
        yield value

    return env


RECORDED = json.loads((Path(__file__).parents[1] / "data/control-channel.json").read_text())["exchanges"][0]["frames"]


async def test_the_recorded_exchange_is_answered_frame_for_frame():
    async with wired(letters()) as wire:
        for sent, received in zip(RECORDED[::2], RECORDED[1::2], strict=True):
            wire.send_bytes(json.dumps(sent["send"]).encode() + b"\n")
            reply, expected = await wire.receive(), received["recv"]
            if sent["send"]["method"] == "hello" and "result" in expected:
                assert reply["result"].pop("session_id").startswith("sess-")
                assert reply["result"] == {"env": expected["result"]["env"], "bindings": []}
            else:
                assert reply == expected
        with pytest.raises(EOFError):
            await wire.receive()


@pytest.mark.parametrize(
    ("prompt", "frame"),
    [
        ("plain", {"prompt": "plain"}),
        ([{"role": "user", "content": "hi"}], {"prompt": [{"role": "user", "content": "hi"}]}),
        ({"prompt": "p", "bindings": {"tools": {"x": 1}}}, {"prompt": "p", "bindings": {"tools": {"x": 1}}}),
        ({"role": "user"}, {"prompt": {"role": "user"}}),
        (None, {"prompt": None}),
    ],
)
async def test_any_form_of_prompt_becomes_a_prompt_frame(prompt, frame):
    env = Environment("prompts")

    @env.template()
    async def task():
        yield prompt
        yield 1

    async with wired(env) as wire:
        assert await wire.call("tasks.start", id="task") == frame


@dataclasses.dataclass
class Evaluation:
    reward: float
    content: str = "fine"


@pytest.mark.parametrize(
    ("value", "frame"),
    [
        (0.25, {"score": 0.25}),
        (1, {"score": 1.0}),
        (True, {"score": 1.0}),
        ({"score": 0.5, "info": {"n": 1}}, {"score": 0.5, "info": {"n": 1}}),
        (Evaluation(0.75), {"score": 0.75, "content": "fine"}),
    ],
)
async def test_a_number_a_dict_or_an_evaluation_is_a_grade(value, frame):
    async with wired(grading(value)) as wire:
        await wire.call("tasks.start", id="task")
        assert await wire.call("tasks.grade", answer="") == frame


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "task 'task' graded with a non-finite score (nan): yield a finite number"),
        (-math.inf, "task 'task' graded with a non-finite score (-inf): yield a finite number"),
        ({"score": math.inf}, "task 'task' graded with a non-finite score (inf): yield a finite number"),
        (10**400, "task 'task' graded with a non-finite score (inf): yield a finite number"),
        ({"info": {}}, "task 'task' graded with a dict missing a numeric 'score' (keys: ['info'])"),
        ({"score": "1"}, "task 'task' graded with a dict missing a numeric 'score' (keys: ['score'])"),
        ("1.0", "task 'task' graded with str: yield a number, or a dict with a numeric 'score'"),
        (None, "task 'task' graded with NoneType: yield a number, or a dict with a numeric 'score'"),
    ],
)
async def test_what_is_no_finite_reward_is_refused(value, message):
    async with wired(grading(value)) as wire:
        await wire.call("tasks.start", id="task")
        assert await wire.call("tasks.grade", answer="") == (-32000, message)
        assert await wire.call("tasks.grade", answer="") == (-32600, "no task in progress")


async def test_nan_anywhere_in_a_grade_is_refused():
    async with wired(grading({"score": 1, "info": {"loss": math.nan}})) as wire:
        await wire.call("tasks.start", id="task")
        code, message = await wire.call("tasks.grade", answer="")
        assert code == -32000
        assert message.startswith("response is not JSON: Out of range float values")


async def test_a_template_that_ends_early_is_an_error_not_a_zero():
    env = Environment("short")

    @env.template()
    async def no_prompt():
        return
        yield

    @env.template()
    def no_grade():
        yield "go"

    async with wired(env) as wire:
        assert await wire.call("tasks.start", id="no_prompt") == (
            -32000,
            "task 'no_prompt' ended before its prompt: yield a prompt first",
        )
        await wire.call("tasks.start", id="no_grade")
        assert await wire.call("tasks.grade", answer="") == (
            -32000,
            "task 'no_grade' ended without a grade: yield a reward after the answer",
        )


async def test_errors_of_the_authors_code_are_answered_and_the_session_goes_on():
    env = Environment("broken")

    @env.template()
    async def setup():
        raise ValueError("no database")
        yield

    @env.template()
    async def grader():
        yield "go"
        raise AssertionError

    async with wired(env) as wire:
        assert await wire.call("tasks.start", id="setup") == (-32000, "no database")
        await wire.call("tasks.start", id="grader")
        assert await wire.call("tasks.grade", answer="") == (-32000, "AssertionError")
        assert (await wire.call("hello"))["env"] == {"name": "broken", "version": "0.0.1"}


@pytest.mark.parametrize(
    ("method", "params", "error"),
    [
        ("tasks.start", {"id": 3}, (-32602, "tasks.start: 'id' must be a string")),
        ("tasks.start", {"id": "count", "args": [1]}, (-32602, "tasks.start: 'args' must be an object")),
        ("hello", {"session_id": 3}, (-32602, "hello: 'session_id' must be a string")),
        ("hello", {"workspace_routes": {}}, (-32602, "hello: 'workspace_routes' must be a list")),
        ("hello", {"connections": 1}, (-32602, "hello: 'connections' must be a list")),
        ("hello", {"connections": [{"capability": "ssh"}]}, (-32000, "workspace capability 'ssh' does not exist")),
    ],
)
async def test_wrong_parameters_are_refused_by_name(method, params, error):
    async with wired(letters()) as wire:
        assert await wire.call(method, **params) == error


async def test_a_second_start_replaces_the_first_whose_clean_up_runs():
    closed = []
    env = Environment("twice")

    @env.template()
    async def task(n: int):
        try:
            yield str(n)
            yield n
        finally:
            closed.append(n)

    async with wired(env) as wire:
        await wire.call("tasks.start", id="task", args={"n": 1})
        await wire.call("tasks.start", id="task", args={"n": 2})
        assert closed == [1]
        assert await wire.call("tasks.grade", answer="") == {"score": 2.0}
    assert closed == [1, 2]


async def test_a_parked_task_is_resumed_by_its_session_id():
    async with served(letters()) as server:
        first, second = await connect(server.port), await connect(server.port)
        session = await first.hello()
        await first.call("tasks.start", id="count")
        assert await second.call("hello", session_id=session) == (-32600, f"session {session!r} has a live connection")
        await first.close()
        await until_live(server, 1)
        assert (await second.call("hello", session_id=session))["session_id"] == session
        assert (await second.call("tasks.grade", answer="3"))["score"] == 1.0
        await second.close()


async def test_a_bare_grade_takes_the_only_parked_task_and_refuses_to_choose_between_two():
    async with served(letters()) as server:
        wires = [await connect(server.port) for _ in range(3)]
        sessions = [await wire.hello() for wire in wires]
        for wire in wires[:2]:
            await wire.call("tasks.start", id="count")
            await wire.close()
        await until_live(server, 1)
        grader, parked = wires[2], ", ".join(sorted(sessions[:2]))
        assert await grader.call("tasks.grade", answer="3") == (
            -32600,
            f"2 parked sessions ({parked}); resume one by sending hello with its session_id",
        )
        await grader.call("hello", session_id=sessions[0])
        assert (await grader.call("tasks.grade", answer="3"))["score"] == 1.0
        assert (await grader.call("tasks.grade", answer="x"))["score"] == 0.0
        assert await grader.call("tasks.grade", answer="x") == (-32600, "no task in progress")
        await grader.close()


async def test_a_start_that_runs_when_the_peer_hangs_up_is_finished_and_parked():
    started, go = asyncio.Event(), asyncio.Event()
    env = Environment("slow")

    @env.template()
    async def task():
        started.set()
        await go.wait()
        yield "go"
        yield 1

    async with served(env) as server:
        first, second = await connect(server.port), await connect(server.port)
        await first.hello()
        first.send("tasks.start", id="task")
        await started.wait()
        await first.close()
        await second.hello()
        go.set()
        await until_live(server, 1)
        assert await second.call("tasks.grade", answer="") == {"score": 1.0}
        await second.close()


async def test_a_grade_that_runs_when_the_peer_hangs_up_is_stopped():
    started, closed = asyncio.Event(), asyncio.Event()
    env = Environment("slow")

    @env.template()
    async def task():
        yield "go"
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()
        yield 1

    async with wired(env) as wire:
        await wire.call("tasks.start", id="task")
        wire.send("tasks.grade", answer="")
        await started.wait()
        await wire.close()
        await asyncio.wait_for(closed.wait(), 30)


@pytest.mark.parametrize(("method", "result"), [("tasks.cancel", {"cancelled": True}), ("bye", {"goodbye": True})])
async def test_cancel_and_bye_interrupt_a_running_call_and_other_calls_are_refused(method, result):
    closed = asyncio.Event()
    env = Environment("slow")

    @env.template()
    async def task():
        try:
            await asyncio.Event().wait()
            yield "never"
        finally:
            closed.set()

    async with wired(env) as wire:
        start = wire.send("tasks.start", id="task")
        assert await wire.call("tasks.list") == (-32600, "tasks.list: a task call is still running")
        assert await wire.call("tasks.start", id="task") == (-32600, "tasks.start: a task call is still running")
        end = wire.send(method)
        interrupted, ended = await wire.receive(), await wire.receive()
        assert (interrupted["id"], outcome(interrupted)) == (start, (-32000, f"{method} interrupted the task"))
        assert (ended["id"], outcome(ended)) == (end, result)
        assert closed.is_set()


async def test_a_plain_generator_may_block_without_stopping_other_sessions():
    release = threading.Event()
    env = Environment("sync")

    @env.template()
    def task(wait: bool = False):
        if wait:
            assert release.wait(30)
        answer = yield "go"
        yield 1 if answer == "yes" else 0

    async with served(env) as server:
        blocked, free = await connect(server.port), await connect(server.port)
        start = blocked.send("tasks.start", id="task", args={"wait": True})
        assert await free.call("tasks.start", id="task") == {"prompt": "go"}
        assert await free.call("tasks.grade", answer="yes") == {"score": 1.0}
        release.set()
        assert await blocked.receive() == {"jsonrpc": "2.0", "id": start, "result": {"prompt": "go"}}
        for wire in (blocked, free):
            await wire.close()


async def test_cancel_does_not_wait_for_a_plain_generator_that_blocks_and_it_is_closed_later():
    started, release, closed = threading.Event(), threading.Event(), threading.Event()
    env = Environment("sync")

    @env.template()
    def task():
        started.set()
        try:
            assert release.wait(30)
            yield "go"
        finally:
            closed.set()

    async with wired(env) as wire:
        wire.send("tasks.start", id="task")
        assert await asyncio.to_thread(started.wait, 30)
        wire.send("tasks.cancel")
        await wire.receive()
        assert outcome(await wire.receive()) == {"cancelled": True}
        release.set()
        assert await asyncio.to_thread(closed.wait, 30)


async def test_thirty_sessions_at_once_keep_their_tasks_apart():
    async with served(letters()) as server:

        async def one(n: int) -> float:
            wire = await connect(server.port)
            await wire.call("tasks.start", id="count", args={"word": "r" * n})
            await asyncio.sleep(0)
            score = (await wire.call("tasks.grade", answer=str(n)))["score"]
            await wire.close()
            return score

        assert await asyncio.gather(*(one(n) for n in range(30))) == [1.0] * 30


async def test_a_frame_of_sixteen_mebibytes_passes_and_one_byte_more_ends_the_connection():
    async with served(letters()) as server:
        for extra, refused in ((0, False), (1, True)):
            wire = await connect(server.port)
            frame = json.dumps({"id": 1, "method": "tasks.grade", "params": {"answer": ""}})
            padding = "x" * (FRAME_LIMIT_BYTES + extra - len(frame))
            wire.send_bytes(frame.replace('"answer": ""', f'"answer": "{padding}"').encode() + b"\n")
            reply = await wire.receive()
            assert reply["id"] == (None if refused else 1)
            assert outcome(reply)[0] == (-32000 if refused else -32600)
            assert ("exceeds the limit of 16777216 bytes" in outcome(reply)[1]) == refused
            await wire.close()


async def test_a_prompt_that_is_too_big_is_refused_and_its_task_is_dropped():
    env = Environment("big")

    @env.template()
    async def task():
        yield "x" * FRAME_LIMIT_BYTES
        yield 1

    async with wired(env) as wire:
        code, message = await wire.call("tasks.start", id="task")
        assert code == -32000
        assert "limit is 16777216 bytes" in message
        assert await wire.call("tasks.grade", answer="") == (-32600, "no task in progress")


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n", b"[1, 2]\n", b"\xff\xfe\n", b"null\n"])
async def test_garbage_is_answered_with_an_error_and_the_connection_closed(garbage):
    async with wired(letters()) as wire:
        wire.send_bytes(garbage)
        reply = await wire.receive()
        assert (reply["id"], reply["error"]["code"]) == (None, -32000)
        with pytest.raises(EOFError):
            await wire.receive()


async def test_capabilities_are_bindings_and_tunnels_lead_to_them():
    async def echo(reader, writer):
        writer.write(b"hello ")
        writer.write(await reader.read(100))
        writer.close()

    backend = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = backend.sockets[0].getsockname()[1]
    tools = Capability.mcp(url=f"http://127.0.0.1:{port}/mcp")
    async with served(Environment("tools", capabilities=[tools, Capability("no-port", "x/1", "tcp://h")])) as server, backend:
        control, tunnel = await connect(server.port), await connect(server.port)
        bindings = (await control.call("hello"))["bindings"]
        assert bindings[0] == {
            "name": "tools",
            "protocol": "mcp/2025-11-25",
            "url": f"http://127.0.0.1:{port}/mcp",
            "params": {"transport": "streamable-http"},
        }
        assert await tunnel.call("tunnel.open", capability="tools") == {"capability": "tools"}
        tunnel.send_bytes(b"world")
        assert await tunnel.reader.read() == b"hello world"
        for wire in (control, tunnel):
            await wire.close()


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"capability": "nope"}, (-32000, "unknown capability: 'nope'")),
        ({"capability": 1}, (-32602, "tunnel.open: 'capability' must be a string")),
        ({"capability": "no-port"}, (-32602, "capability 'no-port' has no host:port to tunnel to")),
    ],
)
async def test_a_tunnel_to_nowhere_is_refused(params, error):
    async with wired(Environment("tools", capabilities=[Capability("no-port", "x/1", "tcp://h")])) as wire:
        assert await wire.call("tunnel.open", **params) == error


async def test_a_declared_answer_type_is_parsed_and_what_does_not_fit_stays_text():
    seen = []
    env = Environment("typed")

    @env.template(returns=list[int])
    async def task():
        seen.append((yield "numbers?"))
        yield 1

    async with wired(env) as wire:
        for answer in ("[1, 2]", "one"):
            await wire.call("tasks.start", id="task")
            await wire.call("tasks.grade", answer=answer)
        assert (await wire.call("tasks.list"))["tasks"][0]["returns"] == {"type": "array", "items": {"type": "integer"}}
    assert seen == [Answer([1, 2], "[1, 2]"), Answer("one", "one")]


async def test_a_template_that_is_no_generator_or_is_registered_twice_is_refused():
    env = letters()
    with pytest.raises(TypeError, match="must be a generator function"):
        env.template()(lambda: 1)
    with pytest.raises(ValueError, match="template 'count' is already registered on environment 'letters'"):
        env.template(id="count")(letters().templates["count"].function)


def test_calling_a_template_gives_the_task_row():
    row = letters().templates["count"]("banana", letter="n")
    assert row == {"env": "letters", "id": "count", "args": {"word": "banana", "letter": "n"}}
