"""Files that come in parts: each part is an object of its own in storage, so nothing is ever appended to or half there.

A part is stored before its row is written, and counts only when it begins where the last one ended; a repeated part changes nothing.
`open_upload` reads them as one file. An upload is dropped a day after its last part, with every import that was not finished.
"""

from __future__ import annotations

import io
import logging
import uuid
from bisect import bisect_right
from collections.abc import Iterable
from datetime import timedelta
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from accounts.callers import Caller
from tasksets.imports.models import Import, SavedMapping, Upload, UploadPart
from tasksets.models import Taskset
from web.errors import AppError, conflict, invalid, not_found, problem, too_large
from web.ids import known_uuid, parse_uuid

logger = logging.getLogger(__name__)
PART_BYTES = 8 * 1024**2
FOLDER = "imports"
LIFE = timedelta(hours=24)
BLOCK = 256 * 1024


def begin_upload(caller: Caller, *, filename: str, size_bytes: int) -> Upload:
    """Raises AppError 413, 422."""
    caller.require("write")
    if size_bytes > settings.PROCTOR_LIMITS["import_bytes"]:
        raise too_large("import_bytes")
    if any(ord(character) < 32 for character in filename):
        raise invalid([problem("filename", "must hold no control characters", filename)])
    return Upload.objects.create(
        team_id=caller.team_id, filename=filename, size_bytes=size_bytes, created_by=caller.label, expires_at=timezone.now() + LIFE
    )


def get_upload(caller: Caller, upload_id: str) -> Upload:
    """Raises AppError 404."""
    upload = Upload.objects.filter(team_id=caller.team_id, id=known_uuid(upload_id, "Upload"), expires_at__gt=timezone.now()).first()
    if upload is None:
        raise not_found("Upload")
    return upload


def receive(caller: Caller, upload: Upload, body: IO[bytes], *, offset: int, announced: int | None) -> int:
    """One request's bytes, cut into parts; returns what is there then. Parts that came whole stay when the connection breaks.
    Raises AppError 400 (cut short), 409 (another offset is due), 413."""
    caller.require("write")
    if announced is not None and offset + announced > upload.size_bytes:
        raise _too_much(upload)
    if offset != upload.received_bytes:
        return _repeated(upload, offset, announced)
    received = offset
    while piece := _read_part(body):
        if received + len(piece) > upload.size_bytes:
            raise _too_much(upload)
        if announced is not None and received + len(piece) < offset + announced and len(piece) < PART_BYTES:
            raise AppError(
                "truncated", 400, f"The body ended after {received + len(piece) - offset:,} of {announced:,} bytes", received_bytes=received
            )
        received = _store(upload, received, piece)
    if announced is not None and received < offset + announced:
        raise AppError("truncated", 400, f"The body ended after {received - offset:,} of {announced:,} bytes", received_bytes=received)
    return received


def receive_all(upload: Upload, pieces: Iterable[bytes]) -> int:
    """A file whose size shows at its end; the upload is whole then. Returns its size. Raises AppError 404 when it was dropped meanwhile."""
    held, received = bytearray(), 0
    for piece in pieces:
        held += piece
        while len(held) >= PART_BYTES:
            received = _store(upload, received, bytes(held[:PART_BYTES]))
            del held[:PART_BYTES]
    if held:
        received = _store(upload, received, bytes(held))
    Upload.objects.filter(id=upload.id).update(size_bytes=received)
    upload.size_bytes = received
    return received


def _too_much(upload: Upload) -> AppError:
    return AppError("too_large", 413, f"The upload was announced with {upload.size_bytes:,} bytes; this part would go beyond")


def _repeated(upload: Upload, offset: int, announced: int | None) -> int:
    """A part whose answer was lost, sent again."""
    if announced is not None and offset + announced <= upload.received_bytes:
        return upload.received_bytes
    raise conflict(f"The next part begins at byte {upload.received_bytes:,}, not {offset:,}", received_bytes=upload.received_bytes)


def _read_part(body: IO[bytes]) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size < PART_BYTES and (piece := body.read(min(BLOCK, PART_BYTES - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _store(upload: Upload, offset: int, piece: bytes) -> int:
    path = default_storage.save(f"{FOLDER}/{upload.id}/{uuid.uuid4().hex}", File(io.BytesIO(piece)))
    end = offset + len(piece)
    with transaction.atomic():
        due = Upload.objects.filter(id=upload.id, received_bytes=offset)
        first = due.update(received_bytes=end, expires_at=timezone.now() + LIFE)
        if first:
            UploadPart.objects.create(upload=upload, offset=offset, size_bytes=len(piece), path=path)
    if not first:
        default_storage.delete(path)
        there = Upload.objects.filter(id=upload.id).values_list("received_bytes", flat=True).first()
        if there is None:
            raise not_found("Upload")
        raise conflict("The same part came twice at once", received_bytes=there)
    return end


def drop_upload(upload: Upload) -> None:
    """The files after the rows, so that no row names what is gone."""
    folder = f"{FOLDER}/{upload.id}"
    with transaction.atomic():
        Import.objects.filter(upload=upload).exclude(status="done").delete()
        upload.delete()
    _delete(folder)


def drop_imports_of(taskset: Taskset) -> None:
    """Of a set that is purged: files, edits, the values in errors, the mapping, and the lines of history."""
    uploads = list(Upload.objects.filter(imports__taskset=taskset).distinct())
    Import.objects.filter(taskset=taskset).delete()
    SavedMapping.objects.filter(taskset=taskset).delete()
    for upload in uploads:
        if not upload.imports.exists():
            drop_upload(upload)


def _delete(folder: str) -> None:
    """With parts that no row names, left by a process that was killed."""
    try:
        _folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in files:
        default_storage.delete(f"{folder}/{name}")
    default_storage.delete(folder)


def drop_expired(limit: int = 100) -> int:
    """What was abandoned a day ago. Imports that somebody works on stay."""
    now = timezone.now()
    busy = Import.objects.filter(status__in=("pulling", "checking", "committing"), claimed_until__gt=now, upload__isnull=False)
    expired = list(Upload.objects.filter(expires_at__lt=now).exclude(id__in=busy.values("upload_id"))[:limit])
    for upload in expired:
        drop_upload(upload)
    Import.objects.filter(status__in=("cancelled", "failed"), auto=False, upload=None, created_at__lt=now - LIFE).delete()
    _drop_strays()
    if expired:
        logger.info("abandoned uploads dropped count=%d", len(expired))
    return len(expired)


def _drop_strays() -> None:
    """Folders whose upload is gone: whoever dropped it was killed before the files went."""
    try:
        names = default_storage.listdir(FOLDER)[0]
    except FileNotFoundError:
        return
    ids = {name: known for name in names if (known := parse_uuid(name)) is not None}
    alive = set(Upload.objects.filter(id__in=ids.values()).values_list("id", flat=True))
    for name, known in ids.items():
        if known not in alive:
            _delete(f"{FOLDER}/{name}")


def open_upload(upload: Upload) -> IO[bytes]:
    """All parts as one file that can be sought in. Raises AppError 409 while parts are missing."""
    if upload.received_bytes != upload.size_bytes:
        raise conflict(
            f"The upload is not whole: {upload.received_bytes:,} of {upload.size_bytes:,} bytes are here",
            received_bytes=upload.received_bytes,
        )
    parts = list(upload.parts.order_by("offset"))
    return io.BufferedReader(_Parts(parts), BLOCK)


class _Parts(io.RawIOBase):
    """One part is open at a time."""

    def __init__(self, parts: list[UploadPart]) -> None:
        self._parts, self._offsets = parts, [part.offset for part in parts]
        self._size = parts[-1].offset + parts[-1].size_bytes if parts else 0
        self._at, self._index = 0, -1
        self._open: IO[bytes] = io.BytesIO()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (self._at if whence == 1 else self._size if whence == 2 else 0))
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if self._at >= self._size:
            return 0
        index = bisect_right(self._offsets, self._at) - 1
        if index != self._index:
            self._open.close()
            self._open, self._index = default_storage.open(self._parts[index].path, "rb"), index
        self._open.seek(self._at - self._offsets[index])
        piece = self._open.read(len(view))
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._open.close()
        super().close()
