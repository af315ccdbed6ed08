"""Find the `Environment` that a Python file declares.

The file is imported under its own name with its folder first on the path, so that it may import its neighbours.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .declare import Environment


class EnvironmentNotFound(ValueError):
    """The file is missing, or does not declare exactly one environment (of that name)."""


def load_environment(path: str | Path, name: str | None = None) -> Environment:
    """The environment of a file, or of `env.py` in a folder. `name`, an environment's or a variable's, chooses among several."""
    file = Path(path).resolve()
    file = file / "env.py" if file.is_dir() else file
    if not file.is_file():
        raise EnvironmentNotFound(f"no environment source at {path}")
    found = {
        id(value): value
        for variable, value in vars(_import(file)).items()
        if isinstance(value, Environment) and name in (None, variable, value.name)
    }
    if not found:
        raise EnvironmentNotFound(f"no Environment{f' named {name!r}' if name else ''} in {path}")
    if len(found) > 1:
        names = ", ".join(sorted(env.name for env in found.values()))
        raise EnvironmentNotFound(f"several Environments in {path} ({names}): choose one with --env")
    return next(iter(found.values()))


def _import(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise EnvironmentNotFound(f"{file.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module
