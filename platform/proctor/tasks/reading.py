"""From a file to a taskset, by the readers that the server's imports use (`proctor.formats`), so that both understand a file alike.

Rows that are tasks already are taken as they stand; others are mapped by the same guess that the page begins with. All problems
come at once, each with its line.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Raw

from proctor.errors import BadFile
from proctor.formats import FileRefused, ReadOptions, Row, opened
from proctor.formats.guess import guess_mapping, layout_of
from proctor.formats.json_rows import BOM, json_row
from proctor.formats.mapping import Made, Mapper
from proctor.tasks.modules import taskset_of_module
from proctor.tasks.task import Task
from proctor.tasks.taskset import Taskset
from proctor.wire.imports import Mapping, Source

LOOKED_AT = 200
SHOWN_PROBLEMS = 20
TASK_FILE = "task.toml"


def read_taskset(path: Path, *, env: str | None, template: str | None) -> Taskset:
    """See `Taskset.from_file`."""
    if path.suffix == ".py" or (path.is_dir() and not _is_task_folders(path)):
        return taskset_of_module(path)
    try:
        with _open(path) as file:
            return Taskset(_name_of(path), _read(file, path, env, template))
    except (FileRefused, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadFile(f"{path}: {reason}.") from error


def _name_of(path: Path) -> str:
    return path.name if path.is_dir() else path.name.partition(".")[0] or path.name


def _is_task_folders(path: Path) -> bool:
    return any(path.glob(f"*/{TASK_FILE}")) or (path / TASK_FILE).is_file()


def _open(path: Path) -> IO[bytes]:
    """The file; of a folder with task folders, the zip that they would be sent as."""
    if not path.is_dir():
        return path.open("rb")
    packed = tempfile.TemporaryFile(prefix="proctor-folders-")  # noqa: SIM115 - the caller closes it
    root = path.parent if (path / TASK_FILE).is_file() else path
    with zipfile.ZipFile(packed, "w") as bundle:
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.is_symlink():
                bundle.write(file, file.relative_to(root))
    packed.seek(0)
    return packed


def _read(file: IO[bytes], path: Path, env: str | None, template: str | None) -> list[Task]:
    single = _single_task(file, path)
    if single is not None:
        return _made(iter([single]), Mapping(whole_rows=True), path)
    filename = f"{path.name}.zip" if path.is_dir() else path.name
    with opened(file, filename, ReadOptions()) as (_found, rows):
        first = list(islice(rows, LOOKED_AT))
        return _made(chain(first, rows), _mapping(first, path, env, template), path)


def _single_task(file: IO[bytes], path: Path) -> Row | None:
    """A JSON file that is one task, not a list of them."""
    if path.suffix.lower() != ".json":
        return None
    text = file.read().removeprefix(BOM).strip()
    file.seek(0)
    if not text.startswith(b"{"):
        return None
    try:
        keys = msgspec.json.decode(text, type=dict[str, Raw]).keys()
    except msgspec.DecodeError:
        return None
    return json_row(text, 1) if "env" in keys and "tasks" not in keys else None


def _mapping(first: list[Row], path: Path, env: str | None, template: str | None) -> Mapping:
    layout = layout_of(first)
    guessed = guess_mapping(first, layout, prefix=_name_of(path), env=env or "")
    if layout == "tasks":
        return guessed
    if not env and guessed.env.column is None:
        raise BadFile(f"{path}: the rows name no environment; pass env= (and template=, unless it is called 'run').")
    changes: dict[str, Source] = {"env": Source(constant=env)} if env else {}
    if template:
        changes["task_id"] = Source(constant=template)
    return guessed.model_copy(update=changes)


def _made(rows: Iterator[Row], mapping: Mapping, path: Path) -> list[Task]:
    mapper, tasks, problems = Mapper(mapping), list[Task](), list[str]()
    for number, row in enumerate(rows, 1):
        made = mapper.make(row, number)
        if made.task is not None:
            tasks.append(Task.from_text(made.task))
        problems += _shown(made)
    if problems:
        more = [f"… and {len(problems) - SHOWN_PROBLEMS} more"] if len(problems) > SHOWN_PROBLEMS else []
        raise BadFile("\n".join([f"{path} holds no taskset:", *problems[:SHOWN_PROBLEMS], *more]))
    return tasks


def _shown(made: Made) -> list[str]:
    return [f"line {made.line}: {f'{found.column}: ' if found.column else ''}{found.rule}" for found in made.problems]
