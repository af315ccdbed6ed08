"""One tailer per web process: it reads the database once per tick for all watched topics and fans out inside the process.

Woken by hints (`web.live`), with a 250 ms timer as the net. A subscriber first catches up from its own cursor, then joins the topic
at the point where it stands, so nothing is skipped and order holds. A subscriber that cannot keep up is told to load its snapshot again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from django.utils import timezone

from environments.models import EnvironmentVersion
from environments.queries import read_log, versions_of
from environments.render import render_version
from runs.models import Run
from runs.queries import live
from runs.queries.steps import StepOut, read_steps
from runs.render import row_facts
from web.live import listening
from web.threads import in_reader

logger = logging.getLogger(__name__)
TICK_S = 0.25
STEPS_A_READ = 200
MAX_WAITING = 1000
MAX_WAITING_BYTES = 8_000_000


@dataclass(eq=False)
class Subscription:
    """One `sub` of one socket. `outbox` is shared by the socket's subscriptions. Without `steps` only a run's state is told."""

    number: int
    kind: str
    key: uuid.UUID
    outbox: Outbox
    cursor: Any = 0
    steps: bool = True


class Outbox:
    """What waits to be sent on one socket: (subscription number, seq, event bytes), bounded."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Any, bytes]] = []
        self.size = 0
        self.lagging: set[int] = set()
        self.wake = asyncio.Event()

    def put(self, number: int, seq: Any, event: bytes) -> None:
        if number in self.lagging:
            return
        if len(self.waiting) >= MAX_WAITING or (self.size + len(event) > MAX_WAITING_BYTES and self.waiting):
            self.drop(number)
            return
        self.waiting.append((number, seq, event))
        self.size += len(event)
        self.wake.set()

    def drop(self, number: int) -> None:
        """Forgets what waits for a subscription that cannot keep up."""
        self.lagging.add(number)
        self.waiting = [item for item in self.waiting if item[0] != number]
        self.size = sum(len(item[2]) for item in self.waiting)
        self.wake.set()

    def take(self) -> list[tuple[int, Any, bytes]]:
        taken, self.waiting, self.size = self.waiting, [], 0
        self.wake.clear()
        return taken


@dataclass
class RunTopic:
    seq: int
    revision: int = -1
    members: set[Subscription] = field(default_factory=set)


@dataclass
class JobTopic:
    sent: dict[uuid.UUID, int] = field(default_factory=dict)
    members: set[Subscription] = field(default_factory=set)


@dataclass
class BuildTopic:
    """`seq`: how far the log was sent; `told`: the last event about its state."""

    seq: int
    told: bytes = b""
    members: set[Subscription] = field(default_factory=set)


class Tailer:
    """Started with the first subscription; lives as long as the process."""

    def __init__(self) -> None:
        self.runs: dict[uuid.UUID, RunTopic] = {}
        self.jobs: dict[uuid.UUID, JobTopic] = {}
        self.teams: dict[uuid.UUID, JobTopic] = {}
        self.builds: dict[uuid.UUID, BuildTopic] = {}
        self.since: datetime = timezone.now()
        self.wake = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._follow())

    async def join(self, subscription: Subscription, after: object) -> None:
        """Catches the subscription up and attaches it. Returns when it is live."""
        self.start()
        if subscription.kind == "run":
            await self._join_run(subscription, after if isinstance(after, int) else 0)
        elif subscription.kind == "job":
            await self._join_job(subscription, after)
        elif subscription.kind == "build":
            await self._join_build(subscription, after if isinstance(after, int) else 0)
        else:
            self.teams.setdefault(subscription.key, JobTopic()).members.add(subscription)

    async def _join_run(self, subscription: Subscription, after: int) -> None:
        """A cursor ahead of the run (of another database, or made up) means its end."""
        subscription.cursor = max(0, after)
        while True:
            head = (await in_reader(live.heads_of, [subscription.key])).get(subscription.key)
            if head is None:
                return
            subscription.cursor = min(subscription.cursor, head.last_seq)
            while subscription.cursor < head.last_seq:
                await self._send_steps(head.run, {subscription}, subscription.cursor)
            topic = self.runs.setdefault(subscription.key, RunTopic(subscription.cursor))
            if topic.seq <= subscription.cursor:
                topic.members.add(subscription)
                subscription.outbox.put(subscription.number, subscription.cursor, run_event(head.run))
                return

    async def _join_job(self, subscription: Subscription, after: object) -> None:
        self.jobs.setdefault(subscription.key, JobTopic()).members.add(subscription)
        for run in await in_reader(live.changed_of_jobs, [subscription.key], live.read_cursor(after)):
            subscription.outbox.put(subscription.number, run.changed_at.isoformat(), run_event(run))

    async def _join_build(self, subscription: Subscription, after: int) -> None:
        """As with a run: from the cursor to where the topic stands, then on with it."""
        subscription.cursor = max(0, after)
        while True:
            version = (await in_reader(versions_of, [subscription.key])).get(subscription.key)
            if version is None:
                return
            subscription.cursor = min(subscription.cursor, version.log_seq)
            subscription.cursor = await self._send_log(version, {subscription}, subscription.cursor)
            topic = self.builds.setdefault(subscription.key, BuildTopic(subscription.cursor))
            if topic.seq <= subscription.cursor:
                topic.members.add(subscription)
                subscription.outbox.put(subscription.number, subscription.cursor, build_event(version))
                return

    def leave(self, subscription: Subscription) -> None:
        for topics in (self.runs, self.jobs, self.teams, self.builds):
            topic: Any = topics.get(subscription.key)
            if topic is not None:
                topic.members.discard(subscription)
                if not topic.members:
                    del topics[subscription.key]

    async def _follow(self) -> None:
        async with listening(self.wake):
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TICK_S):
                        await self.wake.wait()
                self.wake.clear()
                try:
                    await self._tick()
                except Exception:
                    logger.exception("live tail failed, trying again")
                    await asyncio.sleep(1)
                await asyncio.sleep(0.005)

    async def _tick(self) -> None:
        """A tick that fails is made up for by the next one."""
        now = timezone.now()
        if self.jobs:
            await self._tick_jobs(self.since)
        if self.teams:
            await self._tick_teams(self.since)
        if self.runs:
            await self._tick_runs()
        if self.builds:
            await self._tick_builds()
        self.since = now

    async def _tick_jobs(self, since: datetime) -> None:
        for run in await in_reader(live.changed_of_jobs, list(self.jobs), since):
            topic = self.jobs.get(run.job_id) if run.job_id else None
            if topic is None or topic.sent.get(run.id, -1) >= run.revision:
                continue
            topic.sent[run.id] = run.revision
            broadcast(topic.members, run.changed_at.isoformat(), run_event(run))

    async def _tick_teams(self, since: datetime) -> None:
        for team_id, job_id in await in_reader(live.changed_jobs_of_teams, list(self.teams), since):
            topic = self.teams.get(team_id)
            if topic is not None:
                broadcast(topic.members, None, msgspec.json.encode({"kind": "job", "job_id": str(job_id)}))

    async def _tick_runs(self) -> None:
        for run_id, head in (await in_reader(live.heads_of, list(self.runs))).items():
            topic = self.runs.get(run_id)
            if topic is None:
                continue
            if not any(member.steps for member in topic.members):
                topic.seq = head.last_seq
            while topic.seq < head.last_seq:
                topic.seq = await self._send_steps(head.run, topic.members, topic.seq)
            if topic.revision != head.run.revision:
                topic.revision = head.run.revision
                broadcast(topic.members, topic.seq, run_event(head.run))

    async def _tick_builds(self) -> None:
        for version_id, version in (await in_reader(versions_of, list(self.builds))).items():
            topic = self.builds.get(version_id)
            if topic is None:
                continue
            topic.seq = await self._send_log(version, topic.members, topic.seq)
            event = build_event(version)
            if topic.told != event:
                topic.told = event
                broadcast(topic.members, topic.seq, event)

    async def _send_log(self, version: EnvironmentVersion, members: set[Subscription], after: int) -> int:
        """The rest of the log to the members that lack it; the seq reached."""
        while after < version.log_seq and (chunks := await in_reader(read_log, version.id, after)):
            for chunk in chunks:
                event = msgspec.json.encode({"kind": "build_log", "text": chunk.text})
                for member in [member for member in members if member.cursor < chunk.seq]:
                    member.outbox.put(member.number, chunk.seq, event)
                    member.cursor = chunk.seq
            after = chunks[-1].seq
        return max(after, version.log_seq)

    async def _send_steps(self, run: Run, members: set[Subscription], after: int) -> int:
        """Sends a read's worth of steps to the members that lack them, also to those that joined during the read; returns the seq reached."""
        found = await in_reader(read_steps, run, after=after, limit=STEPS_A_READ, attempt=None)
        reached = found.next_after or max([run.last_seq, *(step.seq for step in found.items[-1:])])
        for step in found.items:
            event = step_event(step)
            for member in members:
                if member.steps and member.cursor < step.seq:
                    member.outbox.put(member.number, step.seq, event)
        for member in members:
            member.cursor = max(member.cursor, reached)
        return reached


def broadcast(members: set[Subscription], seq: Any, event: bytes) -> None:
    for member in members:
        member.outbox.put(member.number, seq, event)


def run_event(run: Run) -> bytes:
    return msgspec.json.encode({"kind": "run", "run": row_facts(run)})


def step_event(step: StepOut) -> bytes:
    return msgspec.json.encode({"kind": "step", "step": step})


def build_event(version: EnvironmentVersion) -> bytes:
    return msgspec.json.encode({"kind": "build", "version": render_version(version).model_dump(mode="json")})
