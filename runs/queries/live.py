"""What the tailer asks, one query per tick and kind of topic for all that are watched. Cursors of jobs are times with a 5 s overlap
(messages carry whole states, so repeats are harmless); cursors of runs are seqs, which are commit order without gaps."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.callers import Caller
from runs.models import Job, Run
from runs.queries.runs import ROW_FIELDS

OVERLAP = timedelta(seconds=5)


@dataclass(frozen=True)
class Head:
    """Where a run stands."""

    run: Run
    last_seq: int


def cursor_now() -> str:
    return timezone.now().isoformat()


def read_cursor(text: object) -> datetime:
    """A cursor that we made; anything else, also one in the future or before our time, means now."""
    now = timezone.now()
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return now
    return min(time, now) if time.tzinfo and time.year > 1970 else now


def job_key(caller: Caller, wire_id: uuid.UUID) -> uuid.UUID | None:
    return Job.objects.filter(team_id=caller.team_id, wire_id=wire_id).values_list("id", flat=True).first()


def run_key(caller: Caller, wire_id: uuid.UUID) -> uuid.UUID | None:
    return Run.objects.filter(team_id=caller.team_id, wire_id=wire_id).values_list("id", flat=True).first()


def changed_of_jobs(job_ids: Sequence[uuid.UUID], since: datetime) -> list[Run]:
    changed = Run.objects.filter(job_id__in=job_ids, changed_at__gte=since - OVERLAP)
    return list(changed.only(*ROW_FIELDS).order_by("changed_at", "id"))


def changed_jobs_of_teams(team_ids: Sequence[uuid.UUID], since: datetime) -> list[tuple[uuid.UUID, uuid.UUID]]:
    """(team, wire id of the job) of each job with a run that changed."""
    changed = Run.objects.filter(team_id__in=team_ids, changed_at__gte=since, job__isnull=False)
    return list(changed.values_list("team_id", "job__wire_id").distinct())


def heads_of(run_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Head]:
    return {run.id: Head(run, run.last_seq) for run in Run.objects.filter(id__in=run_ids).only(*ROW_FIELDS)}


