"""Admits queued runs: the only place that sends run messages. One leader by database lease; every worker tries.

A turn shares the free slots fairly among jobs with queued runs, within each job's own cap, marks the chosen ones as dispatched for 30 s
(compare-and-set) and sends one message each. A lost message is sent again when the mark has run out; a repeated one is dropped at
the claim. So any broker may lose, repeat or reorder.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, Sum

from runs.actions import workers
from runs.clock import database_now
from runs.models import ACTIVE, Job, Run
from runs.queries.platform import find_live_workers

logger = logging.getLogger(__name__)
DISPATCH_S, LEADER_S = 30.0, 10.0
POLL_S, FULL_S, STANDBY_S, REAP_S = 0.05, 0.25, 2.0, 5.0


@dataclass(frozen=True)
class OpenJob:
    """`room` is how many more runs the job's own cap lets in."""

    id: uuid.UUID
    room: int


class Scheduler:
    """Idle turns cost one small query. While all slots are taken it looks seldom: the worker wakes it when a rollout ends."""

    def __init__(self, worker_id: str) -> None:
        self.worker_id = worker_id
        self._leads_until = self._reap_at = float("-inf")

    def turn(self) -> float:
        """One round; returns how long to wait before the next, in seconds."""
        if not self._leads():
            return STANDBY_S
        self._reap()
        if not Job.objects.filter(may_have_queued=True).exists():
            return POLL_S
        now = database_now()
        free = free_slots(now)
        if free <= 0:
            return FULL_S
        fill(free, now)
        return POLL_S

    def _leads(self) -> bool:
        """Asks the database only when half of the lease has passed on this machine's clock."""
        now = time.monotonic()
        if now < self._leads_until:
            return True
        leads = workers.take_lease("scheduler", self.worker_id, LEADER_S)
        self._leads_until = now + LEADER_S / 2 if leads else float("-inf")
        return leads

    def _reap(self) -> None:
        if time.monotonic() >= self._reap_at:
            self._reap_at = time.monotonic() + REAP_S
            workers.free_expired()


def admit(now: datetime) -> int:
    """Dispatches what fits; returns how many."""
    return fill(free_slots(now), now)


def fill(free: int, now: datetime) -> int:
    """Shares so many slots out. A share that a job has no runs for is shared out again."""
    jobs = list(Job.objects.filter(may_have_queued=True).order_by("created_at").values_list("id", "max_concurrent")[:200])
    hungry = open_jobs(jobs, now) if free > 0 else []
    sent = 0
    while hungry and sent < free:
        shares = share_out(hungry, free - sent)
        used = {job_id: dispatch(job_id, share, now) for job_id, share in shares.items()}
        sent += sum(used.values())
        hungry = [OpenJob(job.id, job.room - used[job.id]) for job in hungry if used[job.id] == shares[job.id] < job.room]
    return sent


def free_slots(now: datetime) -> int:
    """Slots of live workers, less what they hold and what is on its way to them."""
    slots = find_live_workers().order_by().aggregate(all=Sum("slots"))["all"] or 0
    taken = Run.objects.filter(Q(state__in=ACTIVE) | Q(state="queued", dispatched_until__gt=now), source="hosted").count()
    return slots - taken


def open_jobs(jobs: Sequence[tuple[uuid.UUID, int | None]], now: datetime) -> list[OpenJob]:
    found = []
    for job_id, cap in jobs:
        taken = Run.objects.filter(Q(state__in=ACTIVE) | Q(state="queued", dispatched_until__gt=now), job_id=job_id).count() if cap else 0
        if not cap or cap > taken:
            found.append(OpenJob(job_id, cap - taken if cap else 1_000_000))
    return found


def share_out(jobs: Sequence[OpenJob], free: int) -> dict[uuid.UUID, int]:
    """Equal shares, older jobs first with what is left over; what a job's cap keeps it from using goes to the others."""
    shares = dict.fromkeys((job.id for job in jobs), 0)
    hungry = list(jobs)
    while free > 0 and hungry:
        for job in list(hungry):
            if free <= 0:
                break
            if shares[job.id] >= job.room:
                hungry.remove(job)
                continue
            shares[job.id] += 1
            free -= 1
    return shares


def dispatch(job_id: uuid.UUID, share: int, now: datetime) -> int:
    from runs.actors import execute_run

    waiting = Run.objects.filter(job_id=job_id, state="queued", source="hosted").filter(Q(dispatched_until=None) | Q(dispatched_until__lte=now))
    chosen = list(waiting.order_by("task_index", "repeat").values_list("id", "attempt")[:share])
    sent = 0
    for run_id, attempt in chosen:
        marked = waiting.filter(id=run_id, attempt=attempt).update(dispatched_until=now + timedelta(seconds=DISPATCH_S))
        if marked:
            execute_run.send(str(run_id), attempt)
            sent += 1
    if len(chosen) < share and not Run.objects.filter(job_id=job_id, state="queued").exists():
        _close(job_id)
    return sent


def _close(job_id: uuid.UUID) -> None:
    """Nothing is queued any more; checked again after the mark, since a run may have come back in between."""
    Job.objects.filter(id=job_id).update(may_have_queued=False)
    if Run.objects.filter(job_id=job_id, state="queued").exists():
        Job.objects.filter(id=job_id).update(may_have_queued=True)
