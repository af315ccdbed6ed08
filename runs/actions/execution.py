"""The worker's writes about hosted runs: claim, phase, finish, release, lost. Every one is fenced by (run, attempt): zero rows means
that somebody else holds the run or it has ended, and the writer must stop (`Fenced`)."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from proctor.outcomes import count, evaluation_of
from proctor.rollout.plan import Failure, Outcome
from runs.actions.spans import Fenced, Prepared, record_spans
from runs.clock import database_now
from runs.models import ACTIVE, Attempt, Job, Run
from web.live import hint_after_commit

logger = logging.getLogger(__name__)
LEASE_S = 30.0
MAX_LOST = 3


def claim(run_id: uuid.UUID, attempt: int, worker_id: str) -> bool:
    """Takes a dispatched run for a worker: attempt + 1 and a lease. False for a late or repeated message: the scheduler counts on a mark
    that has run out (caps hold), and sends again."""
    now = database_now()
    dispatched = Run.objects.filter(id=run_id, attempt=attempt, state="queued", source="hosted", dispatched_until__gt=now)
    with transaction.atomic():
        taken = dispatched.filter(cancel_requested_at=None).update(
            state="provisioning", attempt=F("attempt") + 1, worker_id=worker_id, lease_until=now + timedelta(seconds=LEASE_S), dispatched_until=None,
            phase="starting", container_id=None, exit_code=None, started_at=now, last_seen_at=now, **_changed(),
        )  # fmt: skip
        if taken:
            Attempt.objects.create(run_id=run_id, number=attempt + 1, worker_id=worker_id, started_at=now)
            hint_after_commit()
    return bool(taken)


def set_phase(run_id: uuid.UUID, attempt: int, phase: str, *, container_id: str | None = None, image_id: str | None = None, sandbox: str | None = None) -> None:
    """Raises Fenced. `container_id`, `image_id` and `sandbox` are kept when given."""
    state = {"starting": "provisioning", "setup": "provisioning", "grading": "grading"}.get(phase, "running")
    facts = {name: value for name, value in (("container_id", container_id), ("image_id", image_id), ("sandbox", sandbox)) if value}
    states = {} if phase == "stopping" else {"state": state}
    with transaction.atomic():
        if not _held(run_id, attempt).update(phase=phase, last_seen_at=timezone.now(), **states, **facts, **_changed()):
            raise Fenced
        if container_id:
            Attempt.objects.filter(run_id=run_id, number=attempt).update(container_id=container_id)
        hint_after_commit()


def finish(run_id: uuid.UUID, attempt: int, outcome: Outcome, last: Prepared | None = None) -> None:
    """The end of a run by its own attempt, with its `last` spans. Raises Fenced. A grade counts whatever the status; nothing else has a
    reward."""
    evaluation = evaluation_of(outcome.evaluation_text)
    failure = outcome.failure
    counted = count(outcome.status, evaluation, None, failure.failure_class if failure else None)
    if counted.counted == "graded" or counted.counted == "cancelled":
        blame, failure_class = None, None
    else:
        failure_class = failure.failure_class if failure else counted.failure_class
        blame = failure.blame if failure else "grader"
    with transaction.atomic():
        if last is not None:
            record_spans(run_id, attempt, last, fence=True)
        updated = _held(run_id, attempt).update(
            state=outcome.status, counted=counted.counted, reward=counted.reward, evaluation=outcome.evaluation_text, failure_class=failure_class, blame=blame,
            error=failure.message if failure else None, stop_reason=outcome.stop_reason, exit_code=outcome.exit_code, container_leaked=outcome.container_leaked,
            log_tail=outcome.log_tail or None, lease_until=None, phase=None, ended_at=timezone.now(), **_kept(outcome), **_changed(),
        )  # fmt: skip
        if not updated:
            raise Fenced
        _end_attempt(run_id, attempt, outcome.status if counted.counted == "graded" else (failure_class or counted.counted), outcome)
        if failure_class:
            _log_failure(run_id, attempt, failure_class, blame, failure.message if failure else "the grade has no finite score")
        hint_after_commit()


def _log_failure(run_id: uuid.UUID, attempt: int, failure_class: str, blame: str | None, message: str) -> None:
    """One line once it is committed: the id that people see, and the first line of the cause, control characters escaped."""
    wire_id = Run.objects.values_list("wire_id", flat=True).get(id=run_id)
    line = message.partition("\n")[0][:300]
    transaction.on_commit(partial(logger.warning, "run failed run=%s attempt=%s class=%s blame=%s cause=%r", wire_id, attempt, failure_class, blame, line), robust=True)


def _kept(outcome: Outcome) -> dict[str, Any]:
    return {name: value for name, value in (("container_id", outcome.container_id), ("image_id", outcome.image_id)) if value}


def release(run_id: uuid.UUID, attempt: int, why: str) -> bool:
    """Back to the queue (the worker stops). No try is used up: only lost attempts count. False when it is held no longer, or should be
    cancelled."""
    with transaction.atomic():
        freed = _requeue(_held(run_id, attempt).filter(cancel_requested_at=None), run_id)
        if freed:
            _end_attempt(run_id, attempt, why)
            hint_after_commit()
    return bool(freed)


def give_up(run_id: uuid.UUID, attempt: int, *, expired_at: datetime | None = None, failure: Failure | None = None) -> bool:
    """The worker of this attempt is gone, or (`failure`) what it ran the agent in: back to the queue, or failed after three lost attempts,
    as `lost` or with the failure; cancelled if so asked. With `expired_at`, only when the lease had run out by then. False when somebody
    else was faster."""
    with transaction.atomic():
        held = _held(run_id, attempt)
        if expired_at is not None:
            held = held.filter(lease_until__lt=expired_at)
        lost_before = Attempt.objects.filter(run_id=run_id, outcome="lost").count()
        if held.filter(cancel_requested_at__isnull=False).update(**_ended("cancelled", "cancelled")):
            freed = 1
        elif lost_before + 1 >= MAX_LOST:
            last = failure or Failure("lost", "platform", f"The worker died {MAX_LOST} times while it held this run")
            freed = held.update(**_ended("error", "failed"), failure_class=last.failure_class, blame=last.blame, error=last.message)
        else:
            freed = _requeue(held, run_id)
        if freed:
            _end_attempt(run_id, attempt, "lost")
            hint_after_commit()
    return bool(freed)


def _requeue(held: QuerySet[Run], run_id: uuid.UUID) -> int:
    freed = held.update(state="queued", worker_id=None, lease_until=None, dispatched_until=None, phase=None, **_changed())
    if freed:
        Job.objects.filter(runs__id=run_id).update(may_have_queued=True)
    return freed


def cancelled_outcome(*, leaked: bool = False, log_tail: bytes = b"", container_id: str | None = None) -> Outcome:
    return Outcome(status="cancelled", container_leaked=leaked, log_tail=log_tail, container_id=container_id)


def broken_outcome(message: str) -> Outcome:
    """A run that the platform itself could not carry out."""
    return Outcome(status="error", failure=Failure("platform", "platform", message))


def renew(worker_id: str) -> int:
    """One UPDATE for all runs of a worker. Returns how many it still holds."""
    until = database_now() + timedelta(seconds=LEASE_S)
    return Run.objects.filter(worker_id=worker_id, state__in=ACTIVE).update(lease_until=until)


def _held(run_id: uuid.UUID, attempt: int) -> QuerySet[Run]:
    return Run.objects.filter(id=run_id, attempt=attempt, state__in=ACTIVE)


def _changed() -> dict[str, Any]:
    return {"revision": F("revision") + 1, "changed_at": timezone.now()}


def _ended(state: str, counted: str) -> dict[str, Any]:
    return {"state": state, "counted": counted, "reward": None, "lease_until": None, "phase": None, "ended_at": timezone.now(), **_changed()}


def _end_attempt(run_id: uuid.UUID, attempt: int, outcome: str, facts: Outcome | None = None) -> None:
    exit_code = facts.exit_code if facts else None
    Attempt.objects.filter(run_id=run_id, number=attempt, ended_at=None).update(ended_at=timezone.now(), outcome=outcome[:40], exit_code=exit_code)
