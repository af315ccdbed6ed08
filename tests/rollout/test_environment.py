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
from tests.support.control import connect, outcome, served, wired


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
            -32000, "task 'no_prompt' ended before its prompt: yield a prompt first")  # fmt: skip
        await wire.call("tasks.start", id="no_grade")
        assert await wire.call("tasks.grade", answer="") == (
            -32000, "task 'no_grade' ended without a grade: yield a reward after the answer")  # fmt: skip


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
    async with served(letters()) as port:
        first, second = await connect(port), await connect(port)
        session = await first.hello()
        await first.call("tasks.start", id="count")
        assert await second.call("hello", session_id=session) == (-32600, f"session {session!r} has a live connection")
        await first.close()
        await _gone(second, session)
        assert await second.call("tasks.grade", answer="3") == pytest.approx_score(1.0)
        await second.close()


async def _gone(wire, session):
    """Resume as soon as the server has noticed that the first connection ended."""
    while (reply := await wire.call("hello", session_id=session)) == (-32600, f"session {session!r} has a live connection"):
        await asyncio.sleep(0.01)
    assert reply["session_id"] == session


async def test_a_bare_grade_takes_the_only_parked_task_and_refuses_to_choose_between_two():
    async with served(letters()) as port:
        wires = [await connect(port) for _ in range(3)]
        sessions = [await wire.hello() for wire in wires]
        for wire in wires[:2]:
            await wire.call("tasks.start", id="count")
            await wire.close()
        grader = wires[2]
        code, message = await _once(grader, lambda reply: "2 parked" in reply[1])
        assert code == -32600
        assert message == f"2 parked sessions ({', '.join(sorted(sessions[:2]))}); resume one by sending hello with its session_id"
        await grader.call("hello", session_id=sessions[0])
        assert (await grader.call("tasks.grade", answer="3"))["score"] == 1.0
        assert (await grader.call("tasks.grade", answer="x"))["score"] == 0.0
        assert await grader.call("tasks.grade", answer="x") == (-32600, "no task in progress")
        await grader.close()


async def _once(wire, ready):
    """Grade until the server has noticed both hang-ups; a grade that finds nothing or too much changes nothing."""
    while not ready(reply := await wire.call("tasks.list_or_grade" if False else "tasks.grade", answer="3")):
        await asyncio.sleep(0.01)
    return reply
