"""Tags, differences, histories and drafts as wire objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from proctor.wire import versions as wire
from proctor.wire.drafts import DraftChange, DraftConflict, DraftOut
from tasksets import diffs
from tasksets.comparisons import Event, Texts
from tasksets.deleting import Purged, Redacted
from tasksets.diffs import Difference, RowChange
from tasksets.drafts import Shown, row_text
from tasksets.models import Version
from tasksets.queries import VersionTask
from tasksets.render import render_task, render_version
from tasksets.tags import Tagged

FIELDS_OF_ROW = 50
FIELDS_OF_TASK = 1_000


def render_tag(tagged: Tagged) -> wire.TagOut:
    tag, version = tagged.tag, tagged.version
    history = [wire.TagMoveOut(version_number=move.version_number, moved_at=move.moved_at, moved_by=move.moved_by) for move in tagged.moves]
    return wire.TagOut(
        name=tag.name, version_number=version.number, digest=version.digest, moved_at=tag.moved_at, moved_by=tag.moved_by, history=history
    )


def render_diff(
    before: Version | None,
    after: Version | None,
    difference: Difference,
    rows: Sequence[RowChange],
    texts: Sequence[Texts],
    end: str | None,
) -> wire.DiffPage:
    counts = wire.DiffCounts(
        added=difference.count("added"), removed=difference.count("removed"), moved=difference.count("moved"),
        changed=difference.count("changed"), unchanged=difference.unchanged,
    )  # fmt: skip
    return wire.DiffPage(
        from_version=render_version(before) if before else None, to_version=render_version(after) if after else None, counts=counts,
        items=[_row(row, pair) for row, pair in zip(rows, texts, strict=True)], next_cursor=end,
    )  # fmt: skip


def _row(row: RowChange, texts: Texts) -> wire.DiffRow:
    changed = row.kind == "changed" and texts.before is not None and texts.after is not None
    found = diffs.field_changes(texts.before or "", texts.after or "") if changed else []
    return wire.DiffRow(
        slug=row.slug, kind=row.kind, moved=row.moved, from_position=row.from_position, to_position=row.to_position,
        fields=_fields(found, FIELDS_OF_ROW), fields_total=len(found),
    )  # fmt: skip


def _fields(changes: Sequence[diffs.FieldChange], most: int) -> list[wire.FieldChange]:
    return [_field(change) for change in islice(changes, most)]


def _field(change: diffs.FieldChange) -> wire.FieldChange:
    before, cut_before = diffs.shown(change.before)
    after, cut_after = diffs.shown(change.after)
    cuts = [f"{side} {cut}" for side, cut in (("before:", cut_before), ("after:", cut_after)) if cut]
    note = "; ".join([*([change.note] if change.note else []), *cuts]) or None
    return wire.FieldChange(path=diffs.path_text(change.path), kind=change.kind, before=before, after=after, note=note)


def render_diff_task(
    slug: str, sides: tuple[Version | None, Version | None], tasks: tuple[VersionTask | None, VersionTask | None]
) -> wire.DiffTask:
    before, after = tasks
    fields = _fields(diffs.field_changes(before.text, after.text), FIELDS_OF_TASK) if before and after else []
    outs = [render_task(task, side) if task and side else None for task, side in zip(tasks, sides, strict=True)]
    return wire.DiffTask(
        slug=slug, kind="added" if not before else "removed" if not after else "changed" if fields else "unchanged",
        before=outs[0], after=outs[1], fields=fields,
    )  # fmt: skip


def render_event(event: Event) -> wire.TaskHistoryRow:
    version = event.version
    return wire.TaskHistoryRow(
        version_number=version.number, kind=event.kind, content_id=event.content_id, at=version.created_at, author=version.author,
        message=version.message,
    )  # fmt: skip


def render_draft(shown: Shown) -> DraftOut:
    edits = shown.edits
    changes = [DraftChange(slug=one.edit.slug, op=one.edit.op, text=row_text(one), position=one.edit.position) for one in shown.changes]
    conflicts = [DraftConflict(slug=one.slug, base=one.base, mine=one.mine, theirs=one.theirs) for one in shown.clashes]
    return DraftOut(
        base_number=shown.draft.base.number if shown.draft.base else None, head_number=shown.head.number if shown.head else None,
        changed=sum(edit.op == "set" and not edit.only_moves for edit in edits), added=sum(edit.op == "add" for edit in edits),
        removed=sum(edit.op == "remove" for edit in edits), moved=sum(edit.op == "set" and edit.position is not None for edit in edits),
        changes=changes, conflicts=conflicts, conflict_count=shown.clash_count, saved_at=shown.draft.saved_at,
    )  # fmt: skip


def render_purge(done: Purged) -> wire.PurgeOut:
    return wire.PurgeOut(
        name=done.taskset.name, versions=done.versions, contents=done.contents, chunks=done.chunks, exports=done.exports, breaks=done.breaks
    )


def render_redaction(done: Redacted) -> wire.RedactOut:
    places = [wire.TaskPlace(taskset=taskset, slug=slug) for taskset, slug in done.also_in]
    return wire.RedactOut(slug=done.slug, contents=done.contents, versions=done.versions, also_in=places)
