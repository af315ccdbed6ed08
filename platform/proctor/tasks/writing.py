"""A taskset as a file: JSON (a list, one row a line), JSONL, or CSV with JSON in its cells; what `from_file` reads back exactly.

Written beside the target, flushed to the disk and moved over it, so that whatever interrupts leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from proctor.errors import BadFile
from proctor.tasks.task import FIELDS, Task

SUFFIXES = (".json", ".jsonl", ".csv")


def write_taskset(tasks: Iterable[Task], path: Path) -> Path:
    """See `Taskset.to_file`. Raises BadFile for another ending."""
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise BadFile(f"{path}: a taskset is written as {', '.join(SUFFIXES)}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, write(tasks))
    return path


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """The whole new content, or the old one."""
    descriptor, half = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(half, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(half, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(half)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _json(tasks: Iterable[Task]) -> Iterator[bytes]:
    before = b"[\n"
    for task in tasks:
        yield before + b"  " + task.to_json()
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


def _jsonl(tasks: Iterable[Task]) -> Iterator[bytes]:
    return (task.to_json() + b"\n" for task in tasks)


def _csv(tasks: Iterable[Task]) -> Iterator[bytes]:
    """Only the columns that some task fills."""
    rows = list(tasks)
    names = [name for name in FIELDS[2:] if any(task.field_text(name) is not None for task in rows)]
    yield _line(["slug", "env", "id", *names])
    for task in rows:
        yield _line([task.slug, task.env, task.id, *(task.field_text(name) or "" for name in names)])


def _line(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


_WRITERS: dict[str, Callable[[Iterable[Task]], Iterator[bytes]]] = {".json": _json, ".jsonl": _jsonl, ".csv": _csv}
