"""Reads of analyses and their findings."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.names import normalise
from environments import queries as environments
from proctor.wire.analysis import CheckedEnvironment
from tasksets import queries
from tasksets.analysis.models import Analysis, Finding
from tasksets.models import Version


def find_analysis(version: Version | None) -> Analysis | None:
    """Raises AppError 410 for a purged set."""
    if version is None:
        return None
    queries.check_there(version.taskset)
    return Analysis.objects.filter(version=version).first()


def find_findings(found: Analysis | None, kinds: Sequence[str], after: tuple[str, int] | None, limit: int) -> list[Finding]:
    """A page of what a finished analysis found, kind by kind, each in its order; `after` is the last one's kind and number."""
    rows: list[Finding] = []
    if found is None or found.status != "done":
        return rows
    last, number = after if after and after[0] in kinds else (kinds[0], -1)
    for kind in kinds[kinds.index(last) :]:
        some = Finding.objects.filter(of=found, attempt=found.attempts, kind=kind, number__gt=number if kind == last else -1)
        rows += some.order_by("number")[: limit - len(rows)]
    return rows


def environments_of(found: Analysis | None, version: Version | None) -> list[CheckedEnvironment]:
    """As they were when the tasks were checked, with the newest version there is now."""
    listed = [CheckedEnvironment.model_validate(one) for one in found.environments] if found else []
    if not listed or version is None:
        return []
    newest = environments.newest_ready_of(version.taskset.team_id, {normalise(one.name) for one in listed})
    numbers = {name: ready.number for name, ready in newest.items()}
    return [one.model_copy(update={"newest_number": numbers.get(normalise(one.name))}) for one in listed]
