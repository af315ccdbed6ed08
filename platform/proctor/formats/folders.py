"""A zip of task folders (Harbor's layout: `task.toml`, `instruction.md`, `environment/`, `tests/`), looked through without unpacking.

Nothing is ever written under a name from the archive. A name that leads outside, or too much of anything, refuses the file; a link or
an implausible entry is a problem of its folder. A folder with `result.json` is a job of Harbor's and named, not read. A zip of ours
(`ours.INDEX` in its root) keeps its order, and a folder's own row, where it has one, says what the task is. Pure.
"""

from __future__ import annotations

import contextlib
import stat
import struct
import tarfile
import tomllib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import IO, Any

import msgspec
from msgspec import Raw

from proctor.formats.base import Cell, FileRefused, Limits, ReadOptions, Row, RowProblem, problem
from proctor.formats.json_rows import json_row
from proctor.formats.ours import INDEX, MARK, ROW
from proctor.formats.values import json_of

MAGIC = b"PK\x03\x04", b"PK\x05\x06"
TASK, JOB, INSTRUCTION = "task.toml", "result.json", "instruction.md"
NOISE = ("__MACOSX", ".DS_Store")
BROKEN = (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, zlib.error)
INDEX_BYTES = 64 * 1024**2
TOML_BYTES = 1024**2
NAME_LENGTH = 500
TEMPLATE = "run"
PATH = "path"
COLUMNS = ("slug", "env", "task_id", "args", "validation", "agent_config", "columns", "runtime_config", "verifier")
SPELLINGS = {"name": "slug", "id": "task_id", "scenario": "task_id"}
INDEX_FILE_BYTES = 32 * 1024**2
RESOURCES = {"cpus": "cpu", "memory_mb": "memory_mb", "storage_mb": "storage_mb"}


@dataclass(frozen=True)
class Folder:
    """`path` is the folder's in the archive, `files` its entries by their path inside the folder, in order; `row` the task's own row,
    in a zip of ours."""

    path: str
    files: dict[str, zipfile.ZipInfo]
    problems: tuple[str, ...] = ()
    row: zipfile.ZipInfo | None = None

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name or "task"


@dataclass(frozen=True)
class Bundle:
    archive: zipfile.ZipFile
    tasks: list[Folder]
    jobs: list[str]
    others: list[zipfile.ZipInfo]

    @cached_property
    def by_path(self) -> dict[str, Folder]:
        return {folder.path: folder for folder in self.tasks}


@dataclass(frozen=True)
class Files:
    """A task folder's files, wherever they lie; `read(name, limit)` raises FileRefused."""

    names: Container[str]
    read: Callable[[str, int], str]


def open_bundle(source: IO[bytes], limits: Limits) -> Bundle:
    """Raises FileRefused. `source` must be seekable, and stay open."""
    _check_index(source)
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
        raise FileRefused(f"The zip can't be read: {error}") from None
    files = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_noise(entry.filename)]
    _check_entries(archive.infolist(), limits)
    order = _own_order(archive, files)
    tasks, others = _folders(files, limits, (TASK,) if order is None else (TASK, ROW))
    if order is not None:
        tasks.sort(key=lambda folder: order.get(folder.path, len(order)))
    return Bundle(archive, tasks, _jobs(others), others)


def _own_order(archive: zipfile.ZipFile, files: Sequence[zipfile.ZipInfo]) -> dict[str, int] | None:
    """The places of the folders in a zip of ours; None for any other."""
    entry = next((entry for entry in files if entry.filename == INDEX and entry.file_size <= INDEX_FILE_BYTES), None)
    if entry is None:
        return None
    with contextlib.suppress(*BROKEN, ValueError, RecursionError):
        index = msgspec.json.decode(archive.read(entry))
        if isinstance(index, dict) and index.get("format") == MARK and isinstance(index.get("folders"), list):
            return {str(path): place for place, path in enumerate(index["folders"])}
    return None


def _check_index(source: IO[bytes]) -> None:
    """The index is read whole, so its size is looked at first."""
    size = source.seek(0, 2)
    source.seek(max(0, size - 65_557))
    tail = source.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise FileRefused("The zip is cut short: it has no index at its end")
    entries, index_bytes = struct.unpack("<HL", tail[at + 10 : at + 16])
    zip64 = tail.rfind(b"PK\x06\x06", 0, at)
    if zip64 >= 0 and len(tail) - zip64 >= 48 and (index_bytes == 0xFFFFFFFF or entries == 0xFFFF):
        index_bytes = struct.unpack("<Q", tail[zip64 + 40 : zip64 + 48])[0]
    if index_bytes > INDEX_BYTES:
        raise FileRefused(f"The zip's index says that it has {index_bytes:,} bytes; the limit is {INDEX_BYTES:,}")
    source.seek(0)


def _check_entries(entries: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    if len(entries) > limits.entries:
        raise FileRefused(f"The zip holds {len(entries):,} entries; the limit is {limits.entries:,}")
    if sum(entry.file_size for entry in entries) > limits.unpacked_bytes:
        raise FileRefused(f"The zip says that it unpacks to more than {limits.unpacked_bytes:,} bytes")
    names: set[str] = set()
    for entry in entries:
        why = _fault_of(entry.filename) or ("stands twice in the zip" if entry.filename in names else None)
        if why:
            raise FileRefused(f"The entry {entry.filename[:200]!r} {why}")
        names.add(entry.filename)


def _fault_of(name: str) -> str | None:
    parts = name.rstrip("/").split("/")
    if name.startswith("/") or "\\" in name or (len(name) > 1 and name[1] == ":"):
        return "has an absolute name, or one of another system"
    if any(part in ("", ".", "..") for part in parts):
        return "leads out of its folder"
    if len(name) > NAME_LENGTH or any(ord(character) < 32 or 0xD800 <= ord(character) <= 0xDFFF for character in name):
        return "has a name that is too long or holds control characters"
    return None


def _is_noise(name: str) -> bool:
    return any(part in NOISE for part in name.split("/"))


def _folders(files: Sequence[zipfile.ZipInfo], limits: Limits, marks: Container[str]) -> tuple[list[Folder], list[zipfile.ZipInfo]]:
    """The outermost folders with one of the marks in them, by path; and what is in none of them."""
    roots = {entry.filename.rpartition("/")[0] for entry in files if entry.filename.rpartition("/")[2] in marks}
    held: dict[str, dict[str, zipfile.ZipInfo]] = {}
    others: list[zipfile.ZipInfo] = []
    for entry in files:
        root = _root_of(entry.filename, roots)
        if root is None:
            others.append(entry)
        else:
            held.setdefault(root, {})[entry.filename[len(root) + 1 if root else 0 :]] = entry
    return [_folder(path, held[path], limits, ROW in marks) for path in sorted(held)], others


def _folder(path: str, files: dict[str, zipfile.ZipInfo], limits: Limits, is_ours: bool) -> Folder:
    problems = tuple(_problems(files, limits))
    return Folder(path, files, problems, files.pop(ROW, None) if is_ours else None)


def _root_of(name: str, roots: set[str]) -> str | None:
    parts = name.split("/")[:-1]
    return next((root for root in ("/".join(parts[:length]) for length in range(len(parts) + 1)) if root in roots), None)


def _problems(files: dict[str, zipfile.ZipInfo], limits: Limits) -> Iterator[str]:
    for name, entry in files.items():
        if stat.S_ISLNK(entry.external_attr >> 16):
            yield f"{name} is a link; put the file itself there"
        elif entry.flag_bits & 1:
            yield f"{name} is encrypted"
        elif entry.file_size > limits.free_bytes and entry.file_size > entry.compress_size * limits.ratio:
            yield f"{name} unpacks to {entry.file_size:,} bytes, more than {limits.ratio} times its size"


def _jobs(files: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The outermost folders with a result.json."""
    roots = {entry.filename.rpartition("/")[0] for entry in files if entry.filename.rpartition("/")[2] == JOB}
    return sorted(root for root in roots if _root_of(f"{root}/x", roots) == root)


def read_folders(bundle: Bundle, options: ReadOptions) -> Iterator[Row]:
    """A row for each task folder, numbered in their order: by path, or as a zip of ours says."""
    names = Counter(folder.name for folder in bundle.tasks)
    for number, folder in enumerate(bundle.tasks, 1):
        slug = folder.name if names[folder.name] == 1 else folder.path
        yield folder_row(bundle, folder, number, slug, options)


def folder_row(bundle: Bundle, folder: Folder, number: int, slug: str, options: ReadOptions) -> Row:
    """With all COLUMNS, so that the first rows show which there are; PATH only where the folder is an environment's."""
    place: dict[str, Cell] = {PATH: folder.path} if TASK in folder.files else {}
    problems = [problem(PATH, why) for why in folder.problems]
    if folder.row is not None:
        return _own_row(bundle, folder.row, number, place, problems, options)
    files = Files(folder.files, lambda name, limit: read_text(bundle, folder, name, limit))
    try:
        return Row(number, {**place, **folder_cells(folder.name, slug, files, options)}, problems=tuple(problems))
    except FileRefused as error:
        return Row(number, place, problems=(*problems, problem(TASK, str(error))))


def _own_row(bundle: Bundle, entry: zipfile.ZipInfo, number: int, place: dict[str, Cell], problems: list[RowProblem], options: ReadOptions) -> Row:  # fmt: skip
    try:
        row = json_row(_read_entry(bundle, entry, ROW, options.limits.row_bytes).strip().encode(), number)
    except FileRefused as error:
        return Row(number, place, problems=(*problems, problem(ROW, str(error))))
    cells = {SPELLINGS.get(name, name): cell for name, cell in row.cells.items()}
    odd = [problem(name, "is not a field of a task") for name in cells if name not in COLUMNS]
    whole: dict[str, Cell] = {name: cells.get(name, "") for name in COLUMNS}
    return Row(number, {**place, **whole}, problems=(*problems, *row.problems, *odd))


def folder_cells(name: str, slug: str, files: Files, options: ReadOptions) -> dict[str, Cell]:
    """The task that a folder of this name is, by its `task.toml` and `instruction.md`. Raises FileRefused."""
    try:
        config = tomllib.loads(files.read(TASK, TOML_BYTES), parse_float=_float)
        return {**dict.fromkeys(COLUMNS, ""), **_cells(name, config, _instruction(files, config, options), slug, options)}
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise FileRefused(str(error) or "is nested too deep") from None


def read_text(bundle: Bundle, folder: Folder, name: str, limit: int) -> str:
    """Raises FileRefused."""
    entry = folder.files.get(name)
    if entry is None:
        raise FileRefused(f"{name} is missing")
    return _read_entry(bundle, entry, name, limit)


def _read_entry(bundle: Bundle, entry: zipfile.ZipInfo, name: str, limit: int) -> str:
    if entry.file_size > limit:
        raise FileRefused(f"{name} has {entry.file_size:,} bytes; the limit is {limit:,}")
    try:
        with bundle.archive.open(entry) as file:
            return file.read(limit + 1).decode()
    except BROKEN as error:
        raise FileRefused(f"{name} can't be read: {error}") from None
    except UnicodeDecodeError:
        raise FileRefused(f"{name} is not UTF-8") from None


def _instruction(files: Files, config: dict[str, Any], options: ReadOptions) -> str | None:
    if config.get("steps") and INSTRUCTION not in files.names:
        return None
    return files.read(INSTRUCTION, options.limits.row_bytes)


def _cells(name: str, config: dict[str, Any], instruction: str | None, slug: str, options: ReadOptions) -> dict[str, Cell]:
    metadata, package = _table(config, "metadata"), _table(config, "task")
    columns = {**metadata, **({"keywords": package["keywords"]} if package.get("keywords") and "keywords" not in metadata else {})}
    limits = _table(config, "environment")
    resources = {ours: limits[theirs] for theirs, ours in RESOURCES.items() if limits.get(theirs) is not None}
    timeout = _table(config, "agent").get("timeout_sec")
    cells: dict[str, Cell] = {"slug": slug, "env": options.handle(name), "task_id": TEMPLATE}
    if instruction is not None:
        cells["args"] = json_of({"instruction": instruction})
    if columns:
        cells["columns"] = json_of(columns)
    if timeout is not None:
        cells["agent_config"] = json_of({"timeout_seconds": timeout})
    if resources:
        cells["runtime_config"] = json_of({"resources": resources})
    return cells


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    found = config.get(name, {})
    if not isinstance(found, dict):
        raise FileRefused(f"[{name}] must be a table")
    return found


def _float(text: str) -> Raw | str:
    """A TOML float with its own digits; what JSON has not (`inf`, `1_0.0`) as text."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return Raw(text.encode())


def write_tar(bundle: Bundle, folder: Folder, target: IO[bytes]) -> None:
    """The folder's files as a tar that is the same for the same files, whatever their times and order. Raises FileRefused."""
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, entry in sorted(folder.files.items()):
            record = tarfile.TarInfo(name)
            record.size, record.mode = entry.file_size, 0o755 if (entry.external_attr >> 16) & 0o111 else 0o644
            try:
                with bundle.archive.open(entry) as file:
                    tar.addfile(record, file)
            except BROKEN as error:
                raise FileRefused(f"{name} can't be read: {error}") from None
