"""The HUD export of a version as one compressed file per encoding: made once, then passed through as it lies.

A file holds exactly one gzip member (the HUD client's httpx decodes only the first, silently) or one zstd frame. Rendering and
reading both hold a thousand tasks or a block in memory, never a set. Only the head's are kept: those of other versions go at the
next commit and are made again when someone asks.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
import uuid
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any
from weakref import WeakValueDictionary

import msgspec
import zstandard
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection, connections, transaction
from django.db.models import QuerySet

from proctor import content
from tasksets.models import Export, Taskset, Version
from tasksets.queries import iter_version_tasks

logger = logging.getLogger(__name__)
ENCODINGS = ("zstd", "gzip")
BLOCK = 256 * 1024
AT_ONCE = 2_000
SUFFIX = {"gzip": "json.gz", "zstd": "json.zst"}


_rendering = threading.Lock()
_guard = threading.Lock()
_locks: WeakValueDictionary[tuple[uuid.UUID, str], Any] = WeakValueDictionary()


def make_soon(version: Version, name: str) -> None:
    """For a new head, or a new name of one: at once when it is small, else in a thread, so that nobody waits for it but who asks
    for it. Drops what the versions before left."""
    drop_superseded(version)
    if version.task_count <= AT_ONCE or settings.TESTING:
        get_exports(version, name)
    else:
        threading.Thread(target=_make_later, args=(version, name), name="export", daemon=True).start()


def _make_later(version: Version, name: str) -> None:
    """One at a time, and not when the next version is there already. What fails here is made at the first request."""
    try:
        with _rendering:
            if Taskset.objects.filter(id=version.taskset_id, head_id=version.id, name=name).exists():
                get_exports(version, name)
    except Exception:
        logger.exception("export not made version=%s", version.id)
    finally:
        connections.close_all()


def get_exports(version: Version, name: str) -> dict[str, Export]:
    """Both encodings, made now when they are not there; when another thread is at it, its work is waited for."""
    found = _find(version, name)
    if len(found) == len(ENCODINGS):
        return found
    with _guard:
        lock = _locks.setdefault((version.id, name), threading.Lock())
    with lock:
        found = _find(version, name)
        return found if len(found) == len(ENCODINGS) else _render(version, name)


def _find(version: Version, name: str) -> dict[str, Export]:
    return {export.encoding: export for export in Export.objects.filter(version=version, name=name)}


def _render(version: Version, name: str) -> dict[str, Export]:
    """Safe when two processes do it at once: the first one's rows stay, the other's files go. Made again when a rename or a
    redaction came while it was made."""
    revision = _revision(version)
    with tempfile.TemporaryFile() as gzipped, tempfile.TemporaryFile() as zstd:
        plain_bytes = _write(version, name, gzipped, zstd)
        made = [_store(version, name, encoding, file, plain_bytes) for encoding, file in (("gzip", gzipped), ("zstd", zstd))]
    with transaction.atomic():
        is_right = _revision(version) == revision
        if is_right:
            Export.objects.bulk_create(made, ignore_conflicts=True)
    kept = _find(version, name)
    _delete_files([export.path for export in made if export.path not in {one.path for one in kept.values()}])
    return kept if is_right else _render(version, name)


def _revision(version: Version) -> int:
    """Held until the transaction ends, when there is one."""
    tasksets = Taskset.objects.select_for_update() if connection.in_atomic_block else Taskset.objects
    return tasksets.values_list("name_revision", flat=True).get(id=version.taskset_id)


def _write(version: Version, name: str, gzipped: IO[bytes], zstd: IO[bytes]) -> int:
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    plain_bytes = 0
    with zstandard.ZstdCompressor(level=3).stream_writer(zstd, closefd=False) as writer:
        for block in _blocks(version, name):
            plain_bytes += len(block)
            gzipped.write(squeeze.compress(block))
            writer.write(block)
    gzipped.write(squeeze.flush())
    return plain_bytes


def _blocks(version: Version, name: str) -> Iterator[bytes]:
    block, size = [b'{"name":%s,"tasks":[' % msgspec.json.encode(name)], 0
    for task in iter_version_tasks(version):
        row = content.export_row(task.text, task.slug)
        block.append(b"," + row if task.position else row)
        size += len(row)
        if size > BLOCK:
            yield b"".join(block)
            block, size = [], 0
    yield b"".join([*block, b"]}"])


def _store(version: Version, name: str, encoding: str, file: IO[bytes], plain_bytes: int) -> Export:
    size_bytes = file.tell()
    file.seek(0)
    path = default_storage.save(f"exports/{version.id.hex[:2]}/{version.id}/{uuid.uuid4().hex}.{SUFFIX[encoding]}", File(file))
    return Export(version=version, name=name, encoding=encoding, path=path, size_bytes=size_bytes, plain_bytes=plain_bytes)


def drop_superseded(head: Version) -> None:
    """The exports of all other versions of its set."""
    _drop(Export.objects.filter(version__taskset_id=head.taskset_id).exclude(version=head))


def drop_exports(tasksets: Iterable[Taskset]) -> None:
    """All of these sets, inside the transaction that makes them wrong."""
    _drop(Export.objects.filter(version__taskset__in=tasksets))


def _drop(exports: QuerySet[Export]) -> None:
    """The rows, and the files after the commit. Who has opened a file reads on."""
    paths = list(exports.values_list("path", flat=True))
    if paths:
        Export.objects.filter(path__in=paths).delete()
        transaction.on_commit(lambda: _delete_files(paths))


def _delete_files(paths: list[str]) -> None:
    for path in paths:
        default_storage.delete(path)


@dataclass(frozen=True)
class Opened:
    """A stored export and its bytes: as stored, or the JSON in them."""

    export: Export
    file: Any


def open_export(version: Version, name: str, encoding: str | None) -> Opened:
    """In this encoding, inflated for None. A file that went between finding and opening it is made again."""
    export = get_exports(version, name)[encoding or "zstd"]
    try:
        return Opened(export, _open(export, inflate=encoding is None))
    except FileNotFoundError:
        logger.info("export made again version=%s", version.id)
    Export.objects.filter(path=export.path).delete()
    export = get_exports(version, name)[encoding or "zstd"]
    return Opened(export, _open(export, inflate=encoding is None))


def _open(export: Export, *, inflate: bool) -> Any:
    file = default_storage.open(export.path, "rb")
    return zstandard.ZstdDecompressor().stream_reader(file, closefd=True) if inflate else file


async def stream(opened: Opened) -> AsyncIterator[bytes]:
    """Block by block; closes it."""
    try:
        while block := await asyncio.to_thread(opened.file.read, BLOCK):
            yield block
    finally:
        await asyncio.to_thread(opened.file.close)
