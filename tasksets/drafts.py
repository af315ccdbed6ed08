"""Drafts: one person's edits of a taskset, gathered over many requests and committed as one version.

A draft starts from the head there was when its first edit came (its base). At the commit, tasks that the head has otherwise than
the base and otherwise than the draft are conflicts, which the person decides. The rules are in `tasksets.drafting`, pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.callers import Caller
from proctor import content
from proctor.content import BadContent, TaskText
from proctor.wire.drafts import DraftBulk, DraftEdit
from tasksets import bulk, drafting, queries, versions
from tasksets.commits import TRIES, Destination, Uploaded, commit_entries
from tasksets.drafting import Conflict, Edit
from tasksets.models import Draft, DraftChange, Taskset, Version
from tasksets.tables import questions
from tasksets.tables.reading import Table
from tasksets.versions import Plan
from web.errors import AppError, conflict, forbidden, invalid, not_found, problem

COLUMNS = ("draft_id", "slug", "op", "text", "content_id", "position")
SHOWN_CHANGES = 1_000
SHOWN_CONFLICTS = 100
EVERY_TASK = 10**9


@dataclass(frozen=True)
class Change:
    """One slug's edit with the content to be, None when there is none."""

    edit: Edit
    task: TaskText | None


@dataclass(frozen=True)
class Clash:
    """A conflict with the contents' texts."""

    slug: str
    base: str | None
    mine: str | None
    theirs: str | None


@dataclass(frozen=True)
class Shown:
    """A draft: all its edits and some of the changes with their contents, both oldest first, and where it clashes with the head."""

    draft: Draft
    head: Version | None
    edits: Sequence[Edit]
    changes: Sequence[Change]
    clashes: Sequence[Clash]
    clash_count: int


def get_draft(caller: Caller, taskset: Taskset, *, slug: str | None = None, limit: int = SHOWN_CHANGES) -> Shown:
    """The caller's own, with the first `limit` changes, or that of `slug` alone. Raises AppError 404 when there is none."""
    draft = _find(caller, taskset)
    if draft is None:
        raise not_found("Draft")
    edits = [_edit_of(*row) for row in draft.changes.order_by("id").values_list("slug", "op", "content_id", "position")]
    all_found = _conflicts(draft, taskset, edits)
    found = all_found[:SHOWN_CONFLICTS]
    clashing = _read(draft.changes.filter(slug__in=[one.slug for one in found])) if found else {}
    shown = draft.changes.filter(slug=slug) if slug is not None else draft.changes
    changes = _read(shown.order_by("id")[:limit])
    return Shown(draft, taskset.head, edits, list(changes.values()), _clashes(taskset, clashing, found), len(all_found))


def _conflicts(draft: Draft, taskset: Taskset, edits: Sequence[Edit]) -> list[Conflict]:
    if draft.base_id == taskset.head_id:
        return []
    return drafting.conflicts(_lines(draft.base, taskset), _lines(taskset.head, taskset), edits)


def edit_draft(caller: Caller, taskset: Taskset, edits: Sequence[DraftEdit]) -> Shown:
    """Merges the edits in, the draft made when there is none. All or none. Raises AppError 403, 409, 422 with each problem."""
    return _change(caller, taskset, lambda _base, _changes: edits)


def edit_many(caller: Caller, taskset: Taskset, given: DraftBulk) -> Shown:
    """Raises AppError 403, 409, 422."""
    if sum([given.set_columns is not None, given.remove, given.duplicate]) != 1:
        raise invalid([problem("", "must have exactly one of set_columns, remove and duplicate")])
    return _change(caller, taskset, lambda base, changes: list(_bulk_edits(base, changes, given)))


def drop_draft(caller: Caller, taskset: Taskset) -> None:
    """Raises AppError 404 when there is none."""
    draft = _find(caller, taskset)
    if draft is None:
        raise not_found("Draft")
    draft.delete()


def commit_draft(caller: Caller, taskset: Taskset, *, message: str, resolve: Mapping[str, str], others: str | None = None) -> Uploaded:
    """One version of all edits; the draft goes. `others` decides the conflicts that `resolve` does not name. Raises AppError 403, 404, 409 (`draft_conflict` with the conflicts); 503."""
    caller.require("write")
    draft = _find(caller, taskset)
    if draft is None:
        raise not_found("Draft")
    changes, base = _read(draft.changes.order_by("id")), _lines(draft.base, taskset)
    contents = {change.edit.line: change.task for change in changes.values() if change.edit.line and change.task}

    def plan(head: list[bytes]) -> Plan:
        edits = [change.edit for change in changes.values()]
        clashing = drafting.conflicts(base, head, edits)
        decided = {one.slug: resolve.get(one.slug, others) for one in clashing}
        open_ones = [one for one in clashing if decided[one.slug] is None]
        if open_ones:
            raise _draft_conflict(_clashes(taskset, changes, open_ones[:SHOWN_CONFLICTS]), len(open_ones))
        mine = [edit for edit in edits if decided.get(edit.slug) != "theirs"]
        return versions.plan(head, drafting.apply(head, mine), "replace")

    done = commit_entries(caller, Destination(taskset.id), plan, tasks=contents, message=message, verb="taskset.commit_draft")
    Draft.objects.filter(id=draft.id, revision=draft.revision).delete()
    return done


def _draft_conflict(clashes: Sequence[Clash], count: int) -> AppError:
    names = ", ".join(f"'{content.shown(clash.slug)}'" for clash in clashes[:3])
    shown = [{"slug": clash.slug, "base": clash.base, "mine": clash.mine, "theirs": clash.theirs} for clash in clashes]
    message = f"A newer version changed {count} of the draft's tasks too ({names}); choose mine or theirs for each"
    return AppError("draft_conflict", 409, message, conflicts=shown, conflict_count=count)


def _find(caller: Caller, taskset: Taskset) -> Draft | None:
    return Draft.objects.select_related("base").filter(taskset=taskset, owner_id=caller.user_id).first() if caller.user_id else None


def _lines(version: Version | None, taskset: Taskset) -> list[bytes]:
    if version:
        version.taskset = taskset
    return queries.version_lines(version)


def _read(rows: QuerySet[DraftChange]) -> dict[str, Change]:
    return {slug: _change_of(slug, op, text, content_id, position) for slug, op, text, content_id, position in rows.values_list(*COLUMNS[1:])}


def _change_of(slug: str, op: str, text: str | None, content_id: str | None, position: int | None) -> Change:
    edit = _edit_of(slug, op, content_id, position)
    if text is None or content_id is None:
        return Change(edit, None)
    stored = content.read_stored(text)
    return Change(edit, TaskText(text, content_id, stored.env, stored.id, slug))


def _edit_of(slug: str, op: str, content_id: str | None, position: int | None) -> Edit:
    return Edit(slug, op, versions.entry(content_id, slug) if content_id else None, position)  # type: ignore[arg-type]


def _clashes(taskset: Taskset, changes: Mapping[str, Change], found: Sequence[Conflict]) -> list[Clash]:
    """With the rows' texts, each as an upload would have it."""
    ids = {line: versions.content_id_of(line) for one in found for line in (one.base, one.theirs) if line}
    keys = {line: queries.content_key(taskset.team_id, content_id) for line, content_id in ids.items()}
    texts = queries.content_texts(keys.values())

    def text(line: bytes | None, slug: str) -> str | None:
        return content.export_row(texts[keys[line]], slug).decode() if line else None

    return [Clash(one.slug, text(one.base, one.slug), row_text(changes[one.slug]), text(one.theirs, one.slug)) for one in found]


def row_text(change: Change) -> str | None:
    return content.export_row(change.task.text, change.edit.slug).decode() if change.task else None


def _change(caller: Caller, taskset: Taskset, make: Callable[[Version | None, Mapping[str, Change]], Sequence[DraftEdit]]) -> Shown:
    """Worked out outside the transaction; again when another request of this person was first."""
    caller.require("write")
    if caller.user_id is None:
        raise forbidden("Only a person has a draft")
    if taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    for _try in range(TRIES):
        start = {"base": taskset.head, "saved_at": timezone.now()}
        draft, _made = Draft.objects.select_related("base").get_or_create(taskset=taskset, owner_id=caller.user_id, defaults=start)
        before = _read(draft.changes.order_by("id"))
        base = draft.base if before else taskset.head
        if base:
            base.taskset = taskset
        after = _Merge(base, before, make(base, before)).run()
        if _save(draft, base, before, after):
            return get_draft(caller, taskset)
    raise AppError("busy", 503, "Too many edits of this draft at once; try again", headers={"Retry-After": "2"})


def _save(draft: Draft, base: Version | None, before: Mapping[str, Change], after: Mapping[str, Change]) -> bool:
    """False when the draft was written since it was read."""
    gone = [slug for slug in before if slug not in after]
    rows = [_row(draft, change) for slug, change in after.items() if before.get(slug) != change]
    with transaction.atomic():
        unmoved = Draft.objects.filter(id=draft.id, revision=draft.revision)
        if not unmoved.update(revision=F("revision") + 1, base=base, saved_at=timezone.now()):
            return False
        for part in bulk.batches(gone):
            DraftChange.objects.filter(draft=draft, slug__in=part).delete()
        for some in bulk.batches(rows):
            bulk.insert(DraftChange, COLUMNS, some, on=COLUMNS[:2], update=COLUMNS[2:])
    return True


def _row(draft: Draft, change: Change) -> tuple[object, ...]:
    text, content_id = (change.task.text, change.task.content_id) if change.task else (None, None)
    return (draft.id, change.edit.slug, change.edit.op, text, content_id, change.edit.position)


class _Merge:
    """Edits worked into the changes of a draft, one after the other. Raises AppError 422 with the problems of all."""

    def __init__(self, base: Version | None, changes: Mapping[str, Change], edits: Sequence[DraftEdit]) -> None:
        self.changes, self.edits = dict(changes), edits
        self.base = queries.find_tasks_by_slug(base, (slug for edit in edits for slug in (edit.slug, edit.new_slug) if slug))

    def run(self) -> dict[str, Change]:
        problems = []
        for index, edit in enumerate(self.edits):
            try:
                self._work_in(edit, f"changes[{index}]")
            except BadContent as error:
                problems += error.problems
        if problems:
            raise invalid(problems)
        return self.changes

    def _work_in(self, edit: DraftEdit, path: str) -> None:
        if edit.op == "reset":
            self.changes.pop(edit.slug, None)
        elif edit.op == "remove":
            self._text_of(edit.slug, path)
            self._take_out(edit.slug)
        elif edit.op == "add":
            if self._now(edit.slug) is not None:
                raise _bad(f"{path}.slug", "there is a task with this slug", edit.slug)
            if edit.text is None:
                raise _bad(f"{path}.text", "is missing")
            self._put(edit.slug, _task(edit, edit.slug, None, path), edit.position)
        else:
            self._set(edit, path)

    def _set(self, edit: DraftEdit, path: str) -> None:
        now = self._now(edit.slug) if edit.text is not None else self._text_of(edit.slug, path)
        if now is None and edit.slug not in self.base:
            raise _bad(f"{path}.slug", "no task has this slug", edit.slug)
        slug, position = edit.new_slug or edit.slug, edit.position
        known = self.changes.get(edit.slug)
        position = position if position is not None else known.edit.position if known else None
        if slug != edit.slug:
            if self._now(slug) is not None:
                raise _bad(f"{path}.new_slug", "there is a task with this slug", slug)
            position = position if position is not None or edit.slug not in self.base else self.base[edit.slug].position
        task = _task(edit, slug, now, path)
        if slug != edit.slug:
            self._take_out(edit.slug)
        self._put(slug, task, position)

    def _now(self, slug: str) -> str | None:
        """The content's text as the draft has it; None when there is no such task."""
        change, old = self.changes.get(slug), self.base.get(slug)
        if change and change.edit.op == "remove":
            return None
        return change.task.text if change and change.task else old.text if old else None

    def _text_of(self, slug: str, path: str) -> str:
        now = self._now(slug)
        if now is None:
            raise _bad(f"{path}.slug", "no task has this slug", slug)
        return now

    def _take_out(self, slug: str) -> None:
        self.changes.pop(slug, None)
        if slug in self.base:
            self.changes[slug] = Change(Edit(slug, "remove", None), None)

    def _put(self, slug: str, task: TaskText, position: int | None) -> None:
        """What is as it was is no change."""
        old = self.base.get(slug)
        if old is None:
            self.changes[slug] = Change(Edit(slug, "add", versions.entry(task.content_id, slug), position), task)
            return
        place = None if position == old.position else position
        if task.content_id != old.content_id:
            self.changes[slug] = Change(Edit(slug, "set", versions.entry(task.content_id, slug), place), task)
        elif place is not None:
            self.changes[slug] = Change(Edit(slug, "set", None, place), None)
        else:
            self.changes.pop(slug, None)


def _bad(path: str, rule: str, value: str | None = None) -> BadContent:
    return BadContent([problem(path, rule, value)])


def _task(edit: DraftEdit, slug: str, now: str | None, path: str) -> TaskText:
    """The row that the edit makes, checked as an upload is. Raises BadContent."""
    row = _object(edit.text, f"{path}.text") if edit.text is not None else content.read_exact((now or "").encode())
    for key in ("name", "slug"):
        if row.get(key) not in (None, edit.slug, slug):
            raise _bad(f"{path}.text.{key}", "must be the slug of the change", str(row[key]))
        row.pop(key, None)
    if edit.columns is not None:
        merged = {**(row.get("columns") or {}), **_object(edit.columns, f"{path}.columns", content.MAX_DEPTH - 1)}
        row["columns"] = {key: value for key, value in merged.items() if value is not None} or None
    return content.check_row({"slug": slug, **row}, f"{path}.text")


def _object(text: str, path: str, max_depth: int = content.MAX_DEPTH) -> dict[str, Any]:
    value = content.read_exact(text.encode("utf-8", "surrogatepass"), path, max_depth)
    if not isinstance(value, dict):
        raise _bad(path, "must be an object")
    return value


def _bulk_edits(base: Version | None, changes: Mapping[str, Change], given: DraftBulk) -> Iterator[DraftEdit]:
    if given.slugs is not None:
        slugs: Iterable[str] = dict.fromkeys(given.slugs)
    else:
        slugs = [slug for slug in _matching(base, given) if not _is_removed(changes.get(slug))]
    if given.duplicate:
        yield from _copies(base, changes, list(slugs))
        return
    for slug in slugs:
        yield DraftEdit(op="remove", slug=slug) if given.remove else DraftEdit(op="set", slug=slug, columns=given.set_columns)


def _is_removed(change: Change | None) -> bool:
    return change is not None and change.edit.op == "remove"


def _matching(base: Version | None, given: DraftBulk) -> Iterator[str]:
    """Raises AppError 422."""
    asked = questions.asked(given.q, "", given.filter)
    return Table(base).slugs(asked) if base else iter(())


def _copies(base: Version | None, changes: Mapping[str, Change], slugs: Sequence[str]) -> Iterator[DraftEdit]:
    """Each behind its original."""
    old = queries.find_tasks_by_slug(base, slugs)
    taken = {versions.slug_of(line) for line in queries.version_lines(base)} | set(changes)
    missing = [slug for slug in slugs if slug not in old and slug not in changes]
    if missing:
        raise invalid([problem("slugs", "no task has this slug", slug) for slug in missing])
    for count, slug in enumerate(sorted(slugs, key=lambda slug: old[slug].position if slug in old else EVERY_TASK), 1):
        change = changes.get(slug)
        text = change.task.text if change and change.task else old[slug].text
        name = next(name for name in _copy_names(slug) if name not in taken)
        taken.add(name)
        yield DraftEdit(op="add", slug=name, text=text, position=old[slug].position + count if slug in old else None)


def _copy_names(slug: str) -> Iterator[str]:
    yield f"{slug[:240]}-copy"
    number = 2
    while True:
        yield f"{slug[:240]}-copy-{number}"
        number += 1
