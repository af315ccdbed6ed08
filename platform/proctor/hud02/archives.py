"""Unpacking what came out of an environment: a tar that somebody else wrote."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO


class UnsafeArchive(ValueError):
    """A member leads out of the folder, or is neither a file nor a folder. Names it; nothing was written."""


def extract(archive: IO[bytes], folder: Path, *, limit: int = 4 * 1024**3) -> list[Path]:
    """Files and folders alone, inside `folder`, at most `limit` bytes; all are looked at before the first is written. The paths written.
    `archive` must be seekable. Raises UnsafeArchive, tarfile.TarError."""
    with tarfile.open(fileobj=archive) as tar:
        members = tar.getmembers()
        _check(members, limit)
        tar.extractall(folder, members, filter="data")
        return [folder / member.name for member in members if member.isfile()]


def _check(members: Iterable[tarfile.TarInfo], limit: int) -> None:
    total = 0
    for member in members:
        path = Path(member.name)
        if path.is_absolute() or ".." in path.parts:
            raise UnsafeArchive(f"{member.name!r} leads out of the folder")
        if not (member.isfile() or member.isdir()):
            raise UnsafeArchive(f"{member.name!r} is a link or a device")
        total += member.size
    if total > limit:
        raise UnsafeArchive(f"The archive unpacks to {total:,} bytes, more than {limit:,}")
