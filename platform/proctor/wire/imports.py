"""Getting data in: upload sessions, the mapping from a file's columns to tasks, and imports with their errors and plans."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from .base import RawJson, WireIn, WireOut

FileFormat = Literal["csv", "tsv", "json", "jsonl", "parquet", "zip"]
Layout = Literal["columns", "tasks", "openai_evals", "inspect"]
ImportMode = Literal["create", "merge", "replace", "remove"]
ImportStatus = Literal["new", "pulling", "ready", "checking", "checked", "committing", "done", "failed", "cancelled"]
ValueKind = Literal["text", "json"]


class UploadSessionIn(WireIn):
    filename: str = Field(min_length=1, max_length=255)
    size_bytes: int = Field(ge=0)


class UploadSession(WireOut):
    """A file on its way. Send `part_bytes` at a time to `PUT /api/uploads/{id}?offset=received_bytes`; after a break, go on from
    `received_bytes`."""

    id: str
    filename: str
    size_bytes: int
    part_bytes: int
    received_bytes: int
    expires_at: datetime


class PartReceived(WireOut):
    received_bytes: int


class Source(WireOut):
    """Where one text of each task comes from: a column of the file, or the same text for all (`{n}` is the row's number, from 1)."""

    model_config = ConfigDict(extra="forbid")

    column: str | None = None
    constant: str | None = None


class CellSource(WireOut):
    """A value from a column. `text`: the cell is a string. `json`: the cell is JSON, and its digits are kept."""

    model_config = ConfigDict(extra="forbid")

    column: str
    kind: ValueKind = "text"


class FileOptions(WireOut):
    """How a delimited file is to be read; null: found out from the file."""

    model_config = ConfigDict(extra="forbid")

    delimiter: str | None = Field(default=None, min_length=1, max_length=1)
    encoding: Literal["utf-8", "utf-16", "latin-1", "cp1252"] | None = None
    keep_empty: bool = Field(default=False, description="Empty text cells are empty strings; otherwise they are left out.")


class Mapping(WireOut):
    """How a row becomes a task. `whole_rows`: the rows are tasks already, in any of the upload's spellings; the rest counts for nothing."""

    model_config = ConfigDict(extra="forbid")

    whole_rows: bool = False
    env: Source = Source()
    task_id: Source = Source()
    slug: Source | None = Field(default=None, description="Null: made from the task id and the args, as the SDK does.")
    args: dict[str, CellSource] = Field(default={}, description="Argument → cell.")
    args_column: str | None = Field(default=None, description="A column that holds all args as one JSON object; `args` are added to it.")
    columns: dict[str, CellSource] = {}
    columns_column: str | None = None
    fields: dict[Literal["validation", "agent_config", "runtime_config", "verifier"], str] = Field(
        default={}, description="Field of a task → a column that holds its JSON."
    )
    options: FileOptions = FileOptions()


class RowError(WireOut):
    line: int = Field(description="Of the file, from 1; of a Parquet file, the row's number.")
    column: str | None
    value: str | None = Field(description="What was given, cut at 200 characters.")
    rule: str


class ErrorGroup(WireOut):
    """All errors of one column and one rule."""

    column: str | None
    rule: str = Field(description="With `#` in place of numbers; pass both as `column` and `rule` to list the errors of the group.")
    count: int
    first_line: int


class RowOut(WireOut):
    """One row of the file with its edits, to be mended."""

    line: int
    cells: dict[str, str] = Field(description="Whole texts; in JSON files, JSON. The column `\"\"` is the row's whole JSON, where it is broken.")
    cut: list[str] = Field(description="Columns whose text is too long to be shown; only its beginning is there.")
    task: RawJson | None
    errors: list[RowError]


class PreviewRow(WireOut):
    line: int
    cells: dict[str, str] = Field(description="Of the file, as text, each cut at 200 characters.")
    task: RawJson | None = Field(description="What the row becomes; null when it has errors.")
    errors: list[RowError]


class PlanCounts(WireOut):
    create: int
    update: int
    unchanged: int
    remove: int
    refused: str | None = Field(default=None, description="Why this mode can't be used now.")
    against: int | None = Field(default=None, description="The version that was the head when the plan was made; null: none.")


class ImportResult(WireOut):
    """What the commit did. `previous_number` → `version_number` is its diff; null when no version was made or it was the first."""

    version_number: int | None
    previous_number: int | None = None
    created: int
    updated: int
    removed: int
    unchanged: int
    mode: ImportMode | None = None
    left_out: int = Field(default=0, description="Bad rows that were left out by choice.")


class FolderOutcome(WireOut):
    """What became of one task folder."""

    name: str
    path: str
    status: str = Field(description="imported, updated, unchanged, failed or skipped (a job).")
    reason: str | None = None
    environment_id: str | None = None
    build_version: int | None = None


class ImportIn(WireIn):
    """`taskset`: a reference of one that is there; `name`: of one to be made. One of them."""

    upload_id: str
    taskset: str | None = None
    name: str | None = Field(default=None, min_length=1, max_length=255)
    format: str | None = Field(default=None, description="csv, tsv, json, jsonl, parquet, zip, openai_evals or inspect; null: found out.")


class ImportOut(WireOut):
    id: str
    taskset: str | None = Field(description="The taskset's id; null until it is made.")
    name: str | None = Field(description="Of the taskset.")
    filename: str
    size_bytes: int
    format: FileFormat
    layout: Layout
    status: ImportStatus
    columns: list[str]
    guess: Mapping
    remembered: bool = Field(default=False, description="The guess is the mapping last used for this taskset.")
    mapping: Mapping | None
    preview: list[PreviewRow]
    rows_total: int | None
    rows_good: int | None
    errors_total: int | None
    check: int | None = Field(default=None, description="Number of the check whose errors and plans these are; it grows with each.")
    plan: PlanCounts | None = Field(description="Of add or update, against the head when it was checked.")
    plans: dict[ImportMode, PlanCounts] = Field(default={}, description="What each mode would do.")
    progress: float = Field(description="0 to 1, of the check or the commit.")
    error: str | None
    version_number: int | None = Field(description="The head after the commit.")
    result: ImportResult | None = None
    folders_total: int | None = Field(default=None, description="How many folders `hud harbor import` reported on; null for other imports.")
    note: str | None = Field(default=None, description="What somebody who imports this kind should know.")
    created_by: str | None
    created_at: datetime
    ended_at: datetime | None = None
    expires_at: datetime


class PreviewOut(WireOut):
    """`columns` and `guess` are those of the file read with these options; `error`: it can't be read so."""

    preview: list[PreviewRow]
    columns: list[str] = []
    guess: Mapping | None = Field(default=None, description="From the file alone.")
    error: str | None = None


class RowChange(WireIn):
    """New texts of a row's cells; in JSON files, JSON. The column `""` stands for the row's whole JSON."""

    values: dict[str, str] = Field(min_length=1)


class ImportCommit(WireIn):
    mode: ImportMode = "merge"
    message: str = Field(default="", max_length=1000)
    tag: str | None = None
    leave_out_bad: bool = False
