"""What came of one task in all jobs on its taskset."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.callers import Caller
from runs.models import Run
from runs.queries.runs import ROW_FIELDS
from tasksets.models import Taskset

FIELDS = (*ROW_FIELDS, "content_id", "model", "agent_type", "team_id")


def results_of(caller: Caller, taskset: Taskset, slug: str) -> QuerySet[Run]:
    """The runs under this slug in jobs on the set, newest first, with job and version."""
    runs = Run.objects.filter(team_id=caller.team_id, slug=slug, job__taskset=taskset).select_related("job__version")
    job_fields = ("job__name", "job__wire_id", "job__taskset_id", "job__version__number")
    return runs.only(*FIELDS, *job_fields).order_by("-created_at", "-id")


def behind(runs: QuerySet[Run], created_at: datetime, id: uuid.UUID) -> QuerySet[Run]:
    """What follows this place of the listing."""
    return runs.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, id__lt=id))
