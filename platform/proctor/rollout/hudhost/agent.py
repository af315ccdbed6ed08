"""One of HUD's agents as an agent of our engine: set-up, deadlines and grading are the engine's, the turns are HUD's.

The agent reaches the environment by a control session of its own beside the engine's (HUD 4.2 keeps sessions apart) and its model by the
run's route. Its spans go through the run's recorder like everybody's; what looks like the route's secrets is taken out of every line.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import msgspec

from proctor.rollout.agents.base import AgentRun
from proctor.rollout.agents.config import validate_agent
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.hudhost.hosts import HostLost, HostRefused, HudHosts, Line

log = logging.getLogger(__name__)

SHORTEST_SECRET = 8
"""Characters: what is shorter could be a word of the messages themselves."""
_FAILURES = frozenset({"agent", "model_http", "model_timeout", "model_reply"})


class _Message(msgspec.Struct):
    phase: str | None = None
    span: msgspec.Raw = msgspec.Raw()
    end: _End | None = None
    left_out: int = 0


class _End(msgspec.Struct):
    answer: str | None = None
    stop_reason: str | None = None
    failed: tuple[str, str] | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class _Step(msgspec.Struct):
    source: str = ""
    content: str | None = None
    usage: _Usage | None = None


class _Attributes(msgspec.Struct):
    step: _Step | msgspec.UnsetType = msgspec.field(name="hud.payload", default=msgspec.UNSET)
    schema: str = msgspec.field(name="hud.schema", default="")


class _Span(msgspec.Struct):
    attributes: _Attributes


class HostedAgent:
    """See the module. One instance runs once."""

    def __init__(self, hosts: HudHosts) -> None:
        self._hosts = hosts

    async def run(self, run: AgentRun) -> None:
        """Raises RolloutFailed: `agent` or a model's class as the child tells, `platform` when there is no child or it died (another
        attempt may go better)."""
        job = job_of(run)
        run.unanswered = not job["agent_type"].endswith("_cli")
        try:
            async with self._hosts.line() as line:
                await line.send(job)
                await self._follow(run, line)
        except HostRefused as error:
            raise RolloutFailed("platform", str(error)) from error
        except HostLost as error:
            raise RolloutFailed("platform", f"The process that runs HUD's agents was lost: {error}.", again=True) from error

    async def _follow(self, run: AgentRun, line: Line) -> None:
        secrets = _secrets(run)
        while True:
            message = _read(await line.receive(), secrets)
            if message.phase in ("waiting_model", "running"):
                run.unanswered = message.phase == "waiting_model" and run.answer is None
                await run.report.phase("waiting_model" if message.phase == "waiting_model" else "running")
            if span := bytes(message.span):
                await _keep(run, span)
            if message.left_out:
                log.warning("step not kept run=%s bytes=%s", run.plan.run_id, message.left_out)
            if message.end is not None:
                return _finish(run, message.end)


def job_of(run: AgentRun) -> dict[str, Any]:
    """The line that starts a rollout in the child. Raises RolloutFailed for what no child could run."""
    plan, address, model = run.plan, run.session.address, run.plan.model
    problems = validate_agent(plan.agent_type, plan.agent_config)
    if problems:
        raise RolloutFailed("agent", "The agent cannot run: " + "; ".join(problems))
    if address is None:
        message = f"HUD's agent {plan.agent_type} needs an environment with a control channel; this one is driven by function calls."
        raise RolloutFailed("agent", message)
    if model is None:
        raise RolloutFailed("agent", f"{plan.agent_type} has no model: name one in config.model.")
    return {
        "run_id": plan.run_id, "agent_type": plan.agent_type, "config": dict(plan.agent_config), "url": f"tcp://{address[0]}:{address[1]}",
        "task_id": plan.task_id, "prompt": list(run.prompt), "steps_before": run.recorder.count, "model_call_s": plan.deadlines.model_call_s,
        "model": {"name": model.model, "base_url": model.base_url, "api_key": model.api_key, "headers": dict(model.headers)},
    }  # fmt: skip


def _secrets(run: AgentRun) -> list[bytes]:
    """As they would stand in a JSON text."""
    assert run.plan.model is not None
    texts = [run.plan.model.api_key, *run.plan.model.headers.values()]
    return [json.dumps(text, ensure_ascii=False)[1:-1].encode() for text in texts if len(text) >= SHORTEST_SECRET]


def _read(line: bytes, secrets: list[bytes]) -> _Message:
    for secret in secrets:
        line = line.replace(secret, b"[redacted]")
    try:
        return msgspec.json.decode(line, type=_Message)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise HostLost(f"it sent a line that cannot be read ({error})") from error


async def _keep(run: AgentRun, span: bytes) -> None:
    """A step of the agent holds its best answer so far, and what it used."""
    try:
        attributes = msgspec.json.decode(span, type=_Span).attributes
    except (msgspec.MsgspecError, RecursionError):
        attributes = _Attributes()
    if attributes.schema == "hud.step.v1" and attributes.step is not msgspec.UNSET and attributes.step.source == "agent":
        run.answer = attributes.step.content if attributes.step.content is not None else run.answer
        run.unanswered = False
        _count(run, attributes.step.usage)
    run.recorder.pass_on(span, is_step=attributes.schema == "hud.step.v1")
    await run.recorder.flush()


def _count(run: AgentRun, used: _Usage | None) -> None:
    if used is None:
        return
    total = run.usage
    total.prompt_tokens += used.prompt_tokens or 0
    total.completion_tokens += used.completion_tokens or 0
    total.cached_tokens += used.cached_tokens or 0
    if used.cost_usd is not None:
        total.cost_usd = (total.cost_usd or 0.0) + used.cost_usd


def _finish(run: AgentRun, end: _End) -> None:
    run.unanswered = False
    if end.failed is not None:
        failure_class, message = end.failed
        raise RolloutFailed(failure_class if failure_class in _FAILURES else "agent", message)
    run.answer = end.answer if end.answer is not None else run.answer
    run.stop_reason = end.stop_reason or "done"
