"""Every write of imports that a person asks for: begin, map, edit a row, cancel. The commit has a module of its own.

A change of mapping or rows starts the check again: at once for a small file, else in a worker.
"""

from __future__ import annotations

import logging
import uuid

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.callers import Caller
from accounts.names import handle_for
from proctor.formats import KINDS, LAYOUTS, FileRefused, guess, kind_by_name
from proctor.formats.base import Row
from proctor.formats.mapping import missing_columns
from proctor.wire.imports import FileOptions, Mapping
from tasksets import queries
from tasksets.imports import claims, sessions
from tasksets.imports.check import run_check
from tasksets.imports.models import Import, ImportEdit, SavedMapping, Upload
from tasksets.imports.reading import head_of, mapping_of, reading
from tasksets.models import Taskset
from web.errors import conflict, invalid, not_found, problem

logger = logging.getLogger(__name__)
SMALL_BYTES = 1024**2
EDITABLE = ("ready", "checked", "failed", "checking")


def begin_import(caller: Caller, *, upload: Upload, taskset: Taskset | None = None, name: str = "", wanted: str | None = None) -> Import:
    """Looks at the file and guesses a mapping. A file that can't be read makes a failed import, which says why. Raises AppError 409, 422."""
    caller.require("write")
    if (taskset is None) == (not name):
        raise invalid([problem("taskset", "give either the taskset to import into, or the name of a new one")])
    if wanted is not None and wanted not in (*KINDS, *LAYOUTS):
        raise invalid([problem("format", f"must be one of {', '.join((*KINDS, *LAYOUTS))}", wanted)])
    if name:
        handle_for(name)
        taskset = queries.find_by_handle(caller.team_id, handle_for(name))
    if taskset is not None and taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    sessions.open_upload(upload).close()
    found = Import(
        team_id=caller.team_id, taskset=taskset, upload=upload, name=name or (taskset.title if taskset else ""), filename=upload.filename,
        size_bytes=upload.size_bytes, wanted=wanted, format=wanted if wanted in KINDS else "csv", created_by=caller.label, user_id=caller.user_id,
    )  # fmt: skip
    found.save()
    look(found, None)
    found.save()
    return found


def look(found: Import, options: FileOptions | None) -> None:
    """Sets format, layout, columns and guess, or the error. Does not save."""
    try:
        kind, rows = head_of(found, options)
    except FileRefused as error:
        found.status, found.error = "failed", str(error)
        found.format = found.wanted if found.wanted in KINDS else kind_by_name(found.filename) or found.format
        found.guess = Mapping(options=options or FileOptions()).model_dump()
        return
    found.status, found.error = "ready", None
    found.format = kind.kind
    found.layout = found.wanted if found.wanted in LAYOUTS else guess.layout_of(rows)
    found.columns = guess.columns_of(rows)
    saved = _saved(found.taskset, found.columns) if found.layout != "tasks" else None
    found.remembered = saved is not None
    guessed = saved or guess_of(found, rows)
    found.guess = guessed.model_copy(update={"options": options or guessed.options}).model_dump()


def guess_of(found: Import, rows: list[Row]) -> Mapping:
    """What the file alone suggests."""
    prefix = found.taskset.name if found.taskset else handle_for(found.name)
    return guess.guess_mapping(rows, found.layout, prefix=prefix[:240], env=_only_env(found.taskset))


def _saved(taskset: Taskset | None, columns: list[str]) -> Mapping | None:
    """The last one used here, when this file has its columns. Rows of tasks need none."""
    row = SavedMapping.objects.filter(taskset=taskset).first() if taskset else None
    mapping = Mapping.model_validate(row.mapping) if row else None
    return mapping if mapping is not None and not mapping.whole_rows and not missing_columns(mapping, columns) else None


def _only_env(taskset: Taskset | None) -> str:
    envs = list(taskset.head.environments) if taskset and taskset.head else []
    return envs[0] if len(envs) == 1 else ""


def map_import(caller: Caller, found: Import, mapping: Mapping) -> Import:
    """Raises AppError 409, 422 when the file has not the columns."""
    caller.require("write")
    _check_open(found)
    if mapping.options != mapping_of(found).options or found.status == "failed":
        look(found, mapping.options)
        if found.status == "failed":
            raise invalid([problem("", found.error or "The file can't be read")])
    missing = missing_columns(mapping, found.columns)
    if missing:
        shown = ", ".join(found.columns[:20])
        raise invalid([problem(place, f"the file has no such column; it has {shown}", column) for place, column in missing])
    for name in ("env", "task_id"):
        source = getattr(mapping, name)
        if not mapping.whole_rows and source.column is None and not source.constant:
            raise invalid([problem(name, "give a column, or a text for all rows")])
    facts = {"format": found.format, "layout": found.layout, "columns": found.columns, "guess": found.guess, "remembered": found.remembered}
    return _check_again(found, mapping=mapping.model_dump(), **facts)


def _check_open(found: Import) -> None:
    if found.status not in EDITABLE:
        raise conflict(f"This import is {found.status}; it can't be changed any more", import_status=found.status)


def _check_again(found: Import, **changes: object) -> Import:
    """Whoever checks now loses the claim."""
    fresh: dict[str, object] = {
        "rows_total": None,
        "rows_good": None,
        "errors_total": None,
        "plans": {},
        "error": None,
        "progress": 0,
        "status": "checking",
    }
    there = Import.objects.filter(id=found.id, status__in=EDITABLE)
    if not there.update(claimed_by=None, claimed_until=None, attempts=F("attempts") + 1, **fresh, **changes):
        raise conflict("This import can't be changed any more")
    found.refresh_from_db()
    if found.size_bytes <= SMALL_BYTES and found.format not in ("zip", "parquet"):
        held = claims.claim(found, f"request-{uuid.uuid4().hex}", "checking", ("checking",))
        if held is not None:
            run_check(held)
            found.refresh_from_db()
    return found


def row_of(found: Import, line: int) -> Row:
    """The row with its edits. Raises AppError 404 for a line that holds none, 409 when the file can't be read."""
    try:
        with reading(found, mapping_of(found).options) as (_file, _kind, rows):
            row = next((row for row in rows if row.line >= line), None)
    except FileRefused as error:
        raise conflict(str(error)) from None
    if row is None or row.line != line:
        raise not_found("Row")
    return row


def edit_row(caller: Caller, found: Import, line: int, values: dict[str, str]) -> Import:
    """New texts for some cells of one row. Raises AppError 404 for a line that holds no row, 409, 422 for an unknown column."""
    caller.require("write")
    _check_open(found)
    unknown = [column for column in values if column and column not in found.columns]
    if unknown:
        raise invalid([problem(f"values.{column}", "the file has no such column", column) for column in unknown])
    if found.rows_total is not None and line > 0 and found.format == "zip":
        raise conflict("A task folder can't be edited here; mend it and upload the zip again")
    with transaction.atomic():
        edit, _made = ImportEdit.objects.select_for_update().get_or_create(of=found, line=line, defaults={"values": {}})
        edit.values = {**edit.values, **values}
        edit.save()
    return _check_again(found)


def cancel_import(caller: Caller, found: Import) -> Import:
    """The file goes at once. One that has ended stays as it is. Raises AppError 409 in the middle of a commit."""
    caller.require("write")
    if found.status in ("done", "cancelled"):
        return found
    busy = found.status == "committing" and found.claimed_until and found.claimed_until > timezone.now()
    if busy:
        raise conflict("This import is being committed just now")
    upload = found.upload
    gone = {"status": "cancelled", "claimed_by": None, "claimed_until": None, "upload": None, "ended_at": timezone.now()}
    there = Import.objects.filter(id=found.id, attempts=found.attempts).exclude(status="done")
    if not there.update(attempts=F("attempts") + 1, **gone):
        raise conflict("This import went on just now; look at its status")
    found.refresh_from_db()
    found.problems.all().delete()
    found.edits.all().delete()
    if upload is not None and not Import.objects.filter(upload=upload).exists():
        sessions.drop_upload(upload)
    return found


def get_import(caller: Caller, import_id: uuid.UUID) -> Import:
    """Raises AppError 404."""
    found = Import.objects.select_related("upload", "taskset__head").filter(team_id=caller.team_id, id=import_id).first()
    if found is None:
        raise not_found("Import")
    return found
