"""Taking content away for good, admins only and audited: purging an archived set, redacting one task.

A purge sweeps by marking: what any other version of the team still holds stays. It may be broken off and called again. A redacted
content keeps its id, so every version keeps its digest; whoever has the very same content shows the marker too.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from proctor import content
from shares.queries import count_live
from tasksets import bulk, comparisons, exports, queries, sweeping, versions
from tasksets.analysis.actions import drop_analyses
from tasksets.commits import hold_contents
from tasksets.imports import sessions
from tasksets.models import Chunk, Draft, DraftChange, Export, HeadTask, TableBlock, TaskContent, Taskset, Version
from tasksets.sharing import KIND
from web.errors import conflict, invalid, not_found, problem

logger = logging.getLogger(__name__)
SWEEP_BATCH = 500


@dataclass(frozen=True)
class Purged:
    """What went, and how many objects of other rooms still name the set, by kind."""

    taskset: Taskset
    versions: int
    contents: int
    chunks: int
    exports: int
    breaks: dict[str, int]


@dataclass(frozen=True)
class Redacted:
    """`versions` held the task; `also_in` are (taskset, slug) of other tasks with the same content."""

    slug: str
    contents: int
    versions: list[int]
    also_in: list[tuple[str, str]]


@dataclass(frozen=True)
class _Marks:
    """What only this set holds, as of `version_count` versions in the team."""

    version_count: int
    chunk_ids: list[str]
    contents: list[uuid.UUID]


def purge(caller: Caller, taskset: Taskset, *, confirm: str) -> Purged:
    """Raises AppError 403, 409 when the set is not archived, 422 when `confirm` is not its name."""
    caller.require("admin")
    if confirm != taskset.name:
        raise invalid([problem("confirm", f"must be the name of the taskset, {taskset.name}", confirm)])
    if not taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is in use; archive it first")
    export_count, breaks = Export.objects.filter(version__taskset=taskset).count(), _breaks(taskset)
    _mark_purged(caller, taskset, breaks)
    sessions.drop_imports_of(taskset)
    _delete_rows(HeadTask.objects.filter(taskset=taskset).order_by("id"))
    marks = _sweep(taskset)
    Version.objects.filter(taskset=taskset).update(chunk_ids=[])
    logger.info("taskset purged taskset=%s contents=%d", taskset.id, len(marks.contents))
    return Purged(taskset, taskset.versions.count(), len(marks.contents), len(marks.chunk_ids), export_count, breaks)


def _breaks(taskset: Taskset) -> dict[str, int]:
    """Objects of other rooms that name the set, by kind."""
    relations = [one for one in Taskset._meta.related_objects if one.related_model._meta.app_label != "tasksets"]
    counts = {str(one.related_model._meta.verbose_name_plural): one.related_model._default_manager.filter(**{one.field.name: taskset}).count() for one in relations}  # fmt: skip
    counts["share links"] = count_live(KIND, taskset.id)
    return {kind: count for kind, count in counts.items() if count}


def _mark_purged(caller: Caller, taskset: Taskset, breaks: dict[str, int]) -> None:
    """From now on reads answer 410."""
    with transaction.atomic():
        taskset.purged_at = taskset.changed_at = timezone.now()
        taskset.save(update_fields=["purged_at", "changed_at"])
        Draft.objects.filter(taskset=taskset).delete()
        exports.drop_exports([taskset])
        drop_analyses([taskset])
        audit(caller, "taskset.purge", "taskset", taskset.id, name=taskset.name, breaks=breaks)


def _delete_rows(rows: QuerySet[Any]) -> int:
    """In short transactions."""
    count = 0
    while ids := list(rows.values_list("pk", flat=True)[:SWEEP_BATCH]):
        rows.model._default_manager.filter(pk__in=ids).delete()
        count += len(ids)
    return count


def _sweep(taskset: Taskset) -> _Marks:
    while True:
        marks = _mark(taskset)
        try:
            sweeping.delete_checked(taskset.team_id, marks.version_count, TaskContent, "id", marks.contents)
            sweeping.delete_checked(taskset.team_id, marks.version_count, Chunk, "chunk_id", marks.chunk_ids)
            return marks
        except sweeping.Moved:
            logger.info("purge marked again taskset=%s", taskset.id)


def _mark(taskset: Taskset) -> _Marks:
    count = sweeping.version_count(taskset.team_id)
    mine = sweeping.chunk_ids(Version.objects.filter(taskset=taskset))
    others = sweeping.chunk_ids(Version.objects.filter(taskset__team_id=taskset.team_id).exclude(taskset=taskset))
    alone = mine - others
    contents = {content_id for text in sweeping.chunk_texts(taskset.team_id, alone) for content_id in sweeping.content_ids(text)}
    for text in sweeping.chunk_texts(taskset.team_id, others) if contents else ():
        contents.difference_update(sweeping.content_ids(text))
    return _Marks(count, sorted(alone), [queries.content_key(taskset.team_id, content_id) for content_id in sorted(contents)])


def redact(caller: Caller, taskset: Taskset, *, slug: str, reason: str) -> Redacted:
    """A marker with the reason instead of the task's content, in every version. Raises AppError 403, 404."""
    caller.require("admin")
    queries.check_there(taskset)
    held = {number: found for number, found in comparisons.content_ids(slug, queries.find_versions(taskset)).items() if found}
    if not held:
        raise not_found("Task")
    content_ids = sorted(set(held.values()))
    places = [place for content_id in content_ids for place in _places(taskset, content_id)]
    chunks = {key for content_id in content_ids for key in _chunks_with(taskset.team_id, content_id).values_list("pk", flat=True)}
    keys = [queries.content_key(taskset.team_id, content_id) for content_id in content_ids]
    texts = {key: _marker(text, reason) for key, text in queries.content_texts(keys).items()}
    with transaction.atomic():
        hold_contents(taskset.team_id)
        _write_markers(texts)
        for part in bulk.batches(chunks, SWEEP_BATCH):
            TableBlock.objects.filter(chunk__in=part).delete()
        DraftChange.objects.filter(Q(content_id__in=content_ids) | Q(draft__taskset=taskset, slug=slug)).filter(draft__taskset__team_id=taskset.team_id).delete()  # fmt: skip
        shown = Taskset.objects.filter(team_id=taskset.team_id, id__in={taskset.id, *(set_id for set_id, _name, _slug in places)})
        shown.update(name_revision=F("name_revision") + 1, changed_at=timezone.now())
        exports.drop_exports(shown)
        drop_analyses(shown)
        audit(caller, "taskset.redact", "taskset", taskset.id, slug=slug, reason=reason, contents=content_ids)
    also_in = sorted({(name, other) for set_id, name, other in places if (set_id, other) != (taskset.id, slug)})
    return Redacted(slug, len(content_ids), sorted(held), also_in)


def _marker(text: str, reason: str) -> str:
    """Where the task runs stays; what it asks and expects goes."""
    stored = content.read_stored(text)
    return msgspec.json.encode(content.Content(stored.env, stored.id, {"redacted": reason})).decode()


def _write_markers(texts: dict[uuid.UUID, str]) -> None:
    for key, text in texts.items():
        TaskContent.objects.filter(id=key).update(text=text, redacted_at=timezone.now())
    HeadTask.objects.filter(content_id__in=texts).update(columns=None)


def _chunks_with(team_id: uuid.UUID, content_id: str) -> QuerySet[Any]:
    return Chunk.objects.filter(team_id=team_id).annotate(at=StrIndex("text", Value(f"{content_id} "))).filter(at__gt=0)


def _places(taskset: Taskset, content_id: str) -> Iterator[tuple[uuid.UUID, str, str]]:
    """Every (taskset id, name, slug) of the team whose versions hold this content."""
    chunks = _chunks_with(taskset.team_id, content_id)
    slugs = {
        chunk_id: [versions.slug_of(line) for line in versions.lines_of([text.encode()]) if versions.content_id_of(line) == content_id]
        for chunk_id, text in chunks.values_list("chunk_id", "text")
    }
    found = Version.objects.filter(taskset__team_id=taskset.team_id).values_list("taskset_id", "taskset__name", "chunk_ids")
    for taskset_id, name, chunk_ids in found.iterator():
        yield from ((taskset_id, name, slug) for chunk_id in chunk_ids for slug in slugs.get(chunk_id, ()))
