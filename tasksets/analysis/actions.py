"""Starting an analysis, and dropping what is out of date. A dropped one of a head is made again by itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.names import normalise
from environments.models import EnvironmentVersion
from tasksets import queries
from tasksets.analysis.claims import MOST_BY_ITSELF
from tasksets.analysis.models import Analysis
from tasksets.analysis.settings import settings_of
from tasksets.models import Taskset, Version

RECENT = timedelta(minutes=10)


def start_analysis(caller: Caller, version: Version) -> Analysis:
    """The version's one, begun when there is none, when it failed, and when settings or manifests are others now. Raises AppError 403, 410."""
    caller.require("write")
    queries.check_there(version.taskset)
    try:
        with transaction.atomic():
            found = Analysis.objects.select_for_update().filter(version=version).first()
            if found is not None and not _is_stale(found, version):
                return found
            if found is not None:
                found.delete()
            audit(caller, "taskset.analyse", "taskset", version.taskset_id, version=version.number)
            return Analysis.objects.create(version=version, asked_by=caller.label)
    except IntegrityError:
        return Analysis.objects.get(version=version)


def _is_stale(found: Analysis, version: Version) -> bool:
    if found.status in ("queued", "running"):
        return False
    return found.status == "failed" or found.settings != settings_of(version.taskset).model_dump() or _has_new_manifests(found, version)


def _has_new_manifests(found: Analysis, version: Version) -> bool:
    names = {normalise(name) for name in version.environments}
    ready = EnvironmentVersion.objects.filter(environment__team_id=version.taskset.team_id, environment__name__in=names, status="ready")
    return ready.filter(ready_at__gt=found.began_at or found.created_at).exists()


def drop_analyses(tasksets: Iterable[Taskset]) -> None:
    """Of all versions of these sets, inside the transaction that makes them wrong."""
    Analysis.objects.filter(version__taskset__in=tasksets).delete()


def drop_outdated() -> int:
    """For a worker, now and then: those of heads that are older than a manifest of the last ten minutes which concerns them."""
    fresh = EnvironmentVersion.objects.filter(status="ready", ready_at__gt=timezone.now() - RECENT)
    found = fresh.values_list("environment__team_id", "environment__name", "ready_at")
    return sum(_drop_older(team_id, name, ready_at) for team_id, name, ready_at in found if ready_at)


def _drop_older(team_id: uuid.UUID, name: str, ready_at: datetime) -> int:
    done = Analysis.objects.filter(status="done", began_at__lt=ready_at, version__task_count__lte=MOST_BY_ITSELF)
    heads = done.filter(version__taskset__team_id=team_id, version__taskset__head_id=F("version_id"))
    old = [found for found, envs in heads.values_list("id", "version__environments") if name in map(normalise, envs)]
    Analysis.objects.filter(id__in=old).delete()
    return len(old)
