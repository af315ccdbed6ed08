"""The commands of `proctor` as Markdown, from the code: the part of docs/reference/cli.md behind its mark. `generated.py` writes and checks it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "cli.md"
MARK = "<!-- What follows is made by scripts/generated.py. -->\n"


def text() -> str:
    """The page's own head, and the commands as they are now."""
    sys.path.insert(0, str(ROOT / "platform"))
    from typer.main import get_command

    from proctor.cli import app

    head, _mark, _old = TARGET.read_text().partition(MARK)
    return head + MARK + "\n" + "\n".join(_commands("proctor", get_command(app))).rstrip() + "\n"


def _commands(path: str, command: Any) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is None:
        yield from _command(path, command)
        return
    for name, one in below.items():
        yield from _commands(f"{path} {name}", one)


def _command(path: str, command: Any) -> Iterator[str]:
    shown = [param for param in command.params if param.name != "help" and not getattr(param, "hidden", False)]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    words = [f"{one.name.upper()}" if one.required else f"[{one.name.upper()}]" for one in arguments]
    yield f"## {' '.join([path, *words])}\n"
    yield f"{_sentence(command.help)}\n"
    rows = [f"| `{_spelling(param)}` | {_sentence(param.help)}{_default(param)} |" for param in shown]
    if rows:
        yield "| | |\n|---|---|"
        yield from rows
        yield ""


def _spelling(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.name).upper()
    names = ", ".join([*param.opts, *param.secondary_opts])
    return names if param.is_flag else f"{names} {param.name.upper()}"


def _default(param: Any) -> str:
    if param.default in (None, False, True, "", ()) or param.required or getattr(param, "is_flag", False):
        return ""
    return f" Default `{param.default}`."


def _sentence(text: str | None) -> str:
    words = " ".join((text or "").split()).replace("|", "\\|")
    return words if not words or words.endswith((".", "?", ")")) else f"{words}."


if __name__ == "__main__":
    TARGET.write_text(text())
