"""A rollout that a Task App runs: one `POST /rollout`, its reply told as steps of ours, its metrics as the grade.

The app has the policy and the environment; we have the deadlines, the trace and the blame. The POST is never repeated; a cancellation
closes its connection. Keys are in the plan alone: they go to the app and are taken out of what it says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.frames import grade_problem
from proctor.rollout.plan import Failure, Outcome, Phase, Report, RolloutPlan, TaskAppRoute
from proctor.rollout.steps import Recorder, now, raw, text_block
from proctor.taskapp.client import TaskAppClient
from proctor.taskapp.correlation import with_id
from proctor.taskapp.reading import ReadRollout, ScoreSource
from proctor.taskapp.rollouts import RolloutMode, RolloutRequest, alternating
from proctor.taskapp.transport import CallFailed
from proctor.taskapp.turns import ToolCall, Turn

log = logging.getLogger(__name__)

GRACE_S = 5.0
"""What an app gets beyond its own `max_time_s` to write its reply."""
TURNS = 10
RAW_LIMIT = 4_000_000
"""Characters of a reply that are kept as text in the trace."""
FLUSH_EVERY = 32
_CLASSES = {
    "dns": "peer_unreachable", "refused": "peer_unreachable", "tls": "peer_unreachable", "private": "peer_unreachable", "auth": "peer_auth",
    "refused_request": "peer_refused", "server_error": "peer_error", "lost": "peer_lost", "redirect": "peer_reply", "bad_reply": "peer_reply",
    "too_large": "peer_reply",
}  # fmt: skip


async def run_in_task_app(plan: RolloutPlan, report: Report) -> Outcome:
    """One attempt. As `run_rollout`: failures are outcomes, only a cancellation is raised, with the outcome on it."""
    try:
        return await _TaskAppRollout(plan, report).run()
    except asyncio.CancelledError as cancelled:
        cancelled.outcome = Outcome("cancelled")  # type: ignore[attr-defined]
        raise


class _TaskAppRollout:
    """The state of one attempt."""

    def __init__(self, plan: RolloutPlan, report: Report) -> None:
        assert plan.task_app is not None
        self.plan, self.report, self.route = plan, report, plan.task_app
        self.recorder = Recorder(plan.run_id, report)
        self.phase: Phase = "starting"
        self.found: ReadRollout | None = None
        self.frame: str | None = None

    async def run(self) -> Outcome:
        failure: Failure | None = None
        try:
            await self._story()
        except RolloutFailed as error:
            failure = error.failure
        except Exception as error:
            log.exception("rollout in a task app broke")
            failure = Failure("platform", "platform", f"Proctor failed while {self.phase}: {error!r}"[:4000])
        if failure is not None:
            self.recorder.add("system", error=f"[{self.phase}] {failure.message}")
        return self._outcome(failure)

    async def _story(self) -> None:
        await self._enter("starting")
        request, started_at = request_of(self.plan), now()
        self.recorder.task_setup(self.plan.task_id, self.plan.args_text, json.dumps({"prompt": _prompt(self.plan)}, ensure_ascii=False), started_at)
        self.recorder.user([{"role": "user", "content": text_block(_prompt(self.plan))}])
        self.found = await self._rolled_out(request)
        for number, turn in enumerate(self.found.turns):
            for source, step in steps_of_turn(turn, number):
                self.recorder.add(source, **step)
            if number % FLUSH_EVERY == FLUSH_EVERY - 1:
                await self.recorder.flush()
        self._grade(self.found)

    async def _rolled_out(self, request: RolloutRequest) -> ReadRollout:
        """The reply. What is written meanwhile costs no time; should a write be fenced, the call ends with it."""
        call = asyncio.ensure_future(self._post(request))
        try:
            await asyncio.gather(self._enter("running"), self.recorder.flush())
            return await call
        finally:
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    async def _enter(self, phase: Phase) -> None:
        self.phase = phase
        await self.report.phase(phase)

    async def _post(self, request: RolloutRequest) -> ReadRollout:
        route, within_s = self.route, min(self.plan.deadlines.rollout_s, request.safety.max_time_s + GRACE_S)
        client = TaskAppClient(route.url, route.key, public_only=route.public_only)
        cid = request.policy.config.get("trace_correlation_id")
        try:
            return await client.rollout(request, within_s=within_s, correlation_id=cid, secrets=route.secrets)
        except CallFailed as error:
            raise _blamed(error, within_s) from None

    def _grade(self, found: ReadRollout) -> None:
        """What the app measured. It is written with the end: there is nothing more to wait for."""
        started_at, self.phase = now(), "grading"
        source: ScoreSource = self.plan.agent_config.get("score", "mean_return")
        self.frame = json.dumps(grade_frame(found, source), ensure_ascii=False, allow_nan=False)
        kept = raw(found.text) if len(found.text) <= RAW_LIMIT else None
        problem = grade_problem(self.frame)
        self.recorder.task_evaluate(self.plan.task_id, "null", self.frame, started_at, problem)
        self.recorder.add("system", extra={"task_app_reply": kept if kept is not None else f"not kept: {len(found.text):,} characters", "marks": _marks(found)})
        if problem is not None:
            raise RolloutFailed("grading", f"The Task App's metrics have no finite {source}.")

    def _outcome(self, failure: Failure | None) -> Outcome:
        found = self.found
        turns = found.turns if found else []
        costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
        return Outcome(
            "error" if failure else "completed", evaluation_text=self.frame, failure=failure, stop_reason=None if found is None else "aborted" if found.aborted else "done",
            prompt_tokens=sum(turn.prompt_tokens or 0 for turn in turns), completion_tokens=sum(turn.completion_tokens or 0 for turn in turns),
            cost_usd=sum(costs) if costs else None, steps=self.recorder.taken(),
        )  # fmt: skip


def request_of(plan: RolloutPlan) -> RolloutRequest:
    """What is asked of the app: the task's seed, split and config, the job's policy, program and limits. Raises RolloutFailed."""
    config, args, route = plan.agent_config, _args(plan), plan.task_app
    assert route is not None
    mode = RolloutMode(config.get("mode", "eval"))
    safety = {"max_time_s": min(plan.deadlines.agent_s or plan.deadlines.rollout_s, plan.deadlines.rollout_s), **config.get("safety", {})}
    seed = args.get("seed")
    return RolloutRequest.model_validate(
        {
            "run_id": plan.run_id if plan.attempt == 1 else f"{plan.run_id}-{plan.attempt}", "mode": mode,
            "env": {"env_id": args.get("env_id"), "env_name": args.get("env_name") or plan.env, "seed": seed, "config": _env_config(args)},
            "policy": {"policy_name": config.get("policy_name"), "config": _policy(plan, route, mode)},
            "ops": config["ops"] if "ops" in config else alternating(int(config.get("turns", TURNS))),
            "record": {"return_trace": True, "trace_format": "structured", "logprobs": mode is RolloutMode.RL, **config.get("record", {})},
            "on_done": config.get("on_done", "terminate"), "safety": safety,
        }
    )  # fmt: skip


def _args(plan: RolloutPlan) -> dict[str, Any]:
    args = json.loads(plan.args_text)
    seed = args.get("seed") if isinstance(args, dict) else None
    if not isinstance(args, dict) or isinstance(seed, bool) or not isinstance(seed, int | None):
        raise RolloutFailed("setup", "A Task App's task needs args with `seed`, a whole number.", blame="task")
    return args


def _env_config(args: Mapping[str, Any]) -> dict[str, Any]:
    given = args.get("config")
    known = {key: args[name] for key, name in (("split", "split"), ("index", "seed")) if args.get(name) is not None}
    return {**known, **(given if isinstance(given, dict) else {})}


def _policy(plan: RolloutPlan, route: TaskAppRoute, mode: RolloutMode) -> dict[str, Any]:
    """The policy's config with the run's id as correlation id; for training it stands in the inference URL too."""
    policy = {"trace_correlation_id": uuid.UUID(plan.run_id).hex, **route.policy}
    if mode is RolloutMode.RL and isinstance(policy.get("inference_url"), str):
        policy["inference_url"] = with_id(policy["inference_url"], str(policy["trace_correlation_id"]))
    return policy


def _prompt(plan: RolloutPlan) -> str:
    """What the app says of the task, for people."""
    info = _args(plan).get("task_info")
    task = info.get("task") if isinstance(info, dict) else None
    said = (task.get("description") or task.get("name")) if isinstance(task, dict) else None
    return str(said or plan.slug or plan.task_id)


def _blamed(error: CallFailed, within_s: float) -> RolloutFailed:
    if error.cause == "timeout" and error.sent:
        return RolloutFailed("peer_timeout", f"The Task App did not answer within {within_s:g} s.")
    return RolloutFailed(_CLASSES.get(error.cause, "peer_unreachable"), f"The Task App {_WORDS.get(error.cause, 'could not be asked')}: {error.message}.")


_WORDS = {
    "auth": "refused our key", "refused_request": "refused the rollout", "server_error": "failed", "lost": "was lost during the rollout",
    "redirect": "answered something else", "bad_reply": "answered something else", "too_large": "answered too much",
}  # fmt: skip


def steps_of_turn(turn: Turn, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """An `agent` step for what the policy decided, a `tool` step for each call; the last has what the environment made of it."""
    calls = [_call(call, number, place) for place, call in enumerate(turn.tool_calls)]
    usage = {"prompt_tokens": turn.prompt_tokens, "completion_tokens": turn.completion_tokens, "cost_usd": turn.cost_usd}
    yield "agent", {
        "content": turn.text or "", "tool_calls": calls, "done": not calls, "finish_reason": turn.finish_reason, "citations": [], "model": turn.model,
        "usage": {key: value for key, value in usage.items() if value is not None} or None, "sample": _sample(turn),
        "extra": {"decision_sample": turn.sample} if turn.sample else {}, "error": turn.error,
    }  # fmt: skip
    if not turn.has_environment:
        return
    for place, call in enumerate(calls or [{"id": f"env_{number}", "name": "env", "arguments": {}}]):
        last = place >= len(calls) - 1
        observation = turn.observation if last else None
        result = {"content": [text_block(json.dumps(observation, ensure_ascii=False))] if observation is not None else [], "isError": False}
        yield "tool", {"call": call, "result": result, "extra": {"reward": turn.reward, "done": turn.done, "truncated": turn.truncated} if last else {}}


def _call(call: ToolCall, number: int, place: int) -> dict[str, Any]:
    step = {"id": call.id or f"call_{number}_{place}", "name": call.name, "arguments": call.arguments}
    return step | ({"annotation": "synthesised"} if call.synthesised else {})


def _sample(turn: Turn) -> dict[str, Any] | None:
    """HUD's shape of the same decision, where the app gave token ids."""
    sample = turn.sample or {}
    if not sample.get("token_ids"):
        return None
    return {"prompt_token_ids": [], "output_token_ids": sample["token_ids"], "output_logprobs": sample["logprobs"]}


def grade_frame(found: ReadRollout, source: ScoreSource) -> dict[str, Any]:
    """The score and where it is from; under `info` what was told beside what was recomputed, and the flags."""
    metrics = found.metrics
    told = {
        "mean_return": metrics.mean_return, "recomputed_mean_return": found.recomputed_mean, "episode_returns": metrics.episode_returns,
        "outcome_score": metrics.outcome_score, "events_score": metrics.events_score, "num_steps": metrics.num_steps,
    }  # fmt: skip
    how = {
        "score_source": source, "flags": found.flags, "lost_by_peer": [mark.path for mark in found.marks if mark.kind == "lost"], "read_from": found.source,
        "trace_envelope": found.envelope, "turns": len(found.turns), "aborted": found.aborted, "ops_executed": found.ops_executed,
        "trace_correlation_id": found.correlation_id, "branches": found.branches,
    }  # fmt: skip
    return {"score": found.score(source), "info": {**told, **how, "details": found.details}}


def _marks(found: ReadRollout) -> list[dict[str, str]]:
    return [{"path": mark.path, "kind": mark.kind, "text": mark.text[:200]} for mark in found.marks[:1000]]
