"""How a file that Proctor wrote says so, and what the writers (`tasksets.downloads`) and the readers must agree on. Pure.

CSV: the last column is called `MARK`, and cells that a spreadsheet would take for formulas have an apostrophe in front. Only a file
with that column has apostrophes taken off, so a foreign file's are never eaten. Zip: `INDEX` in its root has the mark and the order
of the folders; a folder's `ROW` is the task's own row, where `task.toml` and `instruction.md` don't say it all.
"""

from __future__ import annotations

import re

MARK = "proctor-tasks-1"
COLUMNS = ("slug", "env", "id", "args", "validation", "agent_config", "columns", "runtime_config", "verifier")
INDEX, ROW, README = "proctor.json", "proctor-task.json", "README.md"
_RISKY = re.compile(r"'*[=+\-@\t\r]")


def guard(cell: str) -> str:
    """The cell as text that no spreadsheet takes for a formula (OWASP's list of first characters: `= + - @`, tab, carriage return)."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def unguard(cell: str) -> str:
    """What `guard` was given: one apostrophe less, where it would have put one."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell) else cell
