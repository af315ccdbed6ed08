"""The commit of a checked import: its rows once more as a stream, contents stored batch by batch, then the one door of versions.

Killed in the middle it is simply begun again: contents are stored by their hash, and the version is made in one transaction. A commit
that was done answers what it did.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from accounts.callers import Caller
from environments import folders as environment_folders
from environments.folders import Registered
from proctor.content import TaskText
from proctor.formats import FileRefused
from proctor.formats.base import Cell, text_of
from proctor.formats.folders import PATH, Bundle, open_bundle, write_tar
from proctor.wire.imports import ImportMode
from tasksets import bulk, commits, tags, versions
from tasksets.commits import Destination, Uploaded
from tasksets.imports import sessions
from tasksets.imports.check import Checker, target_of
from tasksets.imports.claims import Claim, Lost, claim
from tasksets.imports.models import Import, ImportEdit, SavedMapping
from tasksets.imports.reading import mapping_of, read_options, reading
from tasksets.models import Taskset, Version
from web.errors import AppError, conflict

logger = logging.getLogger(__name__)
COUNTS = ("created", "updated", "removed", "unchanged")
BATCH_BYTES = 8 * 1024**2


@dataclass
class Gathered:
    """What the commit read: entries in the file's order; for task folders also their paths and environments, by slug."""

    lines: list[bytes] = field(default_factory=list)
    environments: dict[str, Registered] = field(default_factory=dict)


def commit_import(caller: Caller, found: Import, *, mode: ImportMode, message: str, tag: str | None, leave_out_bad: bool) -> Uploaded:
    """Raises AppError 403, 404, 409, 413, 422, 503."""
    caller.require("write")
    if found.status == "done":
        return result_of(found)
    _check_may(found, leave_out_bad)
    held = claim(found, f"commit-{uuid.uuid4().hex}", "committing", ("checked", "committing"))
    if held is None:
        raise conflict("This import is being committed, checked or cancelled just now; look at its status", import_status=found.status)
    try:
        done = perform(held, caller, found, mode, message)
    except Lost:
        raise conflict("This import was cancelled") from None
    except BaseException as error:
        held.held().update(
            status="checked", claimed_by=None, claimed_until=None, error=None if isinstance(error, AppError) else "The commit failed"
        )
        raise
    if tag is not None and done.version is not None:
        tags.set_tag(caller, done.taskset, tag, done.version)
    return done


def _check_may(found: Import, leave_out_bad: bool) -> None:
    if found.status == "committing" and found.claimed_until and found.claimed_until > timezone.now():
        raise conflict("This import is being committed just now", import_status=found.status)
    if found.status not in ("checked", "committing"):
        raise conflict(f"Only a checked import can be committed; this one is {found.status}", import_status=found.status)
    if found.errors_total and not leave_out_bad:
        raise conflict(
            f"{found.errors_total:,} errors in the file: mend the rows, or commit with leave_out_bad", errors_total=found.errors_total
        )
    if not found.rows_good:
        raise conflict("No row of the file is good, so there is nothing to commit")


def perform(
    held: Claim, caller: Caller, found: Import, mode: ImportMode, message: str, report: Callable[[Gathered], dict[str, Any]] | None = None
) -> Uploaded:
    """Under a claim, to its end; the report stands before the import is done. Raises Lost, AppError."""
    try:
        gathered = _gather(held, caller, found, mode)
    except FileRefused as error:
        raise conflict(str(error)) from None
    if len(gathered.lines) != found.rows_good:
        raise conflict("The rows are not what was checked; check the import again")
    held.keep(progress=1)
    before = target_of(found)
    done = commits.commit_entries(
        caller, _destination(found), lambda head: _plan(head, gathered.lines, mode), message=message, verb="taskset.import"
    )
    result = {"mode": mode, "left_out": (found.rows_total or 0) - (found.rows_good or 0), **_versions(before, done)}
    _finish(held, found, done, result, report(gathered) if report else None)
    return done


def _versions(before: Taskset | None, done: Uploaded) -> dict[str, int | None]:
    """The head afterwards; and its parent, when this commit made it."""
    number = done.version.number if done.version else None
    is_new = number is not None and (before is None or before.head is None or number > before.head.number)
    parent = done.version.parent if done.version and is_new else None
    return {"version_number": number, "previous_number": parent.number if parent else None}


def _destination(found: Import) -> Destination:
    there = target_of(found)
    return Destination(taskset_id=there.id) if there is not None else Destination(name=found.name)


def _plan(head: list[bytes], lines: list[bytes], mode: ImportMode) -> versions.Plan:
    """`create` meets tasks only when somebody was first, or when its own commit was killed behind the version: then all is there."""
    plan = versions.plan(head, lines, "replace" if mode == "create" else mode)
    if mode == "create" and head and plan.is_change:
        raise conflict(f"The taskset holds {len(head):,} tasks already; add to it or replace it")
    return plan


def _gather(held: Claim, caller: Caller, found: Import, mode: ImportMode) -> Gathered:
    mapping = mapping_of(found)
    checker = Checker(found, mapping)
    gathered = Gathered()
    with reading(found, mapping.options) as (file, _kind, rows), _bundle(found) as bundle:
        made = ((row, one.task) for row in rows if (one := checker.make(row)).task is not None)
        for part in _by_size((task, row.cells.get(PATH)) for row, task in made if task is not None):
            held.keep(progress=min(1.0, file.tell() / max(1, found.size_bytes)))
            if mode != "remove":
                commits.write_contents(caller.team_id, [task for task, _path in part])
            gathered.lines += [versions.entry(task.content_id, task.slug) for task, _path in part]
            if bundle is not None and mode != "remove":
                for task, path in part:
                    held.keep()
                    if path is not None:
                        gathered.environments[task.slug] = _register(caller, bundle, task, text_of(path))
    return gathered


def _by_size(items: Iterator[tuple[TaskText, Cell | None]]) -> Iterator[list[tuple[TaskText, Cell | None]]]:
    """Batches that are bounded by rows and by bytes, since a row may have 32 MB."""
    part: list[tuple[TaskText, Cell | None]] = []
    size = 0
    for item in items:
        part.append(item)
        size += len(item[0].text)
        if len(part) >= bulk.BATCH or size > BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


@contextlib.contextmanager
def _bundle(found: Import) -> Iterator[Bundle | None]:
    """The archive once more, for the folders' files; None for other formats."""
    if found.format != "zip" or found.upload is None:
        yield None
        return
    with sessions.open_upload(found.upload) as file:
        bundle = open_bundle(file, read_options(None).limits)
        with bundle.archive:
            yield bundle


def _register(caller: Caller, bundle: Bundle, task: TaskText, path: str) -> Registered:
    with tempfile.TemporaryFile(prefix="proctor-folder-") as tar:
        write_tar(bundle, bundle.by_path[path], tar)
        return environment_folders.register_folder(caller, name=task.env, tar=tar)


def _finish(held: Claim, found: Import, done: Uploaded, result: dict[str, Any], report: dict[str, Any] | None) -> None:
    """The import stays, as a line of history, with the problems of the rows it left out; its file and edits go."""
    result = {**result, **{name: getattr(done, name) for name in COUNTS}}
    held.finish(status="done", taskset_id=done.taskset.id, result=result, report=report, progress=1, ended_at=timezone.now(), error=None)
    SavedMapping.objects.update_or_create(taskset_id=done.taskset.id, defaults={"mapping": mapping_of(found).model_dump()})
    ImportEdit.objects.filter(of=found).delete()
    if found.upload is not None and not Import.objects.filter(upload=found.upload).exclude(status="done").exists():
        sessions.drop_upload(found.upload)
    logger.info("import committed import_id=%s taskset=%s", found.id, done.taskset.name)


def result_of(found: Import) -> Uploaded:
    """What a commit that is done did."""
    result = found.result or {}
    taskset = Taskset.objects.select_related("head__parent").get(imports=found)
    made = Version.objects.select_related("parent", "taskset").filter(taskset=taskset, number=result.get("version_number") or 0).first()
    return Uploaded(taskset, made, *(result.get(name, 0) for name in COUNTS))
