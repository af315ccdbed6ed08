"""Reads a version as a table: which rows, in which order, how many of each value. One answer on every database, for any version.

The head in its own order comes from its rows in the database; all else from the version's entries and blocks, with what was worked
out kept in this process (`pieces`). Text is searched in one pass over the packed texts, and who pages or sorts the hits reads the mask.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import compress
from typing import Any, TypeVar

from tasksets import queries, versions
from tasksets.models import Version
from tasksets.queries import VersionTask
from tasksets.tables import blocks, columns
from tasksets.tables.asking import Asked, Sort
from tasksets.tables.columns import Column, Summary
from tasksets.tables.pieces import pieces

T = TypeVar("T")
LINE_BYTES = 120
TRIES = 5


class Table:
    """One version. Making it costs nothing; raises AppError 410 when its set was purged."""

    def __init__(self, version: Version) -> None:
        queries.check_there(version.taskset)
        self.version = version
        self.row_count = version.task_count

    def page(self, asked: Asked, start: int, limit: int) -> list[VersionTask]:
        """The tasks at the places from `start` on of what is asked."""
        if asked.is_all_in_order:
            found = queries.find_tasks(self.version, start=start, limit=limit)
            if found is not None:
                return found
        return list(self.tasks(asked, slice(start, start + limit)))

    def tasks(self, asked: Asked, places: slice = slice(None)) -> Iterator[VersionTask]:
        """The tasks at these places, a thousand in memory at a time."""
        lines = self._lines()
        return queries.read_tasks(self.version.taskset.team_id, ((row, lines[row]) for row in self.rows(asked)[places]))

    def total(self, asked: Asked) -> int:
        return self.row_count if asked.is_all_in_order else len(self.rows(asked))

    def slugs(self, asked: Asked) -> Iterator[str]:
        lines = self._lines()
        return (versions.slug_of(lines[row]) for row in self.rows(asked))

    def rows(self, asked: Asked) -> Sequence[int]:
        """The positions of what is asked, in its order."""
        if asked.is_all_in_order:
            return range(self.row_count)
        return self._piece(("rows", asked), lambda: self._select(asked), lambda rows: 4 * len(rows))

    def _select(self, asked: Asked) -> array[int]:
        mask, order = self.mask(asked), self._order(asked.sort)
        if mask is None:
            return array("I", order)
        return array("I", compress(order, mask) if isinstance(order, range) else (row for row in order if mask[row]))

    def mask(self, asked: Asked) -> bytes | None:
        """The rows that stay, None for all of them."""
        found = self._search(asked.q) if asked.q else None
        for wanted in asked.filters:
            column = self.columns([wanted.name])[wanted.name]
            found = columns.both(found, self._piece(("mask", wanted), lambda: columns.mask_of(column, wanted), len))  # noqa: B023
        return found

    def _order(self, sort: Sequence[Sort]) -> Sequence[int]:
        """Sorted by the least important first, so that each next keeps what is equal in order."""
        if not sort:
            return range(self.row_count)
        return self._piece(("order", tuple(sort)), lambda: self._sort(sort), lambda rows: 4 * len(rows))

    def _sort(self, sort: Sequence[Sort]) -> array[int]:
        rows: Sequence[int] = range(self.row_count)
        for by in reversed(sort):
            rows = self._sort_by(by, rows)
        return array("I", rows)

    def _sort_by(self, by: Sort, rows: Sequence[int]) -> Sequence[int]:
        if by.name == "position":
            return sorted(rows, reverse=by.descending)
        if by.name == "slug":
            slugs = [versions.slug_of(line) for line in self._lines()]
            return sorted(rows, key=slugs.__getitem__, reverse=by.descending)
        return columns.sorted_rows(self.columns([by.name])[by.name], rows, descending=by.descending)

    def _search(self, q: str) -> bytes:
        needle = blocks.slug_text(q).lower().encode()

        def make() -> bytes:
            mask = bytearray(self.row_count)
            for text in blocks.read_texts(self.version):
                for row in hits(text.read(), text.ends, needle):
                    mask[text.first_row + row] = 1
            return bytes(mask)

        return self._piece(("search", needle), lambda: self._read(make), len)

    def names(self) -> list[str]:
        """Full names of all columns, the task's own first."""
        found = self._piece("names", lambda: self._read(lambda: blocks.read_names(self.version)), lambda names: 100 * len(names))
        return sorted(found, key=lambda name: name.startswith("columns."))

    def columns(self, names: Collection[str]) -> dict[str, Column]:
        """Those columns; what is not here yet is read in one pass. One that no row has is empty."""
        found = {name: pieces.find(self._key(("column", name))) for name in names}
        missing = [name for name, column in found.items() if column is None]
        if missing:
            parts = self._read(lambda: list(blocks.read_columns(self.version, missing)))
            for name in missing:
                column = columns.joined((rows, part.get(name)) for rows, part in parts)
                pieces.keep(self._key(("column", name)), column, column.size_bytes)
                found[name] = column
        return found

    def summary(self, name: str, shown: int) -> Summary:
        return self._piece(
            ("summary", name), lambda: columns.summary_of(self.columns([name])[name], shown=shown), lambda found: found.size_bytes
        )

    def _lines(self) -> list[bytes]:
        return self._piece("lines", lambda: queries.version_lines(self.version), lambda lines: LINE_BYTES * len(lines))

    def _read(self, read: Callable[[], T]) -> T:
        """From blocks, which are made first where they lack."""
        for _try in range(TRIES):
            blocks.ensure(self.version)
            try:
                return read()
            except blocks.Gone:
                continue
        raise RuntimeError(f"blocks of version {self.version.id} went {TRIES} times while they were read")

    def _key(self, kind: Hashable) -> Hashable:
        return (self.version.id, self.version.taskset.name_revision, kind)

    def _piece(self, kind: Hashable, make: Callable[[], T], size_of: Callable[[T], Any]) -> T:
        return pieces.get(self._key(kind), make, size_of)


def hits(body: bytes, ends: Sequence[int], needle: bytes) -> Iterator[int]:
    """The rows of a text that hold the needle, which holds no line end; row n ends before `ends[n]`."""
    at = body.find(needle)
    while at >= 0:
        row = bisect_right(ends, at)
        yield row
        at = body.find(needle, ends[row])
