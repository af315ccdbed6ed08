"""JSON Lines, and JSON files that hold a list of rows, as a stream; every row keeps its own text. Pure.

A JSON file is a list, or an object with one list of rows in it (`tasks`, `data`, `rows`, `samples`, …: an export of ours, a page of the
Hugging Face viewer). One row is in memory at a time.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

import msgspec
from msgspec import Raw

from proctor import content
from proctor.content import BadContent
from proctor.formats.base import NO_CELLS, FileRefused, ReadOptions, Row, RowProblem, problem

BOM = b"\xef\xbb\xbf"
BLOCK = 256 * 1024
LISTS = ("tasks", "data", "rows", "samples", "items", "examples")
SPACE = re.compile(r"[ \t\r\n]*")
_cells = msgspec.json.Decoder(dict[str, Raw]).decode


def read_lines(source: IO[bytes], options: ReadOptions) -> Iterator[Row]:
    """A JSON object a line; blank lines count but are no rows."""
    limit, number = options.limits.row_bytes, 0
    while line := source.readline(limit + 1):
        number += 1
        if len(line) > limit:
            _skip_line(source, line, limit)
            yield _problem_row(number, f"the line is larger than the limit of {limit:,} bytes")
            continue
        text = line.removeprefix(BOM).strip() if number == 1 else line.strip()
        if text:
            yield json_row(text, number)


def _skip_line(source: IO[bytes], line: bytes, limit: int) -> None:
    while line and not line.endswith(b"\n"):
        line = source.readline(limit)


def _problem_row(line: int, rule: str, value: object = None) -> Row:
    return Row(line, NO_CELLS, problems=(problem(None, rule, value),))


def json_row(text: bytes, line: int) -> Row:
    """One object as cells of exact JSON, or a row with the problems of its text."""
    try:
        value = content.read_exact(text)
    except BadContent as error:
        found = tuple(RowProblem(one.path or None, one.rule, one.value) for one in error.problems)
        return Row(line, NO_CELLS, whole=text, problems=found)
    if not isinstance(value, dict):
        return _problem_row(line, "must be a JSON object", text[:200].decode(errors="replace"))
    if isinstance(value.get("row"), dict) and "row_idx" in value:
        return _unwrapped(text, line)
    return Row(line, {name: Raw(bytes(cell)) for name, cell in _cells(text).items()}, whole=text)


def _unwrapped(text: bytes, line: int) -> Row:
    """The Hugging Face viewer puts each row in a record of its own."""
    inner = bytes(_cells(text)["row"])
    return Row(line, {name: Raw(bytes(cell)) for name, cell in _cells(inner).items()}, whole=inner)


def read_document(source: IO[bytes], options: ReadOptions) -> Iterator[Row]:
    """The rows of a JSON file. Raises FileRefused where it stops being JSON."""
    window = _Window(source, options.limits.row_bytes)
    within = window.peek() == "{"
    if within:
        _enter_list(window)
    elif window.peek() != "[":
        raise window.refused("A JSON file must be a list of rows, or an object that holds one")
    yield from _list(window)
    if within:
        _leave(window)
    window.end()


def _list(window: _Window) -> Iterator[Row]:
    window.take("[")
    while window.peek() != "]":
        line, text = window.value()
        yield json_row(text.encode("utf-8", "surrogatepass"), line)
        if window.peek() != "]":
            window.take(",")
    window.take("]")


def _leave(window: _Window) -> None:
    while window.peek() == ",":
        window.take(",")
        window.value()
        window.take(":")
        window.value()
    window.take("}")


def _enter_list(window: _Window) -> None:
    """Up to the first list that can be the rows; other members before it are passed over."""
    window.take("{")
    while window.peek() != "}":
        _line, key = window.value()
        window.take(":")
        name: Any = json.loads(key)
        if window.peek() == "[" and name in LISTS:
            return
        window.value()
        if window.peek() == ",":
            window.take(",")
    raise window.refused(f"The JSON object holds no list of rows (one of {', '.join(LISTS)})")


class _Window:
    """The part of the text that is being looked at. Values are cut out by the standard decoder, whose scanner is fast and exact."""

    def __init__(self, source: IO[bytes], limit: int) -> None:
        self._source, self._limit = source, limit
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._scan = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str).raw_decode
        self._text, self._at, self._line, self._ended = "", 0, 1, False

    def refused(self, why: str) -> FileRefused:
        return FileRefused(f"{why} (line {self._line})")

    def end(self) -> None:
        if self._seek():
            raise self.refused("Something follows the end of the JSON")

    def peek(self) -> str:
        """The next character that is not white space."""
        found = self._seek()
        if not found:
            raise self.refused("The JSON ends in the middle; the file is cut short")
        return found

    def _seek(self) -> str:
        """The same, "" at the end."""
        while True:
            end = SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            self._line += self._text.count("\n", self._at, end)
            self._at = end
            if end < len(self._text):
                return self._text[end]
            if not self._more(BLOCK):
                return ""

    def take(self, mark: str) -> None:
        found = self.peek()
        if found != mark:
            raise self.refused(f"Here '{mark}' is missing: found {found!r}")
        self._at += 1

    def value(self) -> tuple[int, str]:
        """The line it begins on, and its exact text."""
        self.peek()
        want = BLOCK
        while True:
            end = self._end_of_value()
            if end is not None:
                break
            want *= 2
            self._more(want)
        line, text = self._line, self._text[self._at : end]
        self._line += text.count("\n")
        self._at = end
        return line, text

    def _end_of_value(self) -> int | None:
        """None: more text is needed. A number at the very end of the window may go on."""
        try:
            _value, end = self._scan(self._text, self._at)
        except RecursionError:
            raise self.refused("The JSON is nested too deep") from None
        except ValueError as error:
            if self._ended or len(self._text) - self._at > self._limit:
                raise self.refused(f"Here the JSON is broken, or a row is larger than {self._limit:,} bytes: {error}") from None
            return None
        return int(end) if end < len(self._text) or self._ended else None

    def _more(self, size: int) -> bool:
        piece = self._source.read(size)
        try:
            text = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            raise FileRefused(f"The JSON is not UTF-8: {error.reason} near line {self._line}") from None
        self._ended = not piece
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(piece)
