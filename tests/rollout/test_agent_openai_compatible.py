"""The chat-completions agent against a scripted model: the conversation, the limits, the tools, and every way a model can fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from proctor.rollout.agents.chat import ChatClient
from proctor.rollout.engine import run_rollout
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.fake import FakeEngine, FakeScript
from proctor.rollout.plan import Deadlines, ModelRoute, SandboxSpec
from tests.support.fake_model import Reply, calls, closed_port, fails, fake_model, says
from tests.support.rollouts import Collected, make_plan

KEY = "sk-very-secret-key"


def route(model, **changes) -> ModelRoute:
    return ModelRoute(**({"model": "stub-1", "base_url": model.base_url, "api_key": KEY} | changes))


async def run(model, *, script=None, sandbox=None, deadlines=None, **config):
    report = Collected()
    plan = make_plan(
        agent_type="openai_compatible", agent_config=config, model=route(model), deadlines=deadlines or Deadlines(),
        **({"sandbox": sandbox, "task_id": "add_up", "args_text": "{}"} if sandbox else {}),
    )  # fmt: skip
    outcome = await run_rollout(plan, report, engine=FakeEngine(script) if sandbox is None else None)
    return outcome, report, plan


async def test_a_model_is_asked_with_the_prompt_and_its_answer_is_graded():
    with fake_model(says("42")) as model:
        outcome, report, plan = await run(
            model, system_prompt="Be brief.", completion_kwargs={"temperature": 0.5, "extra_body": {"seed": 7}}
        )
    assert (outcome.status, outcome.answer, outcome.stop_reason) == ("completed", "42", "done")
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    assert model.paths == ["/v1/chat/completions"]
    assert model.headers[0]["authorization"] == f"Bearer {KEY}" and model.headers[0]["trace-id"] == plan.run_id
    assert model.requests[0] == {
        "model": "stub-1", "stream": False, "temperature": 0.5, "seed": 7,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Task count"}]},
        ],
    }  # fmt: skip
    (step,) = report.payloads("agent")
    assert (step["content"], step["done"], step["finish_reason"], step["model"], step["tool_calls"]) == ("42", True, "stop", "stub-1", [])
    assert step["usage"] == {"prompt_tokens": 11, "completion_tokens": 7, "cached_tokens": 2}
    assert step["raw"]["choices"][0]["message"]["content"] == "42"
    assert report.phases == ["starting", "setup", "running", "waiting_model", "running", "grading"]


async def test_usage_is_summed_over_turns_cached_tokens_and_cost_included():
    paid = {"prompt_tokens": 5, "completion_tokens": 1, "cost": 0.25}
    with fake_model(calls("nothing", "{}"), says("done", usage=paid)) as model:
        outcome, _, _ = await run(model)
    assert (outcome.prompt_tokens, outcome.completion_tokens, outcome.cached_tokens, outcome.cost_usd) == (16, 8, 2, 0.25)


async def test_an_unknown_tool_is_answered_with_an_error_and_the_model_goes_on():
    with fake_model(calls("nothing", '{"x":1}', text="Trying."), says("42")) as model:
        outcome, report, _ = await run(model)
    assert outcome.answer == "42"
    (tool,) = report.payloads("tool")
    assert tool["call"] == {"id": "call_1", "name": "nothing", "arguments": {"x": 1}}
    assert tool["result"] == {"content": [{"type": "text", "text": "unknown tool: 'nothing'"}], "isError": True}
    assert model.requests[1]["messages"][-2]["tool_calls"][0]["function"] == {"name": "nothing", "arguments": '{"x":1}'}
    assert model.requests[1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": "unknown tool: 'nothing'"}


@pytest.mark.parametrize("arguments", ['{"x": ', "[1]", '{"x": NaN}'])
async def test_malformed_tool_arguments_are_told_to_the_model_and_never_replayed(arguments):
    with fake_model(calls("add", arguments), says("42")) as model:
        outcome, report, _ = await run(model)
    assert outcome.stop_reason == "done"
    assert report.payloads("tool")[0]["result"]["isError"] is True
    assert report.payloads("agent")[0]["tool_calls"][0]["arguments"] == arguments
    assert model.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "Re-issue" in model.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "config", "stop_reason"),
    [
        (calls("nothing", "{}", text="so far"), {"max_steps": 2}, "max_steps"),
        (says("so far", finish="length"), {}, "length"),
        (calls("nothing", "{}", finish="length", text="so far"), {"stop_on": ["length"]}, "length"),
        (calls("nothing", "{", text="so far"), {"stop_on": ["malformed_tool_call"]}, "malformed_tool_call"),
    ],
)
async def test_a_limit_ends_the_loop_with_its_name_and_the_text_so_far_is_graded(reply, config, stop_reason):
    with fake_model(reply) as model:
        outcome, _, _ = await run(model, **config)
    assert (outcome.status, outcome.stop_reason, outcome.answer, outcome.failure) == ("completed", stop_reason, "so far", None)
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    assert len(model.requests) == config.get("max_steps", 1)


async def test_reasoning_refusal_and_part_lists_are_understood():
    parts = [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]
    with fake_model(says(parts, reasoning_content="I think.", refusal="no")) as model:  # type: ignore[arg-type]
        outcome, report, _ = await run(model)
    assert outcome.answer == "42"
    assert (report.payloads("agent")[0]["reasoning"], report.payloads("agent")[0]["refusal"]) == ("I think.", "no")


async def test_an_image_in_the_prompt_reaches_the_model_as_an_image():
    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    script = FakeScript(start=lambda _: {"prompt": [{"role": "user", "content": [image]}]})
    with fake_model(says("cat")) as model:
        await run(model, script=script)
    assert model.requests[0]["messages"][0]["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]


# — models that fail


@pytest.mark.parametrize(
    ("reply", "failure_class", "words"),
    [
        (fails(401, f'{{"error":"bad key {KEY}"}}'), "model_http", 'answered 401: {"error":"bad key [redacted]"}'),
        (fails(404, "x" * 1000), "model_http", "answered 404: " + "x" * 300),
        (Reply("<html>hello</html>"), "model_reply", "<html>hello</html>"),
        (Reply('{"choices": []}'), "model_reply", "no chat completion"),
        (Reply('{"choices": [{"message": "hi"}]}'), "model_reply", "without a message"),
        (Reply('{"choices": [{"message": {"content": 5}}]}'), "model_reply", "without a message"),
        (Reply("[]"), "model_reply", "no chat completion"),
        (Reply(""), "model_reply", "(empty)"),
        (Reply('{"choices": ' + "[" * 3000 + "]" * 3000 + "}"), "model_reply", "no chat completion"),
    ],
)
async def test_a_failing_model_is_the_providers_fault_and_the_run_has_no_grade(reply, failure_class, words):
    with fake_model(reply) as model:
        outcome, report, _ = await run(model)
    assert (outcome.status, outcome.failure.failure_class, outcome.failure.blame) == ("error", failure_class, "provider")
    assert words in outcome.failure.message and len(outcome.failure.message) < 450
    assert outcome.evaluation_text is None
    assert len(model.requests) == 1
    assert KEY not in outcome.failure.message + "".join(report.texts)


async def test_a_secret_at_the_edge_of_the_excerpt_is_not_shown_in_part():
    with fake_model(fails(400, "y" * 290 + KEY)) as model:
        outcome, _, _ = await run(model)
    assert KEY[:6] not in outcome.failure.message


async def test_a_slow_model_is_timed_out_by_its_own_deadline():
    with fake_model(Reply("", silent=True)) as model:
        outcome, _, _ = await run(model, deadlines=Deadlines(model_call_s=0.2))
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("model_timeout", "provider")


@pytest.mark.parametrize("first", [Reply("", silent=True), fails(429, retry_after="60")])
async def test_a_model_that_never_answered_is_no_zero_of_the_agent(first):
    with fake_model(first) as model:
        outcome, _, _ = await run(model, timeout_seconds=0.3)
    assert (outcome.status, outcome.stop_reason, outcome.evaluation_text) == ("error", "timeout", None)
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("model_timeout", "provider")
    assert outcome.failure.message == "Model 'stub-1' did not answer once within the 0.3 s that the agent had."


async def test_an_agent_out_of_time_in_a_model_call_is_graded_on_the_text_it_had():
    with fake_model(calls("nothing", "{}", text="42"), Reply("", silent=True)) as model:
        outcome, _, _ = await run(model, timeout_seconds=0.5)
    assert (outcome.status, outcome.stop_reason, outcome.answer, outcome.failure) == ("error", "timeout", "42", None)
    assert json.loads(outcome.evaluation_text)["score"] == 1.0


async def complete(model, **changes):
    async with ChatClient(route(model, **changes), "run", 5.0, pauses_s=(0.0, 0.0)) as chat:
        return await chat.complete({"messages": []})


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_passing_trouble_is_tried_again(status):
    with fake_model(fails(status), fails(status, Retry_After="0"), says("42")) as model:
        reply = await complete(model)
    assert reply.message["content"] == "42" and len(model.requests) == 3


async def test_a_lasting_trouble_ends_after_a_few_tries():
    with fake_model(fails(429, "slow down")) as model, pytest.raises(RolloutFailed, match="answered 429: slow down"):
        await complete(model)
    assert len(model.requests) == 3


async def test_a_model_that_is_down_is_tried_again_and_then_blamed():
    with fake_model(says("unused")) as model, pytest.raises(RolloutFailed, match="cannot be reached") as caught:
        await complete(model, base_url=f"http://127.0.0.1:{closed_port()}/v1")
    assert (caught.value.failure.failure_class, caught.value.failure.blame) == ("model_http", "provider")


async def test_header_values_of_a_route_are_sent_and_never_shown():
    headers = {"X-Api-Key": "header-secret"}
    with fake_model(fails(403, "no header-secret here")) as model, pytest.raises(RolloutFailed) as caught:
        await complete(model, headers=headers)
    assert model.headers[0]["x-api-key"] == "header-secret"
    assert "header-secret" not in str(caught.value) and "header-secret" not in repr(route(model, headers=headers))


async def test_without_a_model_the_agent_cannot_run():
    outcome = await run_rollout(make_plan(agent_type="openai_compatible"), Collected(), engine=FakeEngine())
    assert (outcome.failure.failure_class, outcome.failure.blame) == ("agent", "agent")


# — real MCP tools, through the tunnel


def sums() -> SandboxSpec:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "proctor.environment", str(root / "tests/support/tools_env.py")]
    return SandboxSpec("subprocess", command=command, env={"PYTHONPATH": str(root / "platform")})


async def test_the_environments_tools_are_offered_and_called_and_their_results_come_back():
    with fake_model(calls("add", '{"a":2,"b":40}'), says("It is 42.")) as model:
        outcome, report, _ = await run(model, sandbox=sums())
    assert (outcome.failure, outcome.answer) == (None, "It is 42.")
    assert json.loads(outcome.evaluation_text)["score"] == 1.0
    offered = {tool["function"]["name"]: tool["function"] for tool in model.requests[0]["tools"]}
    assert offered["add"]["description"] == "Add two numbers."
    assert set(offered["add"]["parameters"]["properties"]) == {"a", "b"}
    assert model.requests[1]["messages"][-1]["content"] == "the sum is 42"
    result = report.payloads("tool")[0]["result"]
    assert (result["content"], result["isError"]) == ([{"type": "text", "text": "the sum is 42"}], False)


async def test_a_tool_that_fails_or_hangs_is_the_models_to_handle():
    with fake_model(calls("broken", "{}"), calls("slow", "{}"), says("42")) as model:
        outcome, report, _ = await run(model, sandbox=sums(), tool_timeout_seconds=0.3)
    assert outcome.status == "completed"
    first, second = (step["result"] for step in report.payloads("tool"))
    assert first["isError"] and "broken" in first["content"][0]["text"]
    assert second["isError"] and second["content"][0]["text"] == "slow timed out after 0.3s"
