"""A run that ended keeps its spans in one file: the segments' rows become zstd frames one behind the other, read by their offsets.

The file is written and safe on disk first; then, under the run's lock, one transaction names it and deletes the segments that are in it. Killed before
that, the file is a stray that the sweep takes away; killed behind it, the old file is. Spans that come later make segments again, which go to
the file at the next time. Doing it twice, or two at once, changes nothing.
"""

from __future__ import annotations

import logging
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import IO

import zstandard
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from runs.actions.spans import lock_run
from runs.models import TERMINAL, Run, SpanFile, SpanSegment
from tasksets.sweeping import sweep_files

logger = logging.getLogger(__name__)
QUIET = timedelta(minutes=10)
FRAME_BYTES = 512 * 1024
AT_ONCE, LEVEL = 200, 9


@dataclass(frozen=True)
class Frame:
    """`count` spans from `first_seq` on, `length` bytes at `offset`."""

    first_seq: int
    count: int
    offset: int
    length: int


def compact_some(limit: int = AT_ONCE) -> int:
    """The runs that ended, and have changed nothing for ten minutes. How many were done."""
    ended = Run.objects.filter(state__in=TERMINAL, changed_at__lt=timezone.now() - QUIET)
    due = SpanSegment.objects.filter(run__in=ended).order_by().values_list("run_id", flat=True).distinct()[:limit]
    return sum(compact(run_id) for run_id in list(due))


def compact(run_id: uuid.UUID) -> bool:
    """False when there was nothing to do, or another was first."""
    before = SpanFile.objects.filter(run_id=run_id).first()
    with tempfile.TemporaryFile(prefix="proctor-spans-") as draft:
        frames, taken = _write(run_id, before, draft)
        if not taken:
            return False
        path = _store(run_id, draft)
    done = _commit(run_id, before, path, frames, taken)
    stale = before.path if done and before else path if not done else None
    if stale is not None:
        default_storage.delete(stale)
    return done


def _write(run_id: uuid.UUID, before: SpanFile | None, draft: IO[bytes]) -> tuple[list[Frame], list[int]]:
    """What the file held, byte for byte, and the segments behind it. Gives the frames and the segments' ids."""
    frames: list[Frame] = []
    taken: list[int] = []
    if before is not None:
        with default_storage.open(before.path, "rb") as old:
            for block in old.chunks():
                draft.write(block)
        frames = [Frame(*frame) for frame in before.frames]
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    for group in _groups(SpanSegment.objects.filter(run_id=run_id).order_by("first_seq").iterator(chunk_size=8)):
        body = compressor.compress(b"\n".join(text for _segment, text in group))
        count = sum(segment.count for segment, _text in group)
        frames.append(Frame(group[0][0].first_seq, count, draft.tell(), len(body)))
        taken += [segment.pk for segment, _text in group]
        draft.write(body)
    return frames, taken


def _groups(segments: Iterable[SpanSegment]) -> Iterator[list[tuple[SpanSegment, bytes]]]:
    """Neighbours without a gap between them, of about half a megabyte together."""
    group: list[tuple[SpanSegment, bytes]] = []
    size = 0
    for segment in segments:
        last = group[-1][0] if group else None
        if last is not None and (size >= FRAME_BYTES or last.first_seq + last.count != segment.first_seq):
            yield group
            group, size = [], 0
        text = zstandard.ZstdDecompressor().decompress(bytes(segment.body))
        group.append((segment, text))
        size += len(text)
    if group:
        yield group


def _store(run_id: uuid.UUID, draft: IO[bytes]) -> str:
    draft.seek(0)
    path = default_storage.save(f"spans/{run_id.hex[:2]}/{run_id}/{uuid.uuid4().hex}.zst", File(draft))
    _settle(path)
    return path


def _settle(path: str) -> None:
    """On a disk of ours, through its caches: the rows that are deleted next were as safe as that."""
    try:
        place = default_storage.path(path)
    except NotImplementedError:
        return
    for name in (place, os.path.dirname(place)):
        handle = os.open(name, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _commit(run_id: uuid.UUID, before: SpanFile | None, path: str, frames: list[Frame], taken: list[int]) -> bool:
    rows = [[frame.first_seq, frame.count, frame.offset, frame.length] for frame in frames]
    with transaction.atomic():
        lock_run(run_id)
        now = SpanFile.objects.filter(run_id=run_id).values_list("path", flat=True).first()
        if now != (before.path if before else None):
            return False
        SpanFile.objects.update_or_create(run_id=run_id, defaults={"path": path, "frames": rows})
        SpanSegment.objects.filter(pk__in=taken).delete()
    return True


def sweep_span_files() -> int:
    return sweep_files("spans", lambda paths: SpanFile.objects.filter(path__in=paths).values_list("path", flat=True))
