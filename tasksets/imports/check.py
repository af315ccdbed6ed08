"""The check of a whole file: every row mapped, every problem kept, and what each mode would do with the good ones.

Reads as a stream; in memory are the entries of the good rows (about a hundred bytes each) and one batch of problems.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from django.conf import settings

from accounts.names import normalise
from environments.models import Environment
from proctor.content import read_stored
from proctor.formats import FileRefused
from proctor.formats.base import Row, RowProblem, problem
from proctor.formats.folders import PATH
from proctor.formats.mapping import Made, Mapper
from proctor.wire.errors import Problem
from proctor.wire.imports import Mapping, PlanCounts
from tasksets import bulk, queries, versions
from tasksets.analysis.checks import Rules
from tasksets.imports.claims import Claim, Lost
from tasksets.imports.models import Import, ImportProblem
from tasksets.imports.reading import mapping_of, reading
from tasksets.models import Taskset, Version
from web.errors import AppError

logger = logging.getLogger(__name__)
KEEP_EVERY_S = 1.0
PROBLEM_COLUMNS = ("of_id", "attempt", "line", "column", "rule", "family", "value")
NUMBER = re.compile(r"(?<![\w-])\d[\d,.]*")
FAMILY_LENGTH = 300


class Checker:
    """Maps rows and finds what a row alone can't show: slugs that stand twice, environments of another kind."""

    def __init__(self, found: Import, mapping: Mapping) -> None:
        self._mapper = Mapper(mapping)
        self._lines: dict[bytes, int] = {}
        self._taken = _names_of_other_kinds(found) if found.format == "zip" else frozenset()
        self._rules = _refusing_rules(found)
        self._number = 0

    def make(self, row: Row) -> Made:
        self._number += 1
        made = self._mapper.make(row, self._number)
        if made.task is None:
            return made
        refused = self._rules.problems(read_stored(made.task.text)) if self._rules else []
        if refused:
            return Made(made.line, None, tuple(self._mapper.placed(one, row) for one in refused))
        key = versions.slug_json(made.task.slug)
        first = self._lines.setdefault(key, made.line)
        if first != made.line:
            twice = Problem(path="slug", rule=f"the slug stands on line {first} already", value=made.task.slug)
            return Made(made.line, None, (self._mapper.placed(twice, row),))
        if made.task.env in self._taken and PATH in row.cells:
            return Made(made.line, None, (problem("env", "there is an environment of this name that is no task folder", made.task.env),))
        return made


def _refusing_rules(found: Import) -> Rules | None:
    """What the manifests say, for a set that refuses what does not fit them."""
    taskset = target_of(found)
    return Rules(found.team_id) if taskset is not None and taskset.schema_policy == "refuse" else None


def _names_of_other_kinds(found: Import) -> frozenset[str]:
    return frozenset(Environment.objects.filter(team_id=found.team_id).exclude(kind="folder").values_list("name", flat=True))


@dataclass
class _Tally:
    rows: int = 0
    errors: int = 0
    lines: list[bytes] = field(default_factory=list)


def run_check(claim: Claim, verify: Callable[[list[bytes]], None] | None = None) -> None:
    """Sees the claimed check to its end; one that was cancelled or taken over ends quietly. `verify` gets the entries of the good rows,
    and may refuse them by AppError."""
    found = Import.objects.select_related("upload", "taskset__head").get(id=claim.import_id)
    tally = _Tally()
    try:
        _read_all(claim, found, tally)
        if verify is not None:
            verify(tally.lines)
        plans = plan_all(found, tally.lines)
    except Lost:
        logger.info("check given up import_id=%s", found.id)
    except (FileRefused, AppError) as error:
        _finish(claim, found, tally, status="failed", error=str(error))
    else:
        _finish(claim, found, tally, status="checked", plans={mode: plan.model_dump() for mode, plan in plans.items()})


def _read_all(claim: Claim, found: Import, tally: _Tally) -> None:
    mapping = mapping_of(found)
    checker = Checker(found, mapping)
    with reading(found, mapping.options) as (file, _kind, rows):
        for part in bulk.batches(_problems(rows, checker, tally, _keeper(claim, found, file))):
            values = [(found.id, claim.attempt, line, one.column, one.rule, family_of(one.rule), one.value) for line, one in part]
            claim.keep()
            bulk.insert(ImportProblem, PROBLEM_COLUMNS, values, on=("id",))


def family_of(rule: str) -> str:
    """The rule without what differs from row to row."""
    return NUMBER.sub("#", rule)[:FAMILY_LENGTH]


def _problems(rows: Iterator[Row], checker: Checker, tally: _Tally, keep: Iterator[None]) -> Iterator[tuple[int, RowProblem]]:
    """On the way, the good rows are counted in. Raises FileRefused for more rows than a taskset can hold."""
    most = settings.PROCTOR_LIMITS["tasks_per_set"]
    for row in rows:
        tally.rows += 1
        if tally.rows > most:
            raise FileRefused(f"The file has more than {most:,} rows, which is more than a taskset holds; cut it in parts")
        made = checker.make(row)
        if made.task is not None:
            tally.lines.append(versions.entry(made.task.content_id, made.task.slug))
        tally.errors += len(made.problems)
        yield from ((made.line, one) for one in made.problems)
        next(keep)


def _keeper(claim: Claim, found: Import, file: object) -> Iterator[None]:
    """Each `next` is cheap; once a second the lease is renewed and the progress told. Raises Lost."""
    told = time.monotonic()
    while True:
        yield
        if time.monotonic() - told >= KEEP_EVERY_S:
            told = time.monotonic()
            claim.keep(progress=min(1.0, file.tell() / max(1, found.size_bytes)))  # type: ignore[attr-defined]


def _finish(claim: Claim, found: Import, tally: _Tally, **changes: object) -> None:
    try:
        claim.finish(
            rows_total=tally.rows,
            rows_good=len(tally.lines),
            errors_total=tally.errors,
            checked_attempt=claim.attempt,
            progress=1,
            **changes,
        )
    except Lost:
        logger.info("check was of no use any more import_id=%s", found.id)
        return
    ImportProblem.objects.filter(of=found, attempt__lt=claim.attempt).delete()
    logger.info("import checked import_id=%s rows=%d errors=%d status=%s", found.id, tally.rows, tally.errors, changes["status"])


def plan_all(found: Import, lines: list[bytes]) -> dict[str, PlanCounts]:
    """Against the head as it is now."""
    head = head_of_target(found)
    there = queries.version_lines(head)
    plans = {mode: _counts(versions.plan(there, lines, mode)) for mode in ("merge", "replace", "remove")}
    create = PlanCounts(create=len(lines), update=0, unchanged=0, remove=0, refused=_why_no_create(found, head))
    against = head.number if head else None
    return {mode: plan.model_copy(update={"against": against}) for mode, plan in {"create": create, **plans}.items()}


def _counts(plan: versions.Plan) -> PlanCounts:
    return PlanCounts(create=len(plan.created), update=len(plan.updated), unchanged=plan.unchanged, remove=len(plan.removed))


def head_of_target(found: Import) -> Version | None:
    taskset = target_of(found)
    head = taskset.head if taskset else None
    if head is not None and taskset is not None:
        head.taskset = taskset
    return head


def target_of(found: Import) -> Taskset | None:
    """Looked up now: a set may have been made under the name since."""
    if found.taskset_id is not None:
        return Taskset.objects.select_related("head").filter(id=found.taskset_id).first()
    return queries.find_by_handle(found.team_id, normalise(found.name))


def _why_no_create(found: Import, head: Version | None) -> str | None:
    return f"Taskset {head.taskset.name} holds {head.task_count:,} tasks already" if head is not None and head.task_count else None
