"""From a file's row to a task, by a `Mapping`, and from a problem in the task back to the column it came from. Pure.

The task's JSON is put together from the cells' own text, so that digits survive; then `proctor.content` checks it as any upload.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Raw

from proctor import content
from proctor.content import BadContent, TaskText
from proctor.formats.base import WHOLE, Cell, Row, RowProblem, problem, text_of
from proctor.wire.errors import Problem
from proctor.wire.imports import CellSource, Mapping, Source

NUMBER = "{n}"
TEXTS = {"env": "env", "task_id": "id", "slug": "slug"}
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Made:
    """What a row became: a task, or problems."""

    line: int
    task: TaskText | None
    problems: tuple[RowProblem, ...] = ()


def missing_columns(mapping: Mapping, columns: Sequence[str]) -> list[tuple[str, str]]:
    """(place in the mapping, column) for each column that the file has not."""
    if mapping.whole_rows:
        return []
    return [(place, column) for place, column in _named_columns(mapping) if column not in columns]


def _named_columns(mapping: Mapping) -> list[tuple[str, str]]:
    texts = [(name, source.column) for name in TEXTS if (source := getattr(mapping, name)) is not None and source.column is not None]
    whole = [(name, column) for name in ("args_column", "columns_column") if (column := getattr(mapping, name)) is not None]
    cells = [(f"{part}.{name}", cell.column) for part in ("args", "columns") for name, cell in getattr(mapping, part).items()]
    return [*texts, *whole, *cells, *((f"fields.{name}", column) for name, column in mapping.fields.items())]


class Mapper:
    """Applies one mapping. `make` takes the row and its number among the rows, from 1."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self._origins = {place.removeprefix("fields."): column for place, column in _named_columns(mapping)}

    def make(self, row: Row, number: int) -> Made:
        if row.problems:
            return Made(row.line, None, row.problems)
        problems: list[RowProblem] = []
        text = self._whole(row) if self._mapping.whole_rows else self._built(row.cells, number, problems)
        if problems:
            return Made(row.line, None, tuple(problems))
        try:
            return Made(row.line, content.parse_row(text))
        except BadContent as error:
            return Made(row.line, None, tuple(self.placed(found, row) for found in error.problems))

    def _whole(self, row: Row) -> bytes:
        return row.whole if row.whole is not None else _encode(row.cells)

    def _built(self, cells: Dict[str, Cell], number: int, problems: list[RowProblem]) -> bytes:
        mapping = self._mapping
        made: dict[str, object] = {}
        for name, key in TEXTS.items():
            source: Source | None = getattr(mapping, name)
            value = None if source is None else _text(source, cells, number, problems)
            if value is not None:
                made[key] = value
        args = self._object(mapping.args_column, mapping.args, cells, problems)
        columns = self._object(mapping.columns_column, mapping.columns, cells, problems)
        made |= {name: part for name, part in (("args", args), ("columns", columns)) if part is not None}
        for name, column in mapping.fields.items():
            part = _structure(cells.get(column, ""), column, problems)
            if part is not None:
                made[name] = part
        return _encode(made) if not problems else b""

    def _object(self, whole: str | None, parts: Dict[str, CellSource], cells: Dict[str, Cell], problems: list[RowProblem]) -> object | None:
        """The object of one column, alone as it stands; or put together."""
        base = _structure(cells.get(whole, ""), whole, problems) if whole is not None else None
        if not parts:
            return base
        found: dict[str, object] = {}
        if base is not None:
            try:
                found |= msgspec.json.decode(base, type=dict[str, Raw])
            except msgspec.DecodeError:
                problems.append(problem(whole, "must be a JSON object", text_of(base)))
        for name, source in parts.items():
            value = self._value(source, cells, problems)
            if value is not None:
                found[name] = value
        return found or None

    def _value(self, source: CellSource, cells: Dict[str, Cell], problems: list[RowProblem]) -> object | None:
        cell = cells.get(source.column, "")
        if source.kind == "json":
            return _json(cell, source.column, problems)
        if cell == "" and not (self._mapping.options.keep_empty and source.column in cells):
            return None
        return _as_text(cell)

    def placed(self, found: Problem, row: Row) -> RowProblem:
        """In whole rows the place is a path; else the column, with the path inside its cell in the rule."""
        if self._mapping.whole_rows:
            return RowProblem(found.path or None, found.rule, found.value)
        for length in (2, 1):
            head, rest = _split(found.path, length)
            column = self._origins.get(head) or self._origins.get(f"{head}_column")
            if column is not None:
                return RowProblem(column, f"{found.rule} (at {rest})" if rest else found.rule, found.value)
        return RowProblem(None, f"{found.path}: {found.rule}" if found.path else found.rule, found.value)


def _split(path: str, length: int) -> tuple[str, str]:
    """The first parts of `args.items[3].n`, and the rest."""
    parts = path.replace("[", ".[").split(".")
    parts[0] = {"name": "slug", "id": "task_id"}.get(parts[0], parts[0])
    return ".".join(parts[:length]), ".".join(parts[length:]).replace(".[", "[")


def _text(source: Source, cells: Dict[str, Cell], number: int, problems: list[RowProblem]) -> str | None:
    if source.column is None:
        return (source.constant or "").replace(NUMBER, str(number)) or None
    value = _as_text(cells.get(source.column, ""))
    if isinstance(value, str):
        return value or None
    problems.append(problem(source.column, "must be text or a number", text_of(value)))
    return None


def _as_text(cell: Cell) -> str | Raw:
    """JSON text's string; a number's or a word's own digits; a list or an object stays JSON. Null is the empty text."""
    if isinstance(cell, str):
        return cell
    raw = bytes(cell)
    if raw[:1] == b'"':
        return msgspec.json.decode(raw, type=str)
    return cell if raw[:1] in (b"{", b"[") else "" if raw == b"null" else raw.decode()


def _structure(cell: Cell, column: str | None, problems: list[RowProblem]) -> Raw | None:
    """A list or an object, also where a file of JSON or Parquet holds its text; None for nothing."""
    if not isinstance(cell, str) and bytes(cell)[:1] in (b'"', b"n"):
        cell = "" if bytes(cell) == b"null" else msgspec.json.decode(cell, type=str)
    return _json(cell, column, problems)


def _json(cell: Cell, column: str | None, problems: list[RowProblem]) -> Raw | None:
    """The cell's JSON, checked; None for an empty text cell."""
    if not isinstance(cell, str):
        return cell
    if not cell.strip():
        return None
    text = cell.strip().encode("utf-8", "surrogatepass")
    try:
        content.read_exact(text)
    except BadContent as error:
        for found in error.problems:
            at = f" (at {found.path})" if found.path else ""
            problems.append(problem(column, found.rule + at, found.value if found.value is not None else cell))
        return None
    return Raw(text)


def edited(row: Row, values: Dict[str, str]) -> Row:
    """The row with new texts in some cells. Where the file holds JSON they are JSON; `""` is the row's whole JSON."""
    if WHOLE in values:
        from proctor.formats.json_rows import json_row

        return json_row(values[WHOLE].strip().encode("utf-8", "surrogatepass"), row.line)
    holds_json = row.whole is not None or any(isinstance(cell, Raw) for cell in row.cells.values())
    problems: list[RowProblem] = [found for found in row.problems if found.column is not None and found.column not in values]
    cells = dict(row.cells)
    for column, text in values.items():
        value = _json(text, column, problems) if holds_json else text
        if value is not None:
            cells[column] = value
        else:
            cells.pop(column, None)
    whole = _encode(cells) if row.whole is not None and not problems else None
    return Row(row.line, cells, whole, tuple(problems))
