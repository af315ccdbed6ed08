"""CSV and TSV as a stream: BOM, mixed line ends, quoted cells over many lines, lines numbered as an editor does. Pure.

A row of another length than the header, or with bytes that are not in the encoding, is a row with a problem; a quote that is never
closed, or a row over the cap, ends the reading, since nothing behind it can be trusted. A file of ours (`ours.MARK` in its header)
has its guarded cells restored.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from typing import IO

from proctor.formats.base import FileRefused, ReadOptions, Row, RowProblem, problem
from proctor.formats.ours import MARK, unguard

DELIMITERS = ",\t;|"
SAMPLE = 64 * 1024
MAX_COLUMNS = 20_000
BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_delimited(source: IO[bytes], options: ReadOptions, *, delimiter: str | None = None) -> Iterator[Row]:
    """Raises FileRefused while reading."""
    head, source = _peek(source)
    encoding = _encoding(head, options.encoding)
    csv.field_size_limit(max(csv.field_size_limit(), options.limits.row_bytes))
    text = io.TextIOWrapper(source, encoding, errors="surrogateescape", newline="")
    lines = _Lines(text, options.limits.row_bytes)
    chosen = options.delimiter or delimiter or guess_delimiter(head.decode(encoding, "replace"))
    return _rows(lines, chosen)


def _peek(source: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    buffered = source if isinstance(source, io.BufferedReader) else io.BufferedReader(source, SAMPLE)  # type: ignore[type-var]
    return buffered.peek(SAMPLE)[:SAMPLE], buffered


def _encoding(head: bytes, wanted: str | None) -> str:
    found = next((encoding for mark, encoding in BOMS if head.startswith(mark)), None)
    if wanted in (None, "utf-8"):
        return found or "utf-8"
    return wanted or "utf-8"


def guess_delimiter(head: str) -> str:
    """The one that cuts most lines alike, by the header's count; a comma when none cuts."""
    lines = [line for line in head.splitlines()[:50] if line.strip()]
    best, best_score = ",", (0, 0)
    for delimiter in DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        if not counts or counts[0] < 2:
            continue
        score = (Counter(counts)[counts[0]], counts[0])
        if score > best_score:
            best, best_score = delimiter, score
    return best


class _Lines:
    """The file's lines, with their own ends; remembers those of the row being read."""

    def __init__(self, text: io.TextIOWrapper, limit: int) -> None:
        self._text, self._limit = text, limit
        self.number, self.first = 0, 1
        self.row: list[str] = []
        self.size = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        try:
            line = self._text.readline(self._limit + 1)
        except UnicodeError as error:
            raise FileRefused(f"Line {self.number + 1} is not text in the file's encoding: {error}") from None
        if not line:
            raise StopIteration
        self.number += 1
        self.size += len(line)
        if self.size > self._limit:
            raise FileRefused(
                f"The row that begins on line {self.first} is larger than the limit of {self._limit:,} bytes; perhaps a quote is not closed"
            )
        self.row.append(line)
        return line

    def begin_row(self) -> int:
        self.row, self.size, self.first = [], 0, self.number + 1
        return self.first


def _rows(lines: _Lines, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter)
    header: list[str] | None = None
    while True:
        first = lines.begin_row()
        cells = _next(reader, first)
        if cells is None:
            break
        if _is_open(lines.row, delimiter):
            raise FileRefused(f"A quote in the row that begins on line {first} is never closed")
        if not cells or (len(cells) == 1 and not cells[0].strip()):
            continue
        if header is None:
            header = _header(cells, first)
        else:
            yield _row(header, cells, first)


def _next(reader: Iterator[list[str]], first: int) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        raise FileRefused(f"The row that begins on line {first} can't be read: {error}") from None


def _is_open(lines: list[str], delimiter: str) -> bool:
    """The row ended only because the file did. Rows with an even count of quotes are whole, so few are read again."""
    if sum(line.count('"') for line in lines) % 2 == 0:
        return False
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


def _header(cells: list[str], line: int) -> list[str]:
    """Names unique and none empty, as a spreadsheet shows them."""
    if len(cells) > MAX_COLUMNS:
        raise FileRefused(f"The header has {len(cells):,} columns; the limit is {MAX_COLUMNS:,}")
    if any(_has_foreign_bytes(cell) for cell in cells):
        raise FileRefused(f"The header on line {line} holds bytes that are not UTF-8; choose the file's encoding")
    names: list[str] = []
    taken: set[str] = set()
    for place, cell in enumerate(cells, 1):
        name = base = cell.strip() or f"column {place}"
        again = 2
        while name in taken:
            name, again = f"{base} ({again})", again + 1
        names.append(name)
        taken.add(name)
    return names


def _row(header: list[str], cells: list[str], line: int) -> Row:
    problems: list[RowProblem] = []
    if len(cells) != len(header):
        problems.append(problem(None, f"the row has {len(cells)} cells, the header {len(header)}"))
    named = dict(zip(header, cells, strict=False))
    if MARK in named:
        named = {name: unguard(cell) for name, cell in named.items() if name != MARK}
    if not all(map(str.isascii, cells)):
        for name, cell in named.items():
            if _has_foreign_bytes(cell):
                problems.append(problem(name, "holds bytes that are not in the file's encoding; choose another", cell))
    return Row(line, named, problems=tuple(problems))


def _has_foreign_bytes(cell: str) -> bool:
    return not cell.isascii() and any("\udc80" <= character <= "\udcff" for character in cell)
