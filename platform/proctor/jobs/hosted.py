"""Hosted jobs: one request starts every run on the server; this process follows until all are over, and cancels the job when it is cancelled.

The server's rows are told to the watcher as they change. Nothing runs here, so nothing is lost when this process dies: the job goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from proctor.agents import AgentSpec
from proctor.client import Access, AsyncClient, calls, find_access
from proctor.errors import NoPlacement, RequestFailed
from proctor.jobs.job import Job, Run, job_name
from proctor.jobs.progress import Watcher
from proctor.jobs.runtimes import HostedRuntime
from proctor.tasks.compare import compare
from proctor.tasks.taskset import Origin, Taskset
from proctor.wire.jobs import JobIn, RunRow

CANCEL_WITHIN_S = 5.0
WAIT_FOR_EACH_SECOND = 5.0
DETAILS_AT_ONCE = 8


@dataclass(frozen=True)
class HostedJob:
    """What is asked of the server."""

    taskset: Taskset
    spec: AgentSpec
    group: int
    max_concurrent: int | None
    rollout_timeout: float | None
    name: str | None

    async def run(self, runtime: HostedRuntime, watcher: Watcher, access: Access | None, job: Job | None) -> Job:
        """The job, over. Cancelled here, it is cancelled there first."""
        async with AsyncClient(access or find_access()) as client:
            asked = await self._asked(client)
            started = await client.send(calls.start_job(asked))
            done = job or Job(started.id, started.name, self.group, taskset=asked.taskset, task_total=self._origin.task_count)
            done.url = f"{client.access.origin}/jobs/{started.id}"
            following = _Following(self.taskset, started.id, watcher)
            try:
                with watcher:
                    await following.until_over(client, runtime.poll_s)
            except asyncio.CancelledError:
                await asyncio.shield(_cancel(client, started.id))
                raise
            finally:
                done.runs.extend(following.in_order())
            return done

    @property
    def _origin(self) -> Origin:
        if self.taskset.origin is None:
            environments = sorted(self.taskset.environment_names())
            raise NoPlacement(environments, f"A hosted job runs a taskset of the server: upload it (`taskset.upload({self.taskset.name!r})`), then Taskset.from_api.")
        return self.taskset.origin

    async def _asked(self, client: AsyncClient) -> JobIn:
        """Pinned to the version; by slugs when this is a part of it. Raises NoPlacement when a task is not the server's."""
        from proctor.tasks import remote

        origin = self._origin
        slugs = [task.slug for task in self.taskset] if self.taskset.is_partial else None
        if len(self.taskset) > origin.task_count or slugs is not None:
            theirs = await remote.talk_with_async(client, remote.load(origin.reference))
            found = compare(theirs, self.taskset)
            if found.added or found.changed:
                raise NoPlacement(sorted({task.env for task in found.added} | {one.after.env for one in found.changed}), "These tasks are not in the server's version: upload first.")
        return JobIn(
            taskset=origin.reference, slugs=slugs, agent=calls.agent_in(self.spec.type, self.spec.config), group=self.group,
            max_concurrent=self.max_concurrent, rollout_timeout=self.rollout_timeout, name=self.name or job_name(self.taskset.name, list(self.taskset), self.group),
        )  # fmt: skip


async def _cancel(client: AsyncClient, job_id: str) -> None:
    """Best effort: whoever pressed Ctrl-C does not wait long."""
    try:
        async with asyncio.timeout(CANCEL_WITHIN_S):
            await client.send(calls.cancel_job(job_id))
    except (RequestFailed, TimeoutError):
        return


class _Following:
    """The job's rows as the server has them."""

    def __init__(self, taskset: Taskset, job_id: str, watcher: Watcher) -> None:
        self._taskset, self._job_id, self._watcher = taskset, job_id, watcher
        self._revisions: dict[str, int] = {}
        self._runs: dict[str, Run] = {}
        self._detailed: set[str] = set()

    async def until_over(self, client: AsyncClient, poll_s: float) -> None:
        """Look, wait, look again: the longer a look takes, the longer the wait."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            await self._look(client)
            await self._add_grades(client)
            if self._runs and all(run.is_over for run in self._runs.values()):
                return
            await asyncio.sleep(max(poll_s, WAIT_FOR_EACH_SECOND * (clock() - began)))

    async def _look(self, client: AsyncClient) -> None:
        cursor: str | None = None
        while True:
            page = await client.send(calls.list_runs(self._job_id, cursor=cursor))
            for row in page.items:
                self._take(row)
            cursor = page.next_cursor
            if cursor is None:
                return

    def _take(self, row: RunRow) -> None:
        if self._revisions.get(row.id) == row.revision or row.slug is None:
            return
        self._revisions[row.id] = row.revision
        run = self._runs.setdefault(row.id, Run(row.id, self._job_id, self._taskset[row.slug], row.task_index or 0, row.repeat, row.group_id or ""))
        run.state, run.counted, run.reward, run.failure_class, run.blame = row.state, row.counted, row.reward, row.failure_class, row.blame
        run.error, run.cost_usd, run.started_at, run.ended_at = row.error, row.cost_usd, row.started_at, row.ended_at
        self._watcher.changed(run)

    def in_order(self) -> Iterator[Run]:
        """Tasks in order, repeats together."""
        ordered = sorted(self._runs.values(), key=lambda run: (run.index, run.repeat))
        for index, run in enumerate(ordered):
            run.index = index
            yield run

    async def _add_grades(self, client: AsyncClient) -> None:
        """What rows leave out of runs that are over now: the grade frame, tokens, the whole error; a few requests at once."""
        at_once = asyncio.Semaphore(DETAILS_AT_ONCE)

        async def add(run: Run) -> None:
            async with at_once:
                whole = await client.send(calls.get_run(run.id))
            run.evaluation_text, run.error, run.stop_reason = whole.evaluation, whole.full_error, whole.stop_reason
            run.prompt_tokens, run.completion_tokens = whole.prompt_tokens or 0, whole.completion_tokens or 0

        over = [run for run in self._runs.values() if run.is_over and run.id not in self._detailed]
        await asyncio.gather(*(add(run) for run in over))
        self._detailed.update(run.id for run in over)
