"""Which environments a Python file declares, read from its syntax, without running it.

So a plan can name every environment that has no place before anything starts. A name that is not written out as text is not known:
then the file is taken at its word.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import BadFile


@dataclass(frozen=True)
class Declared:
    """`is_open`: some environment's name is made when the code runs. `is_hud`: written with the `hud` package."""

    names: frozenset[str]
    is_open: bool = False
    is_hud: bool = False

    def why_not(self, env: str, source: str) -> str | None:
        """Why this source can't serve it; None when it can, or may."""
        if env in self.names or self.is_open:
            return None
        return f"{source} declares {', '.join(sorted(self.names)) or 'no Environment'}, not {env!r}"


def declared_in(path: Path) -> Declared:
    """Of a file, or of `env.py` in a folder. Raises BadFile."""
    file = path / "env.py" if path.is_dir() else path
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except OSError as error:
        raise BadFile(f"No environment at {file}: {error.strerror}.") from None
    except (SyntaxError, ValueError) as error:
        raise BadFile(f"{file} is no Python: {error}.") from None
    names = [_name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) == "Environment"]
    return Declared(frozenset(name for name in names if name is not None), None in names, any(module.split(".")[0] == "hud" for module in _imported(tree)))


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _name_of(node: ast.Call) -> str | None:
    given = node.args[0] if node.args else next((keyword.value for keyword in node.keywords if keyword.arg == "name"), None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
