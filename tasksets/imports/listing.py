"""Reads of imports in lists: those of a taskset, those that wait to be finished, and the errors of one with their groups."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, IntegerField, Min, Q, QuerySet, Value, When

from accounts.callers import Caller
from tasksets.imports.models import Import, ImportProblem
from tasksets.models import Taskset

RUNNING = ("checking", "committing")
OPEN = (*RUNNING, "ready", "checked", "failed")
RANK = Case(When(status__in=RUNNING, then=Value(0)), default=Value(1), output_field=IntegerField())


def imports_of(taskset: Taskset) -> QuerySet[Import]:
    return _ordered(Import.objects.filter(taskset=taskset))


def unfinished(caller: Caller) -> QuerySet[Import]:
    """Of new tasksets: once it is made, a set lists its own."""
    return _ordered(Import.objects.filter(team_id=caller.team_id, taskset=None, status__in=OPEN, upload__isnull=False))


def _ordered(found: QuerySet[Import]) -> QuerySet[Import]:
    return found.select_related("upload", "taskset").annotate(rank=RANK).order_by("rank", "-created_at", "-id")


def page(found: QuerySet[Import], after: list[Any] | None, size: int) -> tuple[list[Import], list[Any] | None]:
    """Its rows, and the key of the last one when more follow. One that ends in between may be seen twice; none is passed over."""
    rows = list((found.filter(_behind(*after)) if after else found)[: size + 1])
    last = rows[size - 1] if len(rows) > size else None
    return rows[:size], [last.rank, last.created_at.isoformat(), last.id] if last else None  # type: ignore[attr-defined]


def _behind(rank: int, created_at: datetime, last_id: uuid.UUID) -> Q:
    return Q(rank__gt=rank) | Q(rank=rank, created_at__lt=created_at) | Q(rank=rank, created_at=created_at, id__lt=last_id)


def problems(found: Import, after: list[int] | None = None, group: tuple[str | None, str] | None = None) -> QuerySet[ImportProblem]:
    """Of the check that counts, in the file's order, behind a (line, id)."""
    rows = _problems(found).order_by("line", "id")
    if group is not None:
        column = {"column": group[0]} if group[0] is not None else {"column__isnull": True}
        rows = rows.filter(family=group[1], **column)
    return rows.filter(line__gte=after[0]).exclude(line=after[0], id__lte=after[1]) if after else rows


def problem_groups(found: Import) -> QuerySet[Any, Any]:
    """Dicts of column, family, count and first_line, the largest first."""
    groups = _problems(found).values("column", "family").annotate(count=Count("id"), first_line=Min("line"))
    return groups.order_by("-count", "first_line", "family")


def _problems(found: Import) -> QuerySet[ImportProblem]:
    return ImportProblem.objects.filter(of=found, attempt=found.checked_attempt or 0)
