"""What tables need of the tasks of a chunk, stored beside it: the columns and the text to search, each packed.

A chunk never changes and versions share most of theirs, so a block is made once, at the first look at a version that has the chunk
(or in the background after a commit), and the next version costs its new chunks only. Gone with the chunk, or when one of its tasks
is redacted; `Taskset.name_revision` says that this happened while one was made.
"""

from __future__ import annotations

import logging
import threading
import uuid
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import zstandard
from django.conf import settings
from django.db import connections, transaction

from proctor import content
from tasksets import queries, versions
from tasksets.bulk import batches
from tasksets.models import Chunk, TableBlock, TableText, Taskset, Version
from tasksets.tables.asking import PREFIX
from tasksets.tables.columns import Column, Writer, value_of

T = TypeVar("T")
logger = logging.getLogger(__name__)
TEXT_BYTES = 1024**2
CHUNKS_AT_ONCE = 50
AT_ONCE = 2_000
SLUG_END = "\x1f"

_guard = threading.Lock()
_locks: WeakValueDictionary[uuid.UUID, Any] = WeakValueDictionary()
_in_background = threading.Lock()
_columns = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_packed_columns = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_packed_column = msgspec.msgpack.Decoder(tuple[list[str], bytes])


@dataclass(frozen=True, slots=True)
class Text:
    """Some tasks of a chunk as text to search: the first's row in the version, where each ends, and the packed text."""

    first_row: int
    ends: array[int]
    body: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.body) + 4 * len(self.ends)

    def read(self) -> bytes:
        return unpacked(self.body)


def make_soon(version: Version) -> None:
    """For a new head of some size: in a thread, so that the first to look at it need not wait. A small one is made when it is looked at."""
    if version.task_count > AT_ONCE and not settings.TESTING:
        threading.Thread(target=_make_later, args=(version,), name="table", daemon=True).start()


def _make_later(version: Version) -> None:
    """One at a time, and not when the next version is there already. What fails here is made at the first look."""
    try:
        with _in_background:
            if Taskset.objects.filter(id=version.taskset_id, head_id=version.id).exists():
                ensure(version)
    except Exception:
        logger.exception("table not made version=%s", version.id)
    finally:
        connections.close_all()


def ensure(version: Version) -> None:
    """Makes the blocks that the version's chunks lack. Who asks for the same meanwhile waits."""
    if not _missing(version):
        return
    with _guard:
        lock = _locks.setdefault(version.taskset_id, threading.Lock())
    with lock:
        for part in batches(_missing(version), CHUNKS_AT_ONCE):
            for chunk in _chunks(version, part).order_by("id"):
                _make(version, chunk)


def _missing(version: Version) -> list[str]:
    queries.check_there(version.taskset)
    there: set[str] = set()
    for part in batches(version.chunk_ids, 500):
        there.update(_chunks(version, part).filter(table_block__isnull=False).values_list("chunk_id", flat=True))
    return [chunk_id for chunk_id in dict.fromkeys(version.chunk_ids) if chunk_id not in there]


def _chunks(version: Version, chunk_ids: Sequence[str]) -> Any:
    return Chunk.objects.filter(team_id=version.taskset.team_id, chunk_id__in=chunk_ids)


def _make(version: Version, chunk: Chunk) -> None:
    """Safe when two processes do it at once, and made again when a redaction came while it was made."""
    while True:
        revision = _revision(version)
        lines = versions.lines_of([chunk.text.encode()])
        writer, texts = Writer(len(lines)), _Texts()
        for task in queries.read_tasks(chunk.team_id, enumerate(lines)):
            _put(writer, task)
            texts.put(task.position, f"{slug_text(task.slug)}{SLUG_END}{task.text}".lower())
        with transaction.atomic():
            Taskset.objects.select_for_update().only("id").get(id=version.taskset_id)
            if _revision(version) == revision:
                _store(chunk, len(lines), writer.done(), texts.done())
                return


def _revision(version: Version) -> int:
    return Taskset.objects.values_list("name_revision", flat=True).get(id=version.taskset_id)


def _put(writer: Writer, task: queries.VersionTask) -> None:
    writer.put(task.position, "env", "s" + task.env)
    writer.put(task.position, "task_id", "s" + task.task_id)
    for name, raw in (_columns.decode(content.read_stored(task.text).columns) or {}).items():
        writer.put(task.position, PREFIX + name, value_of(bytes(raw)))


def slug_text(text: str) -> str:
    """A text as it stands inside JSON."""
    return versions.slug_json(text)[1:-1].decode()


class Gone(Exception):
    """A block went since they were all there: a redaction. They are to be made and read again."""


class _Texts:
    """Texts gathered into rows of `TableText`, a megabyte each or one task."""

    def __init__(self) -> None:
        self.made: list[TableText] = []
        self._start()

    def _start(self) -> None:
        self.parts: list[bytes] = []
        self.ends = array("I")
        self.size = self.first = 0

    def put(self, row: int, text: str) -> None:
        if not self.parts:
            self.first = row
        encoded = text.encode()
        self.parts.append(encoded)
        self.size += len(encoded) + 1
        self.ends.append(self.size)
        if self.size >= TEXT_BYTES:
            self._flush()

    def _flush(self) -> None:
        body = packed(b"\n".join([*self.parts, b""]))
        self.made.append(TableText(first_row=self.first, ends=self.ends.tobytes(), body=body))
        self._start()

    def done(self) -> list[TableText]:
        if self.parts:
            self._flush()
        return self.made


def _store(chunk: Chunk, rows: int, columns: Mapping[str, Column], texts: Iterable[TableText]) -> None:
    body = packed(msgspec.msgpack.encode({name: (column.values, column.codes.tobytes()) for name, column in columns.items()}))
    block, is_new = TableBlock.objects.get_or_create(chunk=chunk, defaults={"rows": rows, "columns": body})
    if is_new:
        for text in texts:
            text.block = block
            text.save(force_insert=True)


def packed(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(body)


def unpacked(body: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(body)


def read_columns(version: Version, names: Collection[str]) -> Iterator[tuple[int, dict[str, Column]]]:
    """Of each block in order: how many rows it has, and those of the columns that it has. This and the next raise Gone."""
    for block in _blocks(version):
        there = _packed_columns.decode(unpacked(bytes(block.columns)))
        yield block.rows, {name: _column(there[name]) for name in names if name in there}


def _column(packed_column: msgspec.Raw) -> Column:
    values, codes = _packed_column.decode(packed_column)
    return Column(values, array("I", codes))


def read_names(version: Version) -> list[str]:
    """The full names of all columns, in the order in which they come up."""
    names: dict[str, None] = {}
    for block in _blocks(version):
        names.update(dict.fromkeys(_packed_columns.decode(unpacked(bytes(block.columns)))))
    return list(names)


def _blocks(version: Version) -> Iterator[TableBlock]:
    for part in batches(version.chunk_ids, CHUNKS_AT_ONCE):
        found = TableBlock.objects.filter(chunk__team_id=version.taskset.team_id, chunk__chunk_id__in=part)
        by_id = {block.chunk.chunk_id: block for block in found.select_related("chunk").defer("chunk__text")}
        yield from _in_order(by_id, part)


def _in_order(by_id: Mapping[str, T], chunk_ids: Iterable[str]) -> Iterator[T]:
    for chunk_id in chunk_ids:
        if chunk_id not in by_id:
            raise Gone
        yield by_id[chunk_id]


def read_texts(version: Version) -> Iterator[Text]:
    """The texts in order, still packed, a block's at a time."""
    row = 0
    for part in batches(_places(version), 8):
        found: dict[int, list[TableText]] = {}
        for text in TableText.objects.filter(block__in=[block for block, _rows in part]).order_by("first_row"):
            found.setdefault(text.block_id, []).append(text)
        for block, rows in part:
            for text in found.get(block, ()):
                yield Text(row + text.first_row, array("I", bytes(text.ends)), bytes(text.body))
            row += rows


def _places(version: Version) -> Iterator[tuple[int, int]]:
    """Primary key and rows of each block in order."""
    for part in batches(version.chunk_ids, 500):
        found = TableBlock.objects.filter(chunk__team_id=version.taskset.team_id, chunk__chunk_id__in=part)
        by_id = {chunk_id: (key, rows) for chunk_id, key, rows in found.values_list("chunk__chunk_id", "chunk_id", "rows")}
        yield from _in_order(by_id, part)
