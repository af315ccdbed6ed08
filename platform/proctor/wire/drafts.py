"""Drafts: edits of a taskset gathered by one person, committed as one version."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from .base import RawJson, WireIn, WireOut


class DraftEdit(WireIn):
    """`set` changes a task, `add` makes one, `remove` takes it out, `reset` forgets what the draft says of it."""

    op: Literal["set", "add", "remove", "reset"]
    slug: str
    text: RawJson | None = Field(default=None, description="The whole row, as uploaded; its slug may be left out.")
    columns: RawJson | None = Field(default=None, description="An object merged into the columns; null takes a column away.")
    new_slug: str | None = Field(default=None, description="With `set`: another slug, at the same place.")
    position: int | None = Field(default=None, ge=0, description="The place in the version to be; without it, where it is, or last.")


class DraftIn(WireIn):
    changes: list[DraftEdit]


class DraftBulk(WireIn):
    """One thing done to many tasks: those of `slugs`, or those that `q` and `filter` find in the version the draft starts from."""

    slugs: list[str] | None = None
    q: str = ""
    filter: dict[str, list[str]] = Field(default={}, description="`env`, `task_id` or a column → the texts that it may have.")
    set_columns: RawJson | None = Field(default=None, description="An object merged into the columns; null takes a column away.")
    remove: bool = False
    duplicate: bool = False


class DraftChange(WireOut):
    slug: str
    op: Literal["set", "add", "remove"]
    text: RawJson | None = Field(description="The whole row; null for a removal and for what only moves.")
    position: int | None


class DraftConflict(WireOut):
    """A task that the draft and a newer version changed differently; null where it is not there."""

    slug: str
    base: RawJson | None
    mine: RawJson | None
    theirs: RawJson | None


class DraftOut(WireOut):
    base_number: int | None
    head_number: int | None
    changed: int
    added: int
    removed: int
    moved: int
    changes: list[DraftChange] = Field(description="The first 1,000, oldest first.")
    conflicts: list[DraftConflict] = Field(description="The first 100.")
    conflict_count: int = Field(default=0, description="All of them.")
    saved_at: datetime


class DraftCommit(WireIn):
    message: str = Field(default="", max_length=1000)
    resolve: dict[str, Literal["mine", "theirs"]] = {}
    others: Literal["mine", "theirs"] | None = Field(default=None, description="What becomes of conflicts that `resolve` does not name.")
