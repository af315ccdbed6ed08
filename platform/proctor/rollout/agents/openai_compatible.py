"""A chat-completions model in a tool loop: ask, record, call its tools, until it answers or a limit cuts it off.

Behaves as HUD's agent of the same name: malformed tool arguments and failing tools are answered with an error result, the
limits end the loop with their stop reason, and whatever text there is gets graded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.rollout.agents.base import AgentRun, Usage
from proctor.rollout.agents.chat import ChatClient, ChatReply
from proctor.rollout.agents.mcp_tools import Toolbox, chat_messages, error_result, image_part
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.steps import now, raw

CUT_OFF = frozenset({"length", "max_output_tokens", "max_tokens"})
_OWN = frozenset({"model", "messages", "stream", "tools", "extra_body", "timeout", "extra_query"})


@dataclass(frozen=True)
class ToolCall:
    """A call the model wants. `arguments` is the text it sent when that is no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    sent: str

    def as_step(self) -> dict[str, Any]:
        """As steps show it."""
        return {"name": self.name, "arguments": self.arguments, "id": self.id}

    def as_message(self) -> dict[str, Any]:
        """As history replays it: arguments that cannot be parsed are not sent again."""
        arguments = self.sent if isinstance(self.arguments, dict) else "{}"
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


class OpenAICompatibleAgent:
    """See the module. One instance runs once."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._max_steps = int(config.get("max_steps", 10))
        self._stop_on = frozenset(config.get("stop_on") or ())
        self._messages: list[dict[str, Any]] = []

    async def run(self, run: AgentRun) -> None:
        """The loop, between opening and closing tools and model."""
        route = run.plan.model
        if route is None:
            raise RolloutFailed("agent", "openai_compatible has no model: name one in config.model.")
        self._messages = self._opening(run)
        run.unanswered = True  # until its first word: opening the tools takes time too
        async with (
            ChatClient(route, run.plan.run_id, run.plan.deadlines.model_call_s) as chat,
            Toolbox(run.session, run.plan.run_id, self._config.get("tool_timeout_seconds")) as tools,
        ):
            run.stop_reason = await self._loop(run, chat, tools)

    async def _loop(self, run: AgentRun, chat: ChatClient, tools: Toolbox) -> str:
        for _ in range(self._max_steps):
            reply, calls = await self._turn(run, chat, tools)
            if not calls:
                return "length" if reply.finish_reason in CUT_OFF else "done"
            if (stopped := self._stopped(reply, calls)) is not None:
                return stopped
            ended = [await self._call(run, tools, call) for call in calls]
            if any(ended):
                return "environment_done"
        return "max_steps"

    async def _turn(self, run: AgentRun, chat: ChatClient, tools: Toolbox) -> tuple[ChatReply, list[ToolCall]]:
        """One model call, recorded."""
        started_at = now()
        await run.report.phase("waiting_model")
        run.unanswered = run.answer is None
        reply = await chat.complete(self._request(run, tools))
        run.unanswered = False
        await run.report.phase("running")
        calls = read_calls(reply.message)
        self._messages.append(_history(reply.message, calls))
        run.answer = text_of(reply.message)
        await run.recorder.record("agent", started_at=started_at, **_step(run, reply, calls))
        return reply, calls

    def _request(self, run: AgentRun, tools: Toolbox) -> dict[str, Any]:
        assert run.plan.model is not None
        kwargs = self._config.get("completion_kwargs") or {}
        body = {key: value for key, value in kwargs.items() if key not in _OWN} | dict(kwargs.get("extra_body") or {})
        if self._config.get("checkpoint"):
            body["checkpoint"] = self._config["checkpoint"]
        body |= {"model": run.plan.model.model, "messages": self._messages, "stream": False}
        return body | ({"tools": tools.parameters} if tools.parameters else {})

    def _opening(self, run: AgentRun) -> list[dict[str, Any]]:
        system = self._config.get("system_prompt")
        first = [] if system is None else [{"role": "system", "content": system}]
        return first + [{"role": message["role"], "content": [_part(message["content"])]} for message in run.prompt]

    def _stopped(self, reply: ChatReply, calls: list[ToolCall]) -> str | None:
        if "length" in self._stop_on and reply.finish_reason in CUT_OFF:
            return "length"
        if "malformed_tool_call" in self._stop_on and any(isinstance(call.arguments, str) for call in calls):
            return "malformed_tool_call"
        return None

    async def _call(self, run: AgentRun, tools: Toolbox, call: ToolCall) -> bool:
        """True when the environment says that there is nothing left to do."""
        started_at = now()
        if isinstance(call.arguments, str):
            result = error_result(
                f"the arguments for this {call.name!r} call arrived incomplete (cut off or invalid JSON), so it was not executed. "
                f"Received: {call.arguments[:200]!r}. Re-issue the call in full."
            )
        else:
            result = await tools.call(call.name, call.arguments)
        await run.recorder.record("tool", started_at=started_at, call=call.as_step(), result=result)
        self._messages.extend(chat_messages(call.id, result))
        return bool((result.get("_meta") or {}).get("proctor/ends"))


def read_calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """The function calls of a message, however badly formed."""
    listed = message.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    return [_read_call(call, number) for number, call in enumerate(calls) if call.get("type", "function") == "function"]


def _read_call(call: Mapping[str, Any], number: int) -> ToolCall:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    sent = function.get("arguments")
    if isinstance(sent, dict):  # some servers send the object itself
        sent = json.dumps(sent)
    sent = sent if isinstance(sent, str) else "{}"
    return ToolCall(str(call.get("id") or f"call_{number}"), str(function.get("name") or ""), _arguments(sent), sent)


def _arguments(sent: str) -> dict[str, Any] | str:
    try:
        parsed = json.loads(sent or "{}", parse_constant=_refuse_constant)
    except ValueError:
        return sent
    return parsed if isinstance(parsed, dict) else sent


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _history(message: Mapping[str, Any], calls: list[ToolCall]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if value is not None and key != "tool_calls"}
    return kept | {"role": "assistant"} | ({"tool_calls": [call.as_message() for call in calls]} if calls else {})


def text_of(message: Mapping[str, Any]) -> str:
    """The message's text, whether sent as a string or as parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict) and part.get("type") == "text")
    return content or ""


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") == "image":
        return image_part(block)
    return {"type": "text", "text": str(block.get("text", ""))}


def _step(run: AgentRun, reply: ChatReply, calls: list[ToolCall]) -> dict[str, Any]:
    """The `agent` step's own fields."""
    assert run.plan.model is not None
    message = reply.message
    reasoning = next((message[key] for key in ("reasoning_content", "reasoning") if isinstance(message.get(key), str)), None)
    refusal = message.get("refusal")
    return {
        "content": text_of(message),
        "reasoning": reasoning,
        "tool_calls": [call.as_step() for call in calls],
        "done": not calls,
        "finish_reason": reply.finish_reason,
        "refusal": refusal if isinstance(refusal, str) else None,
        "citations": [],
        "raw": raw(reply.text),
        "model": reply.model or run.plan.model.model,
        "usage": _count(run.usage, reply.usage),
    }


def _count(total: Usage, usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """This turn's usage, added to the run's."""
    if usage is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _tokens(details.get("cached_tokens")) if isinstance(details, dict) else None
    prompt, completion, cost = _tokens(usage.get("prompt_tokens")), _tokens(usage.get("completion_tokens")), usage.get("cost")
    total.prompt_tokens += prompt or 0
    total.completion_tokens += completion or 0
    total.cached_tokens += cached or 0
    cost = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None
    if cost is not None:
        total.cost_usd = (total.cost_usd or 0.0) + cost
    turn = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached, "cost_usd": cost}
    return {key: value for key, value in turn.items() if value is not None}


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
