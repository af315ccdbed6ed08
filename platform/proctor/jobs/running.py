"""`run_taskset`: a taskset's runs, each through the engine that the server's workers use, within the caps of the job and of each place.

A run that fails, however it fails, is a result; the others go on. A cancellation (Ctrl-C) ends the running ones with their sandboxes, counts
what did not finish as cancelled, closes everything, and is raised again.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.agents import AgentSpec, engine_agent, problems_of, spec_of
from proctor.client.access import Access, find_access_or_none
from proctor.errors import EmptyTaskset
from proctor.jobs.engines import Places
from proctor.jobs.job import Job, Run, job_name
from proctor.jobs.placement import Plan, plan_runs, shares_sandbox
from proctor.jobs.progress import Watcher, watching
from proctor.jobs.reporting import Reporting, Silent, TraceFiles
from proctor.jobs.runtimes import Place
from proctor.jobs.state import StateFile
from proctor.outcomes import count, evaluation_of
from proctor.rollout.engine import run_rollout
from proctor.rollout.plan import Failure, Outcome, Phase, RolloutPlan, SandboxSpec, outcome_of
from proctor.rollout.taskrow import TaskFacts, deadlines_for, read_task
from proctor.tasks.task import Task
from proctor.tasks.taskset import Taskset

log = logging.getLogger(__name__)

CLOSE_WITHIN_S = 30.0


async def run_taskset(
    taskset: Taskset, agent: Any, *, runtime: Any = None, group: int | None = None, max_concurrent: int | None = None, job: Job | None = None,
    rollout_timeout: float | None = None, name: str | None = None, state: str | Path | None = None, traces: str | Path | None = None,
    report: bool | None = None, progress: bool | None = None, on_change: Callable[[Run], None] | None = None,
    on_plan: Callable[[Plan], None] | None = None, access: Access | None = None,
) -> Job:  # fmt: skip
    """Every task × `group`; the runs of the returned job are in the tasks' order, repeats together.

    `runtime`: one of `proctor.jobs.runtimes`, or a dict of them by environment; None: see `placement`. `max_concurrent`: runs at once, in all.
    `rollout_timeout`: seconds for one run, also hosted. `job`: gather these runs in it. `state`: a file by which an interrupted call goes on
    when it is made again. `traces`: a folder for each run's steps. `report`: tell the server; None: when there is a key. `progress`: a bar on
    stderr; None: when that is a terminal. `on_plan` is called with what will be done, `on_change` with a run whenever it changes.

    Raises ValueError for group, caps or timeout below 1 or 0, EmptyTaskset, NoPlacement, StateMismatch; never for a run that fails.
    """
    group = (job.group if job else 1) if group is None else group
    _check(taskset, group, max_concurrent, rollout_timeout)
    plan, spec = plan_runs(taskset, runtime, group=group), spec_of(agent)
    problems = problems_of(spec, local=plan.hosted is None)
    if problems:
        raise ValueError("The agent can't run: " + "; ".join(problems))
    if on_plan is not None:
        on_plan(plan)
    access = access or find_access_or_none()
    watcher = watching(progress, on_change, plan.runs)
    if plan.hosted is not None:
        from proctor.jobs.hosted import HostedJob

        asked = HostedJob(taskset, spec, group, max_concurrent, rollout_timeout, name)
        return await asked.run(plan.hosted, watcher, access, job)
    told = _told(access if report is not False else None)
    batch = _Batch(taskset, plan, spec, agent, rollout_timeout, TraceFiles(Path(traces), told) if traces else told, watcher)
    return await batch.run(job, name, Path(state) if state else None, max_concurrent)


def _check(taskset: Taskset, group: int, max_concurrent: int | None, rollout_timeout: float | None) -> None:
    if group < 1:
        raise ValueError("group must be at least 1")
    if max_concurrent is not None and max_concurrent < 1:
        raise ValueError("max_concurrent must be at least 1")
    if rollout_timeout is not None and not rollout_timeout > 0:
        raise ValueError("rollout_timeout must be more than 0 seconds")
    if len(taskset) == 0:
        raise EmptyTaskset(f"Taskset {taskset.name!r} has no tasks; a job needs at least one.")


def _told(access: Access | None) -> Reporting:
    if access is None:
        return Silent()
    from proctor.jobs.server_reports import ToServer

    return ToServer(access)


@dataclass
class _Batch:
    """One call's runs."""

    taskset: Taskset
    plan: Plan
    spec: AgentSpec
    agent: Any
    rollout_timeout: float | None
    reporting: Reporting
    watcher: Watcher
    state: StateFile | None = None

    async def run(self, job: Job | None, name: str | None, state: Path | None, max_concurrent: int | None) -> Job:
        tasks = list(self.taskset)
        if state is not None:
            self.state = StateFile(state, tasks, self.plan.group, self.spec.type)
        job = job or self._new_job(name or job_name(self.taskset.name, tasks, self.plan.group))
        runs = self._expand(job, tasks)
        job.runs.extend(runs)
        try:
            if self.state is not None:
                self.state.open(job)
            with self.watcher:
                await self._run_all(job, runs, max_concurrent)
        finally:
            await self._close(runs)
        return job

    def _new_job(self, name: str) -> Job:
        known = self.state.job_id if self.state else None
        origin = self.taskset.origin
        return Job(
            known or str(uuid.uuid4()), name, self.plan.group, taskset=origin.reference if origin else None, task_total=origin.task_count if origin else None
        )

    def _expand(self, job: Job, tasks: Sequence[Task]) -> list[Run]:
        """Tasks in order, the repeats of each together, under one group id."""
        runs: list[Run] = []
        for task in tasks:
            group_id = uuid.uuid4().hex
            if self.state is not None:
                group_id = self.state.group_id(task, group_id)
            for repeat in range(self.plan.group):
                run = Run(str(uuid.uuid4()), job.id, task, len(runs), repeat, group_id)
                if self.state is not None:
                    self.state.recall(run)
                runs.append(run)
        return runs

    async def _run_all(self, job: Job, runs: Sequence[Run], max_concurrent: int | None) -> None:
        origin = self.taskset.origin
        await self.reporting.enter_job(job, origin.version_id if origin else None)
        for run_id in self.state.left_open() if self.state else ():
            await self.reporting.exit_run(Run(run_id, job.id, runs[0].task, 0, 0, "", state="cancelled"))
        engine = Places(self.plan.places)
        slots = asyncio.Semaphore(max_concurrent or len(runs))
        try:
            async with asyncio.TaskGroup() as workers:
                for place, waiting in self._by_place(runs):
                    for _ in range(min(place.max_concurrent, len(waiting))):
                        workers.create_task(self._work(waiting, slots, engine))
        finally:
            await engine.close()

    def _by_place(self, runs: Sequence[Run]) -> list[tuple[Place, deque[Run]]]:
        found: dict[int, tuple[Place, deque[Run]]] = {}
        for run in runs:
            if not run.is_over:
                place = self.plan.places[run.task.env]
                found.setdefault(id(place), (place, deque()))[1].append(run)
        return list(found.values())

    async def _work(self, waiting: deque[Run], slots: asyncio.Semaphore, engine: Places) -> None:
        while waiting:
            async with slots:
                if waiting:
                    await self._run_one(waiting.popleft(), engine)

    async def _run_one(self, run: Run, engine: Places) -> None:
        """To its end, whatever happens in it."""
        run.started_at, run.state = datetime.now(UTC), "starting"
        if self.state is not None:
            self.state.began(run)
        try:
            await self.reporting.enter_run(run, self.spec.model)
            outcome = await run_rollout(self._rollout_plan(run), _Reports(run, self), engine=engine, agent=engine_agent(self.agent))
        except asyncio.CancelledError as cancelled:
            self._end(run, outcome_of(cancelled) or Outcome("cancelled"))
            raise
        except Exception as error:
            log.exception("run %s broke", run.id)
            outcome = Outcome("error", failure=Failure("platform", "platform", f"{type(error).__name__}: {error}"))
        self._end(run, outcome)
        await self.reporting.exit_run(run)

    def _end(self, run: Run, outcome: Outcome) -> None:
        fill(run, outcome)
        if self.state is not None:
            self.state.ended(run)
        self.watcher.changed(run)

    def _rollout_plan(self, run: Run) -> RolloutPlan:
        facts = read_task(run.task.text)
        config = {**self.spec.config, **({} if self.spec.type.startswith("own:") else facts.agent_config)}
        limits = {**config, **facts.agent_config}
        return RolloutPlan(
            run_id=run.id, attempt=1, env=facts.env, task_id=facts.task_id, args_text=facts.args_text, slug=run.slug, columns_text=facts.columns_text,
            agent_type=self.spec.type, agent_config=config, sandbox=self._sandbox(facts), model=self.spec.route, verifier_text=facts.verifier_text,
            verifier_sandbox=self._verifier_sandbox(facts), deadlines=deadlines_for(facts, self.rollout_timeout, limits),
            labels={"proctor.run": run.id, "proctor.attempt": "1"},
        )  # fmt: skip

    def _sandbox(self, facts: TaskFacts) -> SandboxSpec:
        return replace(self.plan.places[facts.env].spec(facts), environment=facts.env)

    def _verifier_sandbox(self, facts: TaskFacts) -> SandboxSpec | None:
        verifier = read_task(facts.verifier_text) if facts.verifier_text else None
        return None if verifier is None or shares_sandbox(facts, verifier) else self._sandbox(verifier)

    async def _close(self, runs: Sequence[Run]) -> None:
        """Nothing stays pending: what was never begun, or was cut off, is cancelled, here and on the server."""
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                for run in runs:
                    if not run.is_over:
                        fill(run, Outcome("cancelled"))
                    if run.state == "cancelled" and run.started_at is not None:
                        await self.reporting.exit_run(run)
                await self.reporting.close()
        except TimeoutError:
            log.warning("the server took longer than %g s for the last reports; some are lost", CLOSE_WITHIN_S)
        if self.state is not None:
            self.state.close()


class _Reports:
    """The engine's reports of one run (`rollout.plan.Report`)."""

    def __init__(self, run: Run, batch: _Batch) -> None:
        self._run, self._batch = run, batch

    async def phase(self, phase: Phase, **facts: Any) -> None:
        """Shown."""
        del facts
        self._run.state = phase
        self._batch.watcher.changed(self._run)

    async def steps(self, spans: Sequence[bytes]) -> None:
        """Told."""
        await self._batch.reporting.steps(self._run, list(spans))


def fill(run: Run, outcome: Outcome) -> None:
    """What became of it, counted as the server counts."""
    failure = outcome.failure
    counted = count(outcome.status, evaluation_of(outcome.evaluation_text), None, failure.failure_class if failure else None)
    run.state, run.counted, run.reward = outcome.status, counted.counted, counted.reward
    run.failure_class = run.blame = None
    if counted.counted == "failed":
        run.failure_class, run.blame = (failure.failure_class, failure.blame) if failure else (counted.failure_class, "grader")
    run.error = failure.message if failure else None
    run.answer, run.stop_reason, run.evaluation_text = outcome.answer, outcome.stop_reason, outcome.evaluation_text
    run.prompt_tokens, run.completion_tokens, run.cost_usd = outcome.prompt_tokens, outcome.completion_tokens, outcome.cost_usd
    run.log_tail, run.ended_at = outcome.log_tail, datetime.now(UTC)

