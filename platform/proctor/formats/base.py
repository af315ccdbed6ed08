"""What every reader gives: rows with their place in the file and cells as exact text; and how a file is refused. Pure.

A cell is `str` where the file holds text (CSV) and `Raw` where it holds JSON, whose text is kept as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Raw

from proctor.content import shown

Cell = str | Raw
WHOLE = ""  # the column that stands for a row's whole JSON
NO_CELLS: Mapping[str, Cell] = {}


@dataclass(frozen=True, slots=True)
class RowProblem:
    column: str | None
    rule: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """`whole` is the row's own JSON, where the file has it. A row with problems may hold only some cells."""

    line: int
    cells: Mapping[str, Cell]
    whole: bytes | None = None
    problems: tuple[RowProblem, ...] = ()


@dataclass(frozen=True)
class Limits:
    """`row_bytes` caps one row; `unpacked_bytes` and `ratio` a compressed file (the ratio counts above `free_bytes`)."""

    row_bytes: int = 32 * 1024**2
    unpacked_bytes: int = 8 * 1024**3
    ratio: int = 200
    free_bytes: int = 64 * 1024**2
    entries: int = 100_000


@dataclass(frozen=True)
class ReadOptions:
    """`handle` makes an environment's name from a task folder's."""

    delimiter: str | None = None
    encoding: str | None = None
    handle: Callable[[str], str] = str.lower
    limits: Limits = field(default_factory=Limits)


class FileRefused(ValueError):
    """The file as a whole can't be read, or not any further; the sentence says where and what to try."""


def text_of(cell: Cell) -> str:
    return cell if isinstance(cell, str) else bytes(cell).decode("utf-8", "replace")


def problem(column: str | None, rule: str, value: object = None) -> RowProblem:
    return RowProblem(column, rule, None if value is None else shown(str(value)))
