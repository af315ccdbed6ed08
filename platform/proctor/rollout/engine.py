"""One task in, one outcome out: the story of a rollout on one page.

`run_rollout` starts a sandbox, sets the task up, lets the agent work, grades, and always removes the sandbox. It never raises
for a failed run: a failure is an `Outcome` with a class and a blame. Only a cancellation is raised again, after the clean-up,
with the outcome so far on it (`plan.outcome_of`). Knows no database and no Docker; imports stay cheap.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import msgspec

from proctor.rollout.agents import make_agent
from proctor.rollout.agents.base import Agent, AgentRun
from proctor.rollout.drivers.base import Session
from proctor.rollout.drivers.dial import dial
from proctor.rollout.errors import ControlError, ControlLost, RolloutFailed, refused_grade, refused_start
from proctor.rollout.frames import grade_problem, prompt_messages
from proctor.rollout.patience import finish
from proctor.rollout.plan import (
    Blame,
    Failure,
    Outcome,
    Phase,
    Report,
    RolloutPlan,
    SandboxEngine,
    SandboxSpec,
    StartedSandbox,
    Status,
)
from proctor.rollout.steps import Recorder, now

log = logging.getLogger(__name__)

CANCEL_WITHIN_S = 2.0
LOG_TAIL_BYTES = 256 * 1024
FIRST_RETRY_S, LONGEST_RETRY_S = 0.02, 0.25
LOOK_EVERY_S = 0.5
"""How often a sandbox that does not answer yet is looked at: ended? another port?"""

_PHASE_BLAME: dict[str, Blame] = {
    "starting": "environment", "setup": "environment", "running": "agent", "waiting_model": "provider", "grading": "grader",
    "stopping": "platform",
}  # fmt: skip


async def run_rollout(
    plan: RolloutPlan, report: Report, *, engine: SandboxEngine | None = None, agent: Agent | None = None
) -> Outcome:
    """Run one attempt. `engine` is used for the kinds it serves and stays open; for others one is made and closed here. `agent`
    drives it instead of the one that the plan names. What a Task App runs needs no sandbox of ours and is told by its driver."""
    if plan.task_app is not None:
        from proctor.rollout.drivers.taskapp import run_in_task_app

        return await run_in_task_app(plan, report)
    rollout = _Rollout(plan, report, engine, agent)
    try:
        await rollout.run()
    except asyncio.CancelledError as cancelled:
        await finish(rollout.clean_up())
        cancelled.outcome = rollout.outcome("cancelled")  # type: ignore[attr-defined]
        raise
    await finish(rollout.clean_up())
    return rollout.outcome()


class _Rollout:
    """The state of one attempt, and its chapters in order."""

    def __init__(self, plan: RolloutPlan, report: Report, engine: SandboxEngine | None, agent: Agent | None) -> None:
        self.plan, self.report, self.given_engine, self.given_agent = plan, report, engine, agent
        self.recorder = Recorder(plan.run_id, report)
        self.engines: list[SandboxEngine] = []
        self.sandbox: StartedSandbox | None = None
        self.session: Session | None = None
        self.agent_run: AgentRun | None = None
        self.phase: Phase = "starting"
        self.task_open = False
        self.facts: dict[str, Any] = {}
        self.failure: Failure | None = None
        self.evaluation: str | None = None
        self.earlier_output = b""
        """Of the actor's sandbox, when the verifier has its own."""
        self.ends_at = asyncio.get_running_loop().time() + plan.deadlines.rollout_s

    async def run(self) -> None:
        """The story, with every failure turned into one that has a party to blame."""
        try:
            async with asyncio.timeout_at(self.ends_at):
                await self._story()
        except RolloutFailed as error:
            await self._failed(error.failure)
        except TimeoutError:
            limit = f"{self.plan.deadlines.rollout_s:g} s"
            await self._failed(Failure("timeout", _PHASE_BLAME[self.phase], f"The rollout's {limit} ran out while {self.phase}."))
        except Exception as error:
            log.exception("rollout broke")
            await self._failed(Failure("platform", "platform", f"Proctor failed while {self.phase}: {error!r}"[:4000]))

    async def _story(self) -> None:
        plan = self.plan
        agent = self.given_agent or make_agent(plan.agent_type, plan.agent_config)
        await self._enter("starting")
        session = await self._open_sandbox(plan.sandbox)
        assert self.sandbox is not None
        await self._enter("setup", container_id=self.sandbox.container_id, image_id=self.sandbox.image_id)
        frame = await self._set_up(session, plan.task_id, plan.args_text)
        prompt = prompt_messages(frame)
        if prompt:
            self.recorder.user(prompt)
        await self.recorder.flush()
        await self._enter("running")
        self.agent_run = AgentRun(plan, self.report, self.recorder, session, prompt)
        await self._let_work(agent.run(self.agent_run), session)
        await self.recorder.flush()
        await self._enter("grading")
        await self._grade_all(session)
        await self.recorder.flush()

    async def _enter(self, phase: Phase, **facts: Any) -> None:
        self.phase = phase
        await self.report.phase(phase, **facts)

    # — the sandbox

    async def _open_sandbox(self, spec: SandboxSpec) -> Session:
        """Started, and answering to hello."""
        engine = self._engine_for(spec)
        within_s = self.plan.deadlines.startup_s
        try:
            async with asyncio.timeout(within_s) as deadline:
                self.sandbox = await engine.start(spec, self.plan.labels)
                self.session = await self._connect(self.sandbox, spec)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            if self.sandbox is None:
                raise RolloutFailed("platform", f"The sandbox engine started nothing within {within_s:g} s.") from error
            raise RolloutFailed("environment_start", f"The environment did not serve within {within_s:g} s.{await self._said()}") from error
        return self.session

    def _engine_for(self, spec: SandboxSpec) -> SandboxEngine:
        if self.given_engine is not None and spec.kind in self.given_engine.kinds:
            return self.given_engine
        engine = _make_engine(spec.kind)
        self.engines.append(engine)
        return engine

    async def _connect(self, sandbox: StartedSandbox, spec: SandboxSpec) -> Session:
        """Try until it answers; now and then see whether it has ended or announced another port. The caller sets the deadline."""
        clock = asyncio.get_running_loop().time
        pause, look_at = FIRST_RETRY_S, clock() + LOOK_EVERY_S
        while True:
            try:
                return await dial(sandbox, spec, self.recorder)
            except ControlLost:
                await asyncio.sleep(pause)
            pause = min(pause * 1.5, LONGEST_RETRY_S)
            if clock() >= look_at:
                await self._raise_if_ended(sandbox)
                await sandbox.locate()
                look_at = clock() + LOOK_EVERY_S

    async def _raise_if_ended(self, sandbox: StartedSandbox) -> None:
        ended = await sandbox.exit_state()
        if ended is None:
            return
        code, killed = self.facts["exit_code"], self.facts["oom_killed"] = ended
        how = "was killed for using too much memory" if killed else f"ended with exit code {code}"
        raise RolloutFailed("environment_exit", f"The environment {how}.{await self._said()}")

    async def _said(self) -> str:
        """The end of the sandbox's output, for a failure's message."""
        await self._keep_tail()
        tail = self.facts.get("log_tail", b"").decode(errors="replace").strip()
        return f" Its output ends:\n{tail[-2000:]}" if tail else " It printed nothing."

    async def _keep_tail(self) -> None:
        if self.sandbox is not None and "log_tail" not in self.facts:
            self.facts["log_tail"] = await self.sandbox.tail()

    # — the task

    async def _set_up(self, session: Session, task_id: str, args_text: str) -> str:
        started_at, within_s = now(), self.plan.deadlines.setup_s
        self.task_open = True
        try:
            async with asyncio.timeout(within_s) as deadline:
                frame = await session.start(task_id, args_text)
        except ControlError as error:
            raise refused_start(task_id, error) from error
        except ControlLost as error:
            raise await self._lost(error) from error
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise RolloutFailed("setup", f"Task {task_id!r} was not set up within {within_s:g} s.") from error
        self.recorder.task_setup(task_id, args_text, frame, started_at)
        return frame

    async def _let_work(self, work: Any, session: Session) -> None:
        """The agent, until it is done, out of time, or without its environment."""
        assert self.agent_run is not None
        within_s = self._agent_seconds()
        if within_s <= 0:
            work.close()
            message = f"Start-up and set-up left the agent nothing of the rollout's {self.plan.deadlines.rollout_s:g} s."
            raise RolloutFailed("timeout", message, blame="environment")
        working = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({working, session.lost}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if session.lost in done and working not in done:
                error = session.lost.exception()
                raise await self._lost(error) if isinstance(error, ControlLost) else error or ControlLost()
            if working in done:
                working.result()
                return
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        self.agent_run.stop_reason = "timeout"
        self.recorder.add("system", error=f"agent timed out after {within_s:g}s")
        if self.agent_run.unanswered:
            model = self.plan.model.model if self.plan.model else ""
            raise RolloutFailed("model_timeout", f"Model {model!r} did not answer once within the {within_s:g} s that the agent had.")

    def _agent_seconds(self) -> float:
        """What the deadlines leave for the agent, and what its own configuration asks for."""
        rollout_s, agent_s = self.plan.deadlines.rollout_s, self.plan.deadlines.agent_s
        reserve = rollout_s / 2 if rollout_s < 120 else 60.0
        limits = [self.ends_at - reserve - asyncio.get_running_loop().time(), agent_s, self.plan.agent_config.get("timeout_seconds")]
        return max(0.0, min(float(limit) for limit in limits if limit is not None))

    # — the grade

    async def _grade_all(self, session: Session) -> None:
        """The actor's grade; with a verifier, that one's grade of the actor's frame is the grade of record."""
        assert self.agent_run is not None
        answer_text = json.dumps(self.agent_run.answer, ensure_ascii=False)
        verifier = self._verifier()
        if verifier is None:
            await self._grade(session, self.plan.task_id, answer_text)
            return
        frame = await self._best_effort(session, answer_text)
        if self.plan.verifier_sandbox is not None:
            await self._leave_sandbox()
            self.earlier_output = self.facts.pop("log_tail", b"")
            session = await self._open_sandbox(self.plan.verifier_sandbox)
        args = verifier.get("args")
        await self._set_up(session, str(verifier["id"]), bytes(args).decode() if args is not None else "{}")
        await self._grade(session, str(verifier["id"]), frame)

    def _verifier(self) -> dict[str, Any] | None:
        """The verifier's row: `id` read, `args` kept as text."""
        if not self.plan.verifier_text:
            return None
        row = msgspec.json.decode(self.plan.verifier_text, type=dict[str, msgspec.Raw])
        task_id = msgspec.json.decode(row["id"]) if "id" in row else None
        if not isinstance(task_id, str):
            raise RolloutFailed("setup", "The verifier row has no task id.", blame="task")
        args = row.get("args")
        return {"id": task_id, "args": None if args is None or bytes(args) == b"null" else args}

    async def _best_effort(self, session: Session, answer_text: str) -> str:
        """The actor's frame as it is, `{}` when there is none; a problem with it is a note, not the end."""
        try:
            await self._grade(session, self.plan.task_id, answer_text)
        except RolloutFailed as error:
            if session.lost.done() and self.plan.verifier_sandbox is None:
                raise
            self.recorder.add("system", error=f"[grading] {error}")
        frame, self.evaluation = self.evaluation or "{}", None
        return frame

    async def _grade(self, session: Session, task_id: str, answer_text: str) -> None:
        started_at, within_s = now(), self.plan.deadlines.grading_s
        try:
            async with asyncio.timeout(within_s) as deadline:
                frame = await session.grade(answer_text)
        except ControlError as error:
            raise refused_grade(task_id, error) from error
        except ControlLost as error:
            raise await self._lost(error) from error
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise RolloutFailed("grading", f"Task {task_id!r} was not graded within {within_s:g} s.") from error
        self.task_open = False
        self.evaluation = frame
        problem = grade_problem(frame)
        self.recorder.task_evaluate(task_id, answer_text, frame, started_at, problem)
        if problem is not None:
            raise RolloutFailed("grading", problem)

    # — the end

    async def _lost(self, error: ControlLost) -> RolloutFailed:
        """The connection broke: say whether the environment ended."""
        if self.sandbox is not None:
            try:
                for _ in range(5):
                    await self._raise_if_ended(self.sandbox)
                    await asyncio.sleep(0.1)
            except RolloutFailed as ended:
                return ended
        return RolloutFailed("environment_lost", f"The environment was lost while {self.phase}: {error}.{await self._said()}")

    async def _failed(self, failure: Failure) -> None:
        """Keep the first failure, and note it in the trace as far as that still works."""
        self.failure = failure
        self.recorder.add("system", error=f"[{self.phase}] {failure.message}")
        try:
            await self.recorder.flush()
        except Exception:
            log.exception("the failure's step was not recorded")

    async def clean_up(self) -> None:
        """Tell the task, read the log, remove the sandbox; bounded in time by its parts."""
        await self._leave_sandbox()
        for engine in self.engines:
            await engine.close()

    async def _leave_sandbox(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            if self.task_open and not session.lost.done():
                await session.cancel(CANCEL_WITHIN_S)
            await session.close()
        self.task_open = False
        if self.sandbox is None:
            return
        self.facts.update(container_id=self.sandbox.container_id, image_id=self.sandbox.image_id)
        await self._keep_tail()
        removed = await self.sandbox.remove()
        self.facts["container_leaked"] = self.facts.get("container_leaked", False) or not removed
        self.sandbox = None

    def outcome(self, status: Status | None = None) -> Outcome:
        """What there is to say."""
        facts = self.facts | {"log_tail": (self.earlier_output + self.facts.get("log_tail", b""))[-LOG_TAIL_BYTES:]}
        outcome = Outcome(status or self._status(), evaluation_text=self.evaluation, failure=self.failure, **facts)
        run = self.agent_run
        if run is None:
            return outcome
        usage = run.usage
        return replace(
            outcome, answer=run.answer, stop_reason=run.stop_reason, prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens, cached_tokens=usage.cached_tokens, cost_usd=usage.cost_usd,
        )  # fmt: skip

    def _status(self) -> Status:
        cut_off = self.agent_run is not None and self.agent_run.stop_reason == "timeout"
        return "error" if self.failure is not None or cut_off else "completed"


def _make_engine(kind: str) -> SandboxEngine:
    """An engine of our own, imported only now."""
    if kind == "docker":
        from proctor.rollout.sandbox import DockerEngine

        return DockerEngine()
    if kind == "subprocess":
        from proctor.rollout.processes import SubprocessEngine

        return SubprocessEngine()
    if kind == "served":
        raise RolloutFailed("platform", "Nobody was named who serves the environment.")
    from proctor.rollout.fake import FakeEngine

    return FakeEngine()
