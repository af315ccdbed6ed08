"""Who solves the tasks: an agent that Proctor has, or a function of one's own.

`replay`, `noop` and `openai_compatible` name what the server's hosted jobs run as well. A function takes an `AgentContext` and returns its
answer; async or not (a plain function runs in a thread). The chat agent and `tools` need the extra `rollout` when the environment has tools.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import ModelRoute
from proctor.rollout.steps import now

if TYPE_CHECKING:
    from proctor.rollout.agents.base import Agent, AgentRun
    from proctor.rollout.agents.mcp_tools import Toolbox

OwnAgent = Callable[["AgentContext"], "str | Awaitable[str | None] | None"]


@dataclass(frozen=True)
class AgentSpec:
    """An agent by its type and configuration, as a job of the server names it; `route` is where its model is served, locally."""

    type: str
    config: Mapping[str, Any] = field(default_factory=dict)
    route: ModelRoute | None = field(default=None, repr=False)

    @property
    def model(self) -> str | None:
        """What the runs are listed under."""
        model = self.config.get("model")
        return model if isinstance(model, str) else None

    @property
    def label(self) -> str:
        """For people."""
        return self.model or self.type


def noop() -> AgentSpec:
    """Answers with the empty text."""
    return AgentSpec("noop")


def replay(*, column: str | None = None, answers: Mapping[str, str] | None = None) -> AgentSpec:
    """Answers with what a column of the task holds, or with `answers[slug]`."""
    given = {"column": column, "answers": dict(answers) if answers is not None else None}
    return AgentSpec("replay", {name: value for name, value in given.items() if value is not None})


def openai_compatible(model: str, *, base_url: str | None = None, api_key: str | None = None, **config: Any) -> AgentSpec:
    """A chat-completions model in a tool loop. `config`: `max_steps`, `system_prompt`, `stop_on`, `completion_kwargs`, `timeout_seconds`, …

    The model is called at `base_url` (up to `/chat/completions`), else at OPENAI_BASE_URL, else through the server's gateway. A hosted
    job calls the team's own endpoint for the model, whatever is given here.
    """
    return AgentSpec("openai_compatible", {"model": model, **config}, _route(model, base_url, api_key))


def _route(model: str, base_url: str | None, api_key: str | None) -> ModelRoute | None:
    base_url = base_url or os.environ.get("OPENAI_BASE_URL")
    if base_url:
        return ModelRoute(model, base_url.rstrip("/"), api_key or os.environ.get("OPENAI_API_KEY", ""))
    from proctor.client.access import find_access_or_none

    access = find_access_or_none()
    return ModelRoute(model, f"{access.origin}/gateway", access.api_key) if access else None


class AgentContext:
    """What a function of one's own works with: the task's prompt, the environment's tools, and a place for its steps."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run

    @property
    def prompt(self) -> str:
        """The texts of the prompt, a blank line between messages."""
        return "\n\n".join(str(message["content"]["text"]) for message in self.messages if message["content"].get("type") == "text")

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """`{role, content: MCP block}` each."""
        return self._run.prompt

    @property
    def slug(self) -> str:
        """The task's."""
        return self._run.plan.slug or ""

    @property
    def task_id(self) -> str:
        """The template's id."""
        return self._run.plan.task_id

    @property
    def run_id(self) -> str:
        """Of this run; send it as `Trace-Id` to the gateway to have usage counted."""
        return self._run.plan.run_id

    def tools(self, timeout_s: float | None = None) -> Toolbox:
        """`async with context.tools() as tools:` — `tools.parameters` for a chat request, `await tools.call(name, arguments)`."""
        from proctor.rollout.agents.mcp_tools import Toolbox

        return Toolbox(self._run.session, self._run.plan.run_id, timeout_s)

    def say(self, answer: str) -> None:
        """The best answer so far: it is graded if time runs out."""
        self._run.answer = answer

    async def record(self, content: str, **step: Any) -> None:
        """A step of the trace, of HUD's `agent` kind: `reasoning`, `tool_calls`, `model`, `usage`, …"""
        said = {"content": content, "tool_calls": [], "done": False, "citations": [], **step}
        await self._run.recorder.record("agent", started_at=now(), **said)

    def count_tokens(self, *, prompt: int = 0, completion: int = 0, cost_usd: float | None = None) -> None:
        """Adds to the run's totals."""
        usage = self._run.usage
        usage.prompt_tokens += prompt
        usage.completion_tokens += completion
        if cost_usd is not None:
            usage.cost_usd = (usage.cost_usd or 0.0) + cost_usd


class OwnFunction:
    """A function as the engine's agent; what it raises is the agent's failure."""

    def __init__(self, function: OwnAgent) -> None:
        self._function = function

    async def run(self, run: AgentRun) -> None:
        """See `rollout.agents.base`."""
        started_at = now()
        try:
            answer = await self._call(AgentContext(run))
        except RolloutFailed:
            raise
        except Exception as error:
            raise RolloutFailed("agent", f"The agent raised {type(error).__name__}: {error}") from error
        if not isinstance(answer, str | None):
            raise RolloutFailed("agent", f"The agent returned a {type(answer).__name__}, not a text.")
        run.answer = run.answer if answer is None else answer
        said: dict[str, Any] = {"content": run.answer or "", "tool_calls": [], "done": True, "finish_reason": "stop", "citations": []}
        run.recorder.add("agent", started_at=started_at, **said)

    async def _call(self, context: AgentContext) -> str | None:
        if inspect.iscoroutinefunction(self._function):
            return cast("str | None", await self._function(context))
        answer = await asyncio.to_thread(self._function, context)
        return await answer if inspect.isawaitable(answer) else answer


def spec_of(agent: Any) -> AgentSpec:
    """The spec itself, or one that names a function. Raises TypeError for anything else."""
    if isinstance(agent, AgentSpec):
        return agent
    if callable(agent):
        return AgentSpec(f"own:{getattr(agent, '__name__', type(agent).__name__)}"[:100])
    raise TypeError(f"an agent is proctor.openai_compatible(…), replay(…), noop(), or a function of an AgentContext, not {type(agent).__name__}")


def engine_agent(agent: Any) -> Agent | None:
    """What the engine is to run, unless it makes the agent itself by its type."""
    return None if isinstance(agent, AgentSpec) else OwnFunction(agent)


def problems_of(agent: AgentSpec, *, local: bool) -> list[str]:
    """Everything that would stop it from running, as sentences."""
    if agent.type.startswith("own:"):
        return [] if local else ["a hosted job can't run a function of yours; name openai_compatible, replay or noop"]
    from proctor.rollout.agents.config import HUD_AGENTS, validate_agent

    problems = validate_agent(agent.type, agent.config)
    if local and agent.type in HUD_AGENTS:
        problems.append(f"{agent.type} is HUD's own agent: it runs in hosted jobs only")
    if local and agent.type == "openai_compatible" and agent.route is None:
        problems.append("no model endpoint: give base_url=, set OPENAI_BASE_URL, or sign in to use the server's gateway")
    return problems
