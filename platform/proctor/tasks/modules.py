"""Tasks that Python code declares: import the file, and collect what it holds in the order that it was written.

Found are `Task`s, `Taskset`s, template calls (`TaskRow`) and lists or tuples of those, under names without a leading underscore; an object
that stands under two names counts once. Modules of the folder that the import pulled in are forgotten again, so that another folder's
`env.py` is not mistaken for this one's.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from proctor.environment.declare import TaskRow
from proctor.errors import BadFile
from proctor.tasks.task import Task
from proctor.tasks.taskset import Taskset


def taskset_of_module(source: str | Path | ModuleType) -> Taskset:
    """See `Taskset.from_module`. Raises BadFile when the code fails or there is none."""
    if isinstance(source, ModuleType):
        file = getattr(source, "__file__", None)
        return Taskset(source.__name__.rpartition(".")[2], _tasks([source]), source=Path(file) if file else None)
    path = Path(source).resolve()
    modules = [import_file(file) for file in python_files(path)]
    return Taskset(path.stem if path.is_file() else path.name, _tasks(modules), source=path)


def python_files(path: Path) -> list[Path]:
    """The file itself, or a folder's own Python files by name. Raises BadFile when there are none."""
    if path.is_file():
        return [path]
    files = sorted(file for file in path.glob("*.py") if not file.name.startswith(("_", "."))) if path.is_dir() else []
    if not files:
        raise BadFile(f"No Python file at {path}.")
    return files


def import_file(file: Path) -> ModuleType:
    """The module, with its folder first on the path while it is imported. Raises BadFile with what it raised."""
    name = f"proctor_source_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadFile(f"{file} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    with _beside(file.parent):
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise BadFile(f"{file} can't be imported: {type(error).__name__}: {error}") from error
    return module


@contextlib.contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """`folder` first on the path. Modules of other folders that are called as a file here (`env`, say) step aside meanwhile; those that came from
    here are forgotten afterwards."""
    here = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}
    aside = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in here and not _is_of(module, folder)}
    for name in aside:
        del sys.modules[name]
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if not name.startswith("proctor_source_") and _is_of(sys.modules[name], folder):
                del sys.modules[name]
        sys.modules.update(aside)


def _is_of(module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).resolve().is_relative_to(folder)


def _tasks(modules: list[ModuleType]) -> list[Task]:
    found: dict[int, Any] = {}
    for module in modules:
        for name, value in vars(module).items():
            if not name.startswith("_"):
                found.update((id(part), part) for part in _parts(value))
    return [part if isinstance(part, Task) else Task.from_row(part) for part in found.values()]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Task | TaskRow):
        return [value]
    if isinstance(value, Taskset):
        return list(value)
    return [part for item in value for part in _parts(item)] if isinstance(value, list | tuple) else []
