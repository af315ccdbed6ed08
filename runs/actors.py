"""The one actor: `execute_run(run id, attempt)`. Claims, rolls out, finishes; a message for a run that moved on does nothing.

Message = (run id, attempt). What ends a rollout early: the worker stopping or losing its leases (the run goes back to the queue), a
cancel (terminal once the container is gone), or the fence (somebody else holds the run: clean up and write nothing).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Sequence
from typing import Any

import dramatiq
from django.conf import settings

from proctor.rollout.agents import HUD_AGENTS
from proctor.rollout.engine import run_rollout
from proctor.rollout.hudhost.agent import HostedAgent
from proctor.rollout.plan import Outcome, Phase, RolloutPlan, outcome_of
from runs.actions import execution
from runs.actions.spans import Fenced, Prepared, prepare, record_spans
from runs.planning import CannotRun, plan_rollout
from runs.queries.platform import NO_HUD
from runs.spans import parse_spans
from runs.worker import WorkerProcess, current
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)
Ended = tuple[Outcome, Prepared | None]
"""How a rollout ended, and the last spans, ready to be written with it."""


@dramatiq.actor(queue_name="rollouts")
async def execute_run(run_id: str, attempt: int) -> None:
    worker = current()
    key = uuid.UUID(run_id)
    await worker.until_ready()
    if worker.stopping:
        return
    planning = asyncio.ensure_future(in_reader(plan_rollout, key, attempt + 1, worker.able))
    if not await worker.ledger.write(execution.claim, key, attempt, worker.id):
        await asyncio.gather(planning, return_exceptions=True)  # for nothing: a late or repeated message
        return
    rollout = worker.rollouts[key] = asyncio.create_task(roll_out(worker, key, attempt + 1, planning))
    if worker.stopping:
        rollout.cancel()
    try:
        await carry_out(worker, key, attempt + 1, rollout)
    finally:
        worker.forget(key)


async def carry_out(worker: WorkerProcess, run_id: uuid.UUID, attempt: int, rollout: asyncio.Task[Ended]) -> None:
    """One attempt from claim to end. Only the rollout is ever cancelled, never the writing of its end."""
    last: Prepared | None = None
    try:
        outcome, last = await rollout
    except asyncio.CancelledError as cancelled:
        await end_early(worker, run_id, attempt, outcome_of(cancelled))
        return
    except Exception as error:
        logger.exception("run broke run=%s attempt=%s", run_id, attempt)
        outcome = execution.broken_outcome(f"Proctor failed to run this: {type(error).__name__}")
    failure = outcome.failure
    if failure is None or not failure.again or not await worker.ledger.write(execution.give_up, run_id, attempt, failure=failure):
        await finish(worker, run_id, attempt, outcome, last)


async def roll_out(worker: WorkerProcess, run_id: uuid.UUID, attempt: int, planning: Awaitable[tuple[uuid.UUID, RolloutPlan]]) -> Ended:
    """`planning` began with the claim: what it reads does not change with it."""
    if attempt > 1 and settings.PROCTOR_REDIS_URL:
        await remove_containers_of(worker, run_id)
    try:
        team_id, plan = await planning
    except CannotRun as refused:
        return Outcome(status="error", failure=refused.failure), None
    if plan.agent_type in HUD_AGENTS and worker.hud is None:
        return execution.broken_outcome(f"This worker cannot run the agent {plan.agent_type}. {NO_HUD}"), None
    agent = HostedAgent(worker.hud) if plan.agent_type in HUD_AGENTS and worker.hud is not None else None
    report = LedgerReport(worker, run_id, team_id, plan)
    outcome = await run_rollout(plan, report, engine=worker.engine, agent=agent)
    return outcome, await report.prepared(outcome.steps)


async def remove_containers_of(worker: WorkerProcess, run_id: uuid.UUID) -> None:
    """What an earlier attempt left on this engine."""
    if worker.engine is not None:
        for container in await worker.engine.list_ours(settings.PROCTOR_INSTANCE):
            if container.labels.get("proctor.run") == str(run_id):
                await worker.engine.remove(container.id)


async def finish(worker: WorkerProcess, run_id: uuid.UUID, attempt: int, outcome: Outcome, last: Prepared | None = None) -> None:
    try:
        await worker.ledger.write(execution.finish, run_id, attempt, outcome, last)
    except Fenced:
        logger.info("run ended elsewhere run=%s attempt=%s", run_id, attempt)
    except Exception:
        if last is None:
            raise
        logger.exception("the last steps were not recorded run=%s attempt=%s", run_id, attempt)
        await finish(worker, run_id, attempt, execution.broken_outcome("Proctor failed to record the last steps"))


async def end_early(worker: WorkerProcess, run_id: uuid.UUID, attempt: int, outcome: Outcome | None) -> None:
    """A cancel ends the run; a worker that stops or lost its leases gives it back, unless it should be cancelled by now."""
    if run_id in worker.cancelled or not await worker.ledger.write(execution.release, run_id, attempt, "worker stopped"):
        await finish(worker, run_id, attempt, outcome or execution.cancelled_outcome())


class LedgerReport:
    """`Report` over the ledger. A fenced write ends the rollout as a cancellation: it cleans up, and nothing more is written."""

    def __init__(self, worker: WorkerProcess, run_id: uuid.UUID, team_id: uuid.UUID, plan: RolloutPlan) -> None:
        self.worker, self.run_id, self.team_id = worker, run_id, team_id
        self.attempt, self.sandbox = plan.attempt, plan.sandbox.kind

    async def phase(self, phase: Phase, **facts: Any) -> None:
        """`starting` was written by the claim. A Task App has no `setup`."""
        if phase == "starting":
            return
        known = {name: facts[name] for name in ("container_id", "image_id") if facts.get(name)}
        await self._write(execution.set_phase, self.run_id, self.attempt, phase, sandbox=self.sandbox if phase in ("setup", "running") else None, **known)

    async def steps(self, spans: Sequence[bytes]) -> None:
        prepared = await self.prepared(spans)
        if prepared is not None:
            await self._write(record_spans, self.run_id, self.attempt, prepared, fence=True)

    async def prepared(self, spans: Sequence[bytes]) -> Prepared | None:
        """None when there is nothing to write."""
        batch = parse_spans(list(spans), max_span_bytes=settings.PROCTOR_LIMITS["span_bytes"])
        for index, reason in batch.rejected:
            logger.warning("step not kept run=%s index=%s reason=%s", self.run_id, index, reason)
        if not batch.spans:
            return None
        heavy = any(span.media for span in batch.spans)
        return await in_writer(prepare, self.team_id, batch.spans) if heavy else prepare(self.team_id, batch.spans)

    async def _write(self, function: Any, *args: Any, **kwargs: Any) -> None:
        try:
            await self.worker.ledger.write(function, *args, **kwargs)
        except Fenced:
            raise asyncio.CancelledError("the run is held by somebody else") from None
