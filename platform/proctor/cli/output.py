"""How commands answer: JSON or a plain table on stdout, notes on stderr, and the exit codes. Imports no server code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

FAILED, USAGE, UNGRADED, BELOW, DIFFERENT, INTERRUPTED = 1, 2, 3, 4, 5, 130

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout instead of a table.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")]


def safe(text: str) -> str:
    """Text that others wrote, without what would steer the terminal."""
    return _CONTROL.sub("\ufffd", text)


def say(text: str) -> None:
    """Text on stdout."""
    typer.echo(safe(text))


def note(text: str) -> None:
    """For the person, not for the pipe."""
    typer.echo(safe(text), err=True)


def plain(value: Any) -> Any:
    """A wire model as JSON values."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def answer(value: Any) -> None:
    """One JSON document."""
    shown = [plain(item) for item in value] if isinstance(value, list) else plain(value)
    typer.echo(json.dumps(shown, ensure_ascii=False, indent=2, allow_nan=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """Left-aligned columns under a head; a sentence when there are no rows."""
    texts = [[_cell(cell) for cell in row] for row in rows]
    if not texts:
        note(empty)
        return
    lines = [[column.upper() for column in columns], *texts]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def facts(pairs: Mapping[str, object]) -> None:
    """Names and values, one a line; what is None is left out."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        if value is not None:
            typer.echo(f"{name.ljust(width)}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return safe(str(value).replace("\n", " "))


def short_time(text: object) -> str:
    """`2026-11-30 20:15` of a moment."""
    return str(text)[:16].replace("T", " ") if text else "-"
