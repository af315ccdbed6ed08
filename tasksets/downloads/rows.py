"""JSON, JSON Lines and CSV as blocks of bytes, one batch of tasks in memory. Pure.

A row is the stored text with the slug in front (`{"slug": …, "env": …, "id": …, "args": …}`): digits and key order as they went in,
in the spelling of the HUD SDK's own files.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import msgspec

from proctor.content import StoredTask, read_stored
from proctor.formats.ours import COLUMNS, MARK, guard
from tasksets.versions import slug_json

BLOCK = 256 * 1024
_OPTIONAL = COLUMNS[3:]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One task of a version: its slug and its stored text."""

    slug: str
    text: str


@dataclass(frozen=True)
class Facts:
    """What a file says about itself. `digest` is None when the file holds a part of the version only; `redacted` counts tasks of
    which only a marker is left."""

    name: str
    number: int
    digest: str | None
    task_count: int
    redacted: int = 0


def about(facts: Facts) -> dict[str, object]:
    return {"format": MARK, "name": facts.name, "version": facts.number, "digest": facts.digest}


def row_of(task: Outgoing) -> bytes:
    return b'{"slug":%s,%s' % (slug_json(task.slug), task.text[1:].encode())


def write_json(tasks: Iterable[Outgoing], facts: Facts) -> Iterator[bytes]:
    """One object; the tasks stand one on a line."""
    yield msgspec.json.encode(about(facts))[:-1] + b',"tasks":['
    before = b"\n"
    for task in tasks:
        yield before + row_of(task)
        before = b",\n"
    yield b"\n]}\n"


def write_lines(tasks: Iterable[Outgoing], facts: Facts) -> Iterator[bytes]:
    return (row_of(task) + b"\n" for task in tasks)


def write_csv(tasks: Iterable[Outgoing], facts: Facts) -> Iterator[bytes]:
    """Objects and lists as JSON in their cells; the last column is the mark, and empty."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for cells in chain([[*COLUMNS, MARK]], map(_csv_cells, tasks)):
        writer.writerow(cells)
        yield line.getvalue().encode()
        line.seek(0)
        line.truncate()


def _csv_cells(task: Outgoing) -> list[str]:
    return [*(guard(cell or "") for cell in cells_of(task)), ""]


def cells_of(task: Outgoing) -> list[str | None]:
    """In the order of COLUMNS; None for what the task has not."""
    stored = read_stored(task.text)
    return [task.slug, stored.env, stored.id, *(_json_text(stored, name) for name in _OPTIONAL)]


def _json_text(stored: StoredTask, name: str) -> str | None:
    text = bytes(getattr(stored, name)).decode()
    return None if text == "null" else text


def blocks(pieces: Iterable[bytes], size: int = BLOCK) -> Iterator[bytes]:
    """The same bytes, in blocks that are worth sending."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(held)
            held, length = [], 0
    if held:
        yield b"".join(held)
