"""What importing costs: which modules are not loaded, asked of a new process. Times are not asserted; what is loaded decides them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.server import ROOT

HEAVY = {
    "httpx", "pydantic", "msgspec", "rich", "websockets", "aiodocker", "aiohttp", "mcp", "django", "asyncio", "zstandard", "pyarrow", "ssl", "typer",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The heavy ones among the modules that this leaves loaded."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT / "platform")}, capture_output=True, text=True, check=True)
    return HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


def test_the_sdk_is_imported_for_nothing() -> None:
    assert loaded_by("import proctor") == set()


def test_the_command_line_loads_what_help_needs_and_no_more() -> None:
    code = "import sys\nfrom proctor.cli import main\nsys.argv = ['proctor', '--help']\ntry:\n    main()\nexcept SystemExit:\n    pass"
    assert loaded_by(code) <= {"typer"}


def test_a_taskset_can_be_read_without_a_network_library() -> None:
    assert loaded_by("import proctor; proctor.Taskset; proctor.Task('e', 'i')") & {"pydantic", "httpx", "rich", "websockets", "aiodocker", "mcp", "django"} == set()


def test_local_runs_load_no_container_or_tool_library() -> None:
    assert loaded_by("import proctor; proctor.LocalRuntime; proctor.jobs") & {"pydantic", "rich", "websockets", "aiodocker", "aiohttp", "mcp", "django"} == set()


def test_everything_that_the_sdk_offers_is_there() -> None:
    program = "import proctor\nfor name in proctor.__all__: getattr(proctor, name)\nassert set(proctor.__all__) <= set(dir(proctor))"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT / "platform")}, check=True)
