"""Is this archive fit to be a build context, and what is in it? Pure looks at an uploaded tar, before any engine sees it.

Refused: what is no tar, has no Dockerfile at its root, is too big or has too many entries, and entries that point outside
(absolute names, `..`, links that leave) or are no plain files (devices, pipes). `Dockerfile.hud` goes before `Dockerfile`, as HUD's
documentation has it. Blocking: call these in a thread.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, isabs, join, normpath
from typing import IO

MAX_ARCHIVE_BYTES = 256 * 1024**2
MAX_CONTENT_BYTES = 1024**3
MAX_ENTRIES = 100_000
MAX_PROBLEMS = 20
DOCKERFILES = ("Dockerfile.hud", "Dockerfile")
MAX_DOCKERFILE_BYTES = 1024**2


@dataclass(frozen=True)
class ContextProblem:
    """What is wrong, and where: an entry's name, or the archive."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True)
class Dockerfile:
    """The one that a build of the context uses."""

    name: str
    text: str


def read_dockerfile(path: Path) -> Dockerfile:
    """Of a checked archive. Of two entries with one name the later counts, as when they are unpacked."""
    found: dict[str, str] = {}
    with tarfile.open(path, "r:*") as archive:
        for entry in archive:
            name = normpath(entry.name)
            if name in DOCKERFILES and (file := archive.extractfile(entry) if entry.isfile() else None):
                found[name] = file.read(MAX_DOCKERFILE_BYTES).decode(errors="replace")
    name = next(name for name in DOCKERFILES if name in found)
    return Dockerfile(name, found[name])


def context_digest(path: Path) -> str:
    """`sha256:…` of a checked archive's entries: names, kinds, modes and contents, whatever their order, times, owners and compression.
    `.hud` holds the HUD command line's own note of where a folder goes; it counts for nothing."""
    entries: dict[str, list[object]] = {}
    with tarfile.open(path, "r:*") as archive:
        for entry in archive:
            if normpath(entry.name).split("/", 1)[0] == ".hud":
                continue
            file = archive.extractfile(entry) if entry.isfile() else None
            content = _digest(file) if file else entry.linkname
            entries[normpath(entry.name)] = [entry.type.decode("latin-1"), entry.mode, content]
    return f"sha256:{hashlib.sha256(json.dumps(sorted(entries.items())).encode()).hexdigest()}"


def _digest(file: IO[bytes]) -> str:
    found = hashlib.sha256()
    while block := file.read(1024 * 1024):
        found.update(block)
    return found.hexdigest()


def check_build_context(path: Path) -> list[ContextProblem]:
    """All problems (the first twenty); none means that the archive may be built."""
    size = path.stat().st_size
    if size > MAX_ARCHIVE_BYTES:
        return [_of_archive(f"{size} bytes, the limit is {MAX_ARCHIVE_BYTES}")]
    try:
        with tarfile.open(path, "r:*") as archive:
            return _check_entries(archive)
    except (tarfile.TarError, EOFError, OSError) as error:
        return [_of_archive(f"not a readable tar: {error}")]


def _check_entries(archive: tarfile.TarFile) -> list[ContextProblem]:
    problems: list[ContextProblem] = []
    entries, content_bytes, has_dockerfile = 0, 0, False
    for entry in archive:
        entries, content_bytes = entries + 1, content_bytes + entry.size
        if entries > MAX_ENTRIES:
            return [*problems, _of_archive(f"more than {MAX_ENTRIES} entries")]
        if content_bytes > MAX_CONTENT_BYTES:
            return [*problems, _of_archive(f"more than {MAX_CONTENT_BYTES} bytes when unpacked")]
        problems.extend(ContextProblem(entry.name, message) for message in _faults(entry))
        if len(problems) >= MAX_PROBLEMS:
            return problems[:MAX_PROBLEMS]
        has_dockerfile = has_dockerfile or (entry.isfile() and normpath(entry.name) in DOCKERFILES)
    if not has_dockerfile:
        problems.append(_of_archive("no Dockerfile at its root"))
    return problems


def _faults(entry: tarfile.TarInfo) -> Iterator[str]:
    if isabs(entry.name):
        yield "absolute name"
    elif _leaves(entry.name):
        yield "name leads out of the archive"
    if entry.issym() or entry.islnk():
        base = dirname(entry.name) if entry.issym() else ""
        if isabs(entry.linkname):
            yield f"link to an absolute path ({entry.linkname})"
        elif _leaves(join(base, entry.linkname)):
            yield f"link leads out of the archive ({entry.linkname})"
    elif not (entry.isfile() or entry.isdir()):
        yield "not a file, folder or link"


def _leaves(name: str) -> bool:
    return normpath(name).split("/", 1)[0] == ".."


def _of_archive(message: str) -> ContextProblem:
    return ContextProblem("archive", message)
