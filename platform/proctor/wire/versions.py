"""What is done with versions: tags, differences, restores, drafts, a task's history, purge and redaction."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from .base import RawJson, WireIn, WireOut
from .tasksets import TaskOut, VersionOut


class TagIn(WireIn):
    version: int = Field(ge=1, description="The number of the version that the tag is to name.")


class TagMoveOut(WireOut):
    version_number: int | None = Field(description="Null where the tag was taken off.")
    moved_at: datetime
    moved_by: str | None


class TagOut(WireOut):
    """A name of one version, movable. `history` is newest first, at most 100 moves."""

    name: str
    version_number: int
    digest: str
    moved_at: datetime
    moved_by: str | None
    history: list[TagMoveOut]


class FieldChange(WireOut):
    """One place inside a task. `before` and `after` are cut at 2 kB; `note` says so, and how a type changed."""

    path: str = Field(examples=["args.question", "columns.ops", "args.items[3]", 'args["a.b"]'])
    kind: Literal["added", "removed", "changed"]
    before: RawJson | None
    after: RawJson | None
    note: str | None = None


DiffKind = Literal["added", "removed", "moved", "changed"]


class DiffRow(WireOut):
    """A task that differs. `moved` says that it changed places among those that stayed; a row that also changed is `changed`."""

    slug: str
    kind: DiffKind
    moved: bool
    from_position: int | None
    to_position: int | None
    fields: list[FieldChange] = Field(description="The first 50, of a changed row only.")
    fields_total: int


class DiffCounts(WireOut):
    added: int
    removed: int
    moved: int = Field(description="Moved and otherwise the same.")
    changed: int
    unchanged: int


class DiffPage(WireOut):
    """Rows by position in the newer version, removed ones by their old position. `from` is null for the empty set."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    from_version: VersionOut | None = Field(alias="from")
    to_version: VersionOut | None = Field(alias="to")
    counts: DiffCounts
    items: list[DiffRow]
    next_cursor: str | None = None


class DiffTask(WireOut):
    slug: str
    kind: Literal["added", "removed", "changed", "unchanged"]
    before: TaskOut | None
    after: TaskOut | None
    fields: list[FieldChange]


class RestoreIn(WireIn):
    version: int | str = Field(description="A number, tag or digest.")
    message: str = Field(default="", max_length=1000)


class UndoIn(WireIn):
    version: int | None = Field(default=None, ge=1, description="The head that is meant: 409 when it is another one by now.")


class TaskHistoryRow(WireOut):
    version_number: int
    kind: Literal["added", "changed", "removed"]
    content_id: str | None
    at: datetime
    author: str | None
    message: str


class PurgeIn(WireIn):
    confirm: str = Field(description="The taskset's name.")


class PurgeOut(WireOut):
    """What a purge took and what it leaves without content."""

    name: str
    versions: int
    contents: int
    chunks: int
    exports: int
    breaks: dict[str, int] = Field(description="How many objects of each kind still name this set, as `jobs`.")


class RedactIn(WireIn):
    slug: str
    reason: str = Field(min_length=1, max_length=500)


class RedactOut(WireOut):
    """`also_in`: other tasks of the team that had the very same content, and now show the marker too."""

    slug: str
    contents: int
    versions: list[int]
    also_in: list["TaskPlace"]


class TaskPlace(WireOut):
    taskset: str
    slug: str
