"""A zip of task folders, as a stream: the folder of a task whose environment is one, and the task's own row where that is not all. Pure.

`README.md` says what is in the zip, `proctor.json` in which order. A folder's row file is left out when `task.toml` and
`instruction.md` alone make this very task, so a folder that came from elsewhere goes out as it came in.
"""

from __future__ import annotations

import io
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO

import msgspec

from proctor.formats.base import FileRefused, ReadOptions, Row
from proctor.formats.folders import COLUMNS, Files, folder_cells
from proctor.formats.guess import map_tasks
from proctor.formats.mapping import Mapper
from proctor.formats.ours import INDEX, README, ROW
from tasksets.downloads.packing import Sink
from tasksets.downloads.rows import BLOCK, Facts, Outgoing, about, row_of

OpenFolder = Callable[[str], IO[bytes] | None]
"""An environment's name → its newest folder as a tar, to be closed; None when it is no folder."""

WHEN = (1980, 1, 1, 0, 0, 0)
RESERVED = {INDEX, README.lower(), "__macosx", "con", "prn", "aux", "nul"}
TEXT = """# {name}, version {number}

A taskset from Proctor: {tasks}, {digest}

Each folder is a task. A folder with `task.toml` has Harbor's layout; its files are those of the environment's newest version.
`{row}` is the task's own row (slug, environment, template id and its other fields) where `task.toml` and `instruction.md` do not say
all of it, and counts instead of them. `{index}` holds the order. Zip the folders again and Proctor imports the same version.

Not in here: the history of the taskset, its tags, and older versions of the environments.
"""


def write_zip(tasks: Iterable[Outgoing], facts: Facts, open_folder: OpenFolder, options: ReadOptions) -> Iterator[bytes]:
    return _Writer(facts, open_folder, options).write(tasks)


class _Writer:
    def __init__(self, facts: Facts, open_folder: OpenFolder, options: ReadOptions) -> None:
        self._facts, self._open_folder, self._options = facts, open_folder, options
        self._sink = Sink()
        self._archive = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=3)
        self._mapper = Mapper(map_tasks(COLUMNS))
        self._names = _Names()

    def write(self, tasks: Iterable[Outgoing]) -> Iterator[bytes]:
        paths: list[str] = []
        yield from self._text(README, _readme(self._facts))
        for task in tasks:
            paths.append(self._names.take(task.slug))
            yield from self._task(task, paths[-1])
        yield from self._text(INDEX, msgspec.json.format(msgspec.json.encode({**about(self._facts), "folders": paths}), indent=1))
        self._archive.close()
        yield self._sink.take()

    def _task(self, task: Outgoing, path: str) -> Iterator[bytes]:
        tar_file = self._open_folder(msgspec.json.decode(task.text, type=_Env).env)
        if tar_file is not None:
            with tar_file, tarfile.open(fileobj=tar_file, mode="r:") as tar:
                members = {member.name: member for member in tar if member.isfile() and member.name != ROW}
                yield from self._folder(tar, members, path)
                if self._read_back(tar, members, path) == task:
                    return
        yield from self._text(f"{path}/{ROW}", row_of(task) + b"\n")

    def _folder(self, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], path: str) -> Iterator[bytes]:
        for name, member in members.items():
            source = tar.extractfile(member)
            if source is not None:
                yield from self._file(f"{path}/{name}", source, member.size, 0o755 if member.mode & 0o111 else 0o644)

    def _read_back(self, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], path: str) -> Outgoing | None:
        """The task that the importer makes of the folder alone."""
        try:
            cells = folder_cells(path, path, Files(members, lambda name, limit: _text_in(tar, members, name, limit)), self._options)
            made = self._mapper.make(Row(1, cells), 1).task
        except FileRefused:
            return None
        return Outgoing(made.slug, made.text) if made is not None else None

    def _text(self, name: str, text: bytes) -> Iterator[bytes]:
        return self._file(name, io.BytesIO(text), len(text), 0o644)

    def _file(self, name: str, source: IO[bytes], size: int, mode: int) -> Iterator[bytes]:
        entry = zipfile.ZipInfo(name, WHEN)
        entry.compress_type, entry.external_attr, entry.file_size = zipfile.ZIP_DEFLATED, (stat.S_IFREG | mode) << 16, size
        with self._archive.open(entry, "w") as target:
            while piece := source.read(BLOCK):
                target.write(piece)
                if self._sink.waiting >= BLOCK:
                    yield self._sink.take()


class _Env(msgspec.Struct):
    env: str


class _Names:
    """A folder for each slug: safe on every system, and unique there too."""

    def __init__(self) -> None:
        self._taken = set(RESERVED)
        self._next: dict[str, int] = {}

    def take(self, slug: str) -> str:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", slug).strip(".-")[:80].rstrip(".-") or "task"
        name, key = base, base.lower()
        while name.lower() in self._taken:
            self._next[key] = self._next.get(key, 1) + 1
            name = f"{base}-{self._next[key]}"
        self._taken.add(name.lower())
        return name


def _text_in(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str, limit: int) -> str:
    member = members.get(name)
    source = tar.extractfile(member) if member is not None and member.size <= limit else None
    if source is None:
        raise FileRefused(f"{name} is missing or too large")
    try:
        return source.read().decode()
    except UnicodeDecodeError:
        raise FileRefused(f"{name} is not UTF-8") from None


def _readme(facts: Facts) -> bytes:
    tasks = f"{facts.task_count:,} tasks" + (f" ({facts.redacted:,} of them redacted: only a marker is left)" if facts.redacted else "")
    digest = facts.digest or "a part of the version"
    return TEXT.format(name=facts.name, number=facts.number, tasks=tasks, digest=digest, row=ROW, index=INDEX).encode()
