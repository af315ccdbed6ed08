"""`platform/` is a source root and must never become a package: it would shadow the standard library's `platform`."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("platform", "tasksets", "runs", "tests", "scripts", "bench")


def test_platform_has_no_init() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_a_process_started_in_the_root_gets_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-c", "import platform; print(platform.system())"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip()


def test_no_top_level_module_is_named_like_one_of_the_standard_library() -> None:
    roots = (ROOT, ROOT / "platform")
    names = {path.stem for root in roots for path in root.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names & sys.stdlib_module_names == set()


def imported_names(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_nothing_is_imported_from_inside_platform_by_that_name() -> None:
    sources = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    assert [path for path in sources if any(name.startswith("platform.") for name in imported_names(path))] == []
