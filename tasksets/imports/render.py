"""Uploads and imports as wire objects."""

from __future__ import annotations

from typing import Any, cast

from django.utils import timezone

from accounts.names import normalise
from proctor.content import shown
from proctor.formats import FileRefused
from proctor.formats.base import WHOLE, Row, RowProblem, text_of
from proctor.formats.guess import columns_of
from proctor.formats.mapping import Made
from proctor.wire.imports import (
    ErrorGroup,
    FileFormat,
    FolderOutcome,
    ImportOut,
    ImportResult,
    ImportStatus,
    Layout,
    Mapping,
    PlanCounts,
    PreviewOut,
    PreviewRow,
    RowError,
    RowOut,
    UploadSession,
)
from tasksets.imports.actions import guess_of
from tasksets.imports.check import Checker
from tasksets.imports.harbor import NOT_RUN
from tasksets.imports.listing import problems
from tasksets.imports.models import Import, ImportProblem, Upload
from tasksets.imports.reading import head_of, mapping_of
from tasksets.imports.sessions import LIFE, PART_BYTES
from tasksets.versions import slug_json

PREVIEW_ROWS, PREVIEW_TASK = 20, 20_000
CELL_LENGTH = 100_000


def render_upload_session(upload: Upload) -> UploadSession:
    return UploadSession(
        id=str(upload.id), filename=upload.filename, size_bytes=upload.size_bytes, part_bytes=PART_BYTES,
        received_bytes=upload.received_bytes, expires_at=upload.expires_at,
    )  # fmt: skip


def render_import(found: Import, *, with_preview: bool = True) -> ImportOut:
    plans = {mode: PlanCounts.model_validate(plan) for mode, plan in found.plans.items()}
    return ImportOut(
        id=str(found.id), taskset=str(found.taskset_id) if found.taskset_id else None,
        name=found.taskset.name if found.taskset else normalise(found.name), filename=found.filename, size_bytes=found.size_bytes,
        format=cast(FileFormat, found.format), layout=cast(Layout, found.layout), status=_status(found), columns=found.columns,
        guess=Mapping.model_validate(found.guess), remembered=found.remembered, mapping=Mapping.model_validate(found.mapping) if found.mapping is not None else None,
        preview=render_preview(found, mapping_of(found)) if with_preview else [], rows_total=found.rows_total, rows_good=found.rows_good,
        errors_total=found.errors_total, check=found.checked_attempt, plan=plans.get("merge"), plans=plans, progress=found.progress, error=found.error,
        version_number=(found.result or {}).get("version_number"), result=ImportResult.model_validate(found.result) if found.result else None,
        folders_total=_folders_total(found), note=NOT_RUN if found.format == "zip" else None, created_by=found.created_by, created_at=found.created_at, ended_at=found.ended_at,
        expires_at=found.upload.expires_at if found.upload else found.created_at + LIFE,
    )  # fmt: skip


def _folders_total(found: Import) -> int | None:
    """Null until there is a report."""
    return None if found.report is None else len(found.report.get("tasks", [])) + len(found.report.get("jobs", []))


def _status(found: Import) -> ImportStatus:
    """A commit whose process is gone may be asked for again; a pull must begin anew."""
    after = {"committing": "checked", "pulling": "failed"}.get(found.status, found.status)
    lapsed = found.claimed_until is None or found.claimed_until < timezone.now()
    return cast(ImportStatus, after if lapsed else found.status)


def render_preview(found: Import, mapping: Mapping) -> list[PreviewRow]:
    """The first rows, mapped; none once the file is gone or when it can't be read."""
    if found.upload is None:
        return []
    try:
        _kind, rows = head_of(found, mapping.options, PREVIEW_ROWS)
    except FileRefused:
        return []
    return _previews(found, mapping, rows)


def render_trial(found: Import, mapping: Mapping) -> PreviewOut:
    """The file read with the mapping's options: its columns, what it suggests, and the first rows as the mapping makes them."""
    try:
        _kind, rows = head_of(found, mapping.options)
    except FileRefused as error:
        return PreviewOut(preview=[], error=str(error))
    guess = guess_of(found, rows).model_copy(update={"options": mapping.options})
    return PreviewOut(preview=_previews(found, mapping, rows[:PREVIEW_ROWS]), columns=columns_of(rows), guess=guess)


def _previews(found: Import, mapping: Mapping, rows: list[Row]) -> list[PreviewRow]:
    checker = Checker(found, mapping)
    return [_preview(row, checker.make(row)) for row in rows]


def render_row(found: Import, row: Row) -> RowOut:
    """Cells over 100,000 characters are cut. A row that is broken JSON is its own whole text. Its errors are those that the check found,
    since a slug that stands twice does not show in a row alone; while the check runs, its own."""
    made = Checker(found, mapping_of(found)).make(row)
    known = [render_problem(one) for one in problems(found).filter(line=row.line)] if found.status == "checked" else None
    texts = {name: text_of(cell) for name, cell in row.cells.items()}
    if row.whole is not None and not texts:
        texts[WHOLE] = row.whole.decode("utf-8", "replace")
    return RowOut(
        line=row.line, cells={name: _printable(text[:CELL_LENGTH]) for name, text in texts.items()},
        cut=[name for name, text in texts.items() if len(text) > CELL_LENGTH],
        task=_task_text(made), errors=known if known is not None else [_error(row.line, one) for one in made.problems],
    )  # fmt: skip


def _printable(text: str) -> str:
    """Bytes that are not in the file's encoding have no form in JSON."""
    return text.encode("utf-8", "replace").decode()


def render_folder(task: dict[str, Any]) -> FolderOutcome:
    return FolderOutcome.model_validate({**task, "path": task.get("path") or ""})


def _preview(row: Row, made: Made) -> PreviewRow:
    return PreviewRow(
        line=row.line, cells={name: shown(text_of(cell)) for name, cell in row.cells.items()},
        task=_task_text(made), errors=[_error(row.line, one) for one in made.problems],
    )  # fmt: skip


def _task_text(made: Made) -> str | None:
    """The stored text, with the slug in front. A huge one is left out of the preview."""
    if made.task is None or len(made.task.text) > PREVIEW_TASK:
        return None

    return '{"slug":' + slug_json(made.task.slug).decode() + "," + made.task.text[1:]


def _error(line: int, found: RowProblem) -> RowError:
    return RowError(line=line, column=found.column, value=found.value, rule=found.rule)


def render_group(found: dict[str, Any]) -> ErrorGroup:
    return ErrorGroup(column=found["column"], rule=found["family"], count=found["count"], first_line=found["first_line"])


def render_problem(found: ImportProblem) -> RowError:
    return RowError(line=found.line, column=found.column, value=found.value, rule=found.rule)
