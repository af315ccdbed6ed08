"""The HUD export of a version as one compressed file per encoding: made once, then passed through as it lies.

A file holds exactly one gzip member (the HUD client's httpx decodes only the first, silently) or one zstd frame. Rendering and
reading both hold a thousand tasks or a block in memory, never a set.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

import msgspec
import zstandard
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from proctor import content
from tasksets.models import Export, Taskset, Version
from tasksets.queries import iter_version_tasks

logger = logging.getLogger(__name__)
ENCODINGS = ("zstd", "gzip")
BLOCK = 256 * 1024
SUFFIX = {"gzip": "json.gz", "zstd": "json.zst"}


def get_exports(version: Version, name: str) -> dict[str, Export]:
    """Both encodings, made now when they are not there."""
    found = {export.encoding: export for export in Export.objects.filter(version=version, name=name)}
    return found if len(found) == len(ENCODINGS) else render_exports(version, name)


def render_exports(version: Version, name: str) -> dict[str, Export]:
    """Safe when two do it at once: the first one's rows stay, the other's files go."""
    with tempfile.TemporaryFile() as gzipped, tempfile.TemporaryFile() as zstd:
        plain_bytes = _write(version, name, gzipped, zstd)
        made = [_store(version, name, encoding, file, plain_bytes) for encoding, file in (("gzip", gzipped), ("zstd", zstd))]
    Export.objects.bulk_create(made, ignore_conflicts=True)
    kept = {export.encoding: export for export in Export.objects.filter(version=version, name=name)}
    for export in made:
        if kept[export.encoding].path != export.path:
            default_storage.delete(export.path)
    return kept


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


def drop_exports(taskset: Taskset) -> None:
    """For a rename, inside its transaction; the files go after the commit."""
    exports = Export.objects.filter(version__taskset=taskset)
    paths = list(exports.values_list("path", flat=True))
    exports.delete()
    transaction.on_commit(lambda: _delete_files(paths))


def _delete_files(paths: list[str]) -> None:
    for path in paths:
        default_storage.delete(path)


async def stream(export: Export, *, inflate: bool) -> AsyncIterator[bytes]:
    """The stored bytes, or the JSON in them, block by block."""
    file = await asyncio.to_thread(_open, export, inflate)
    try:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
    finally:
        await asyncio.to_thread(file.close)


def _open(export: Export, inflate: bool) -> Any:
    file = default_storage.open(export.path, "rb")
    return zstandard.ZstdDecompressor().stream_reader(file, closefd=True) if inflate and export.encoding == "zstd" else file
