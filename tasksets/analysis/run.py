"""The analysis of one version, under a claim, to its end: one pass over the tasks for checks, leaks and signatures, then the near duplicates.

In memory are 512 bytes of signature for each prompt, about as much for its slug and ids, and a thousand tasks. Findings are written as
they come; a list holds 100,000 at most.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from django.db import transaction

from proctor.content import StoredTask, read_stored
from proctor.wire.analysis import AnalysisCounts, CheckedEnvironment, CheckFinding, DuplicatePair, LeakPlace
from tasksets import bulk, queries
from tasksets.analysis import duplicates, prompts
from tasksets.analysis.checks import Rules
from tasksets.analysis.claims import Claim, Lost
from tasksets.analysis.duplicates import Candidates, Signatures, Signer, candidates, no_signatures
from tasksets.analysis.leaks import leaks
from tasksets.analysis.models import Analysis, Finding
from tasksets.analysis.settings import settings_of
from tasksets.models import TaskContent, Version
from tasksets.queries import VersionTask
from web.errors import AppError

logger = logging.getLogger(__name__)
MOST_FINDINGS = 100_000
READING = 0.8
COLUMNS = ("of_id", "attempt", "kind", "number", "body")


class Found(Protocol):
    def model_dump_json(self) -> str: ...


class Book:
    """The findings on their way to the database, numbered by kind."""

    def __init__(self, claim: Claim) -> None:
        self.totals: Counter[str] = Counter()
        self._claim, self._waiting = claim, list[tuple[Any, ...]]()

    def add(self, kind: str, found: Found) -> None:
        number = self.totals[kind]
        self.totals[kind] += 1
        if number < MOST_FINDINGS:
            self._waiting.append((self._claim.analysis_id, self._claim.attempt, kind, number, found.model_dump_json()))

    def write(self, progress: float) -> None:
        """In short transactions, each of which renews the lease. Raises Lost."""
        for part in [*bulk.batches(self._waiting)] or [[]]:
            with transaction.atomic():
                self._claim.keep(progress=progress)
                bulk.insert(Finding, COLUMNS, part, on=("of_id", "attempt", "kind", "number"))
        self._waiting.clear()


@dataclass
class Prompts:
    """Each distinct prompt by its first task: slug, content id, and row of its signature. `tasks` counts those that have a prompt."""

    signatures: Signatures
    slugs: list[str] = field(default_factory=list)
    content_ids: list[str] = field(default_factory=list)
    rows: dict[bytes, int] = field(default_factory=dict)
    tasks: int = 0


class Reader:
    """The first pass. `same` holds near duplicates whose words are all the same."""

    def __init__(self, version: Version, settings: dict[str, Any], book: Book) -> None:
        self.version, self.book = version, book
        self.fields = prompts.Fields.of(settings["answer_fields"])
        self.rules = Rules(version.taskset.team_id, version.environments) if settings["schema_policy"] != "off" else None
        self.redacted = _redacted(version)
        self.first: dict[str, str] = {}
        self.envs: Counter[str] = Counter()
        self.prompts = Prompts(no_signatures(version.task_count))
        self.same: list[DuplicatePair] = []
        self.checked = 0

    def read(self) -> None:
        signer, done = Signer(), 0
        for part in bulk.batches(queries.iter_version_tasks(self.version), queries.READ_BATCH):
            before = len(self.prompts.slugs)
            new = [words for task in part if (words := self._look(task))]
            if new:
                self.prompts.signatures[before : before + len(new)] = signer.sign(new)
            done += len(part)
            self.book.write(READING * done / max(1, self.version.task_count))

    def _look(self, task: VersionTask) -> list[str]:
        """The words of a prompt that no task before has; else none."""
        self.envs[task.env] += 1
        if task.content_id in self.redacted:
            return []
        stored = read_stored(task.text)
        self._check(task.slug, stored)
        said = [(text, prompts.words(text.text)) for text in prompts.prompts(stored, self.fields)]
        for leak in leaks(said, prompts.answers(stored, self.fields)):
            self.book.add("leak", LeakPlace(slug=task.slug, **vars(leak)))
        words = [word for _text, some in said for word in some]
        self.prompts.tasks += bool(words)
        return words if self._is_new(task, words) else []

    def _check(self, slug: str, stored: StoredTask) -> None:
        problems = self.rules.problems(stored) if self.rules else []
        self.checked += bool(problems)
        for one in problems:
            self.book.add("check", CheckFinding(slug=slug, path=one.path, rule=one.rule, value=one.value))

    def _is_new(self, task: VersionTask, words: Sequence[str]) -> bool:
        first = self.first.setdefault(task.content_id, task.slug)
        if first != task.slug:
            self.book.add("exact", DuplicatePair(kind="exact", slug=first, other=task.slug, jaccard=1.0))
            return False
        if not words:
            return False
        found = self.prompts
        row = found.rows.setdefault(blake2b(" ".join(words).encode(), digest_size=16).digest(), len(found.slugs))
        if row < len(found.slugs):
            self.same.append(DuplicatePair(kind="near", slug=found.slugs[row], other=task.slug, jaccard=1.0))
            return False
        found.slugs.append(task.slug)
        found.content_ids.append(task.content_id)
        return True


def _redacted(version: Version) -> set[str]:
    gone = TaskContent.objects.filter(team_id=version.taskset.team_id, redacted_at__isnull=False)
    return {*gone.values_list("content_id", flat=True)}


def run_analysis(claim: Claim) -> None:
    """Sees the claimed analysis to its end; one that was dropped or taken over ends quietly."""
    version = Version.objects.select_related("taskset").get(analysis__id=claim.analysis_id)
    try:
        _run(claim, version)
    except Lost:
        logger.info("analysis given up version=%s", version.id)
    except AppError as error:
        claim.held().update(status="failed", error=str(error), claimed_by=None, claimed_until=None)


def _run(claim: Claim, version: Version) -> None:
    settings = settings_of(version.taskset).model_dump()
    claim.keep(settings=settings)
    book = Book(claim)
    reader = Reader(version, settings, book)
    reader.read()
    cut = _near(reader, book)
    book.write(1.0)
    environments = _environments(reader)
    unknown = sum(one.tasks for one in environments if one.version_number is None)
    lists = {*(kind for kind, total in book.totals.items() if total > MOST_FINDINGS), *(("near",) if cut else ())}
    counts = AnalysisCounts(
        tasks=version.task_count, checks=book.totals["check"], tasks_with_checks=reader.checked, tasks_unknown=unknown if reader.rules else 0,
        exact=book.totals["exact"], near=book.totals["near"], prompts=reader.prompts.tasks, leaks=book.totals["leak"], cut=sorted(lists),
    )  # fmt: skip
    claim.finish(
        status="done", progress=1, counts=counts.model_dump(mode="json"), environments=[one.model_dump(mode="json") for one in environments]
    )
    _drop_old(claim, version)
    logger.info("taskset analysed version=%s counts=%s", version.id, counts)


def _environments(reader: Reader) -> list[CheckedEnvironment]:
    if reader.rules is None:
        return []
    found = []
    for name, tasks in sorted(reader.envs.items()):
        manifest = reader.rules.manifest_of(name)
        number = manifest.version_number if manifest else None
        found.append(
            CheckedEnvironment(
                name=name, tasks=tasks, version_number=number, newest_number=number, unusable=manifest.unusable if manifest else {}
            )
        )
    return found


def _drop_old(claim: Claim, version: Version) -> None:
    """Findings of attempts that came to nothing, and analyses of older versions that nobody asked for."""
    Finding.objects.filter(of_id=claim.analysis_id, attempt__lt=claim.attempt).delete()
    Analysis.objects.filter(version__taskset=version.taskset_id, version__number__lt=version.number, asked_by=None).delete()


def _near(reader: Reader, book: Book) -> bool:
    """Adds the near duplicates, the most alike first. True when some pairs were not looked at."""
    tried = candidates(reader.prompts.signatures[: len(reader.prompts.slugs)])
    pairs = [*reader.same, *_verified(reader, tried, book)]
    for pair in sorted(pairs, key=lambda pair: -pair.jaccard):
        book.add("near", pair)
    return tried.cut


def _verified(reader: Reader, tried: Candidates, book: Book) -> Iterator[DuplicatePair]:
    """The candidates whose Jaccard is what is asked for, their texts read once more, a batch at a time."""
    found, done = reader.prompts, 0
    for part in bulk.batches(tried.pairs.tolist(), queries.READ_BATCH // 2):
        shingles = _shingles(reader, {row for pair in part for row in pair})
        for left, right in part:
            value = duplicates.jaccard(shingles[left], shingles[right])
            if value >= duplicates.THRESHOLD:
                yield DuplicatePair(kind="near", slug=found.slugs[left], other=found.slugs[right], jaccard=round(value, 4))
        done += len(part)
        book.write(READING + (1 - READING) * done / len(tried.pairs))


def _shingles(reader: Reader, rows: Iterable[int]) -> dict[int, frozenset[tuple[str, ...]]]:
    team_id = reader.version.taskset.team_id
    keys = {row: queries.content_key(team_id, reader.prompts.content_ids[row]) for row in rows}
    texts = queries.content_texts(keys.values())
    found = {}
    for row, key in keys.items():
        said = prompts.prompts(read_stored(texts[key]), reader.fields)
        found[row] = duplicates.shingles([word for text in said for word in prompts.words(text.text)])
    return found
