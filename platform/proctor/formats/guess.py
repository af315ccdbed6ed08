"""What a file's columns probably mean: its layout, and a mapping to begin with. Pure; looks at the first rows only."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Raw

from proctor.formats.base import Cell, Row
from proctor.wire.imports import CellSource, Mapping, Source, ValueKind

SLUGS = ("slug", "name", "task_name", "id", "uid", "uuid", "key", "row_id", "sample_id")
ENVS = ("env", "environment", "env_name")
IDS = ("task_id", "scenario", "template", "template_id")
TAGS = ("columns", "metadata", "tags", "split", "category", "subject", "difficulty", "level", "type", "source", "topic", "language")
FIELDS = ("validation", "agent_config", "runtime_config", "verifier")
TASK_KEYS = {"slug", "name", "env", "task_id", "scenario", "id", "args", "columns", *FIELDS}
OPENAI, INSPECT = {"input", "ideal"}, {"input", "target"}
DEFAULT_TEMPLATE = "run"


def columns_of(rows: Sequence[Row]) -> list[str]:
    """All columns of these rows, in the order they first stand."""
    return list(dict.fromkeys(name for row in rows for name in row.cells))


def layout_of(rows: Sequence[Row]) -> str:
    """`tasks`: rows as Proctor, `hud` and the SDK write them; else by the columns that all rows have."""
    names = set(columns_of(rows))
    if names & {"env"} and names & {*IDS, "id"} and names <= TASK_KEYS | {"path"}:
        return "tasks"
    shared = set.intersection(*(set(row.cells) for row in rows if row.cells)) if any(row.cells for row in rows) else set()
    if shared >= OPENAI:
        return "openai_evals"
    return "inspect" if shared >= INSPECT else "columns"


def guess_mapping(rows: Sequence[Row], layout: str, *, prefix: str, env: str = "") -> Mapping:
    """`prefix` begins the slugs of rows that have none of their own; `env` is for rows that name none."""
    names = columns_of(rows)
    holds_json = any(isinstance(cell, Raw) for row in rows for cell in row.cells.values())
    if layout == "tasks":
        return Mapping(whole_rows=True) if any(row.whole for row in rows) else map_tasks(names)
    lower = {name.lower(): name for name in reversed(names)}
    used: set[str] = set()
    source, task_id = _source(lower, ENVS, used, env), _source(lower, IDS, used, DEFAULT_TEMPLATE)
    slug = _slug(rows, lower, used, prefix)
    kinds = {name: "json" if holds_json else _kind(rows, name) for name in names}
    columns_column, columns = _tags(lower, kinds, used, layout)
    args = {name: CellSource(column=name, kind=kinds[name]) for name in names if name not in used}
    return Mapping(env=source, task_id=task_id, slug=slug, args=args, columns_column=columns_column, columns=columns)


def map_tasks(names: Sequence[str]) -> Mapping:
    """Rows of tasks in a file without objects: JSON in the cells."""
    there = set(names)
    return Mapping(
        env=Source(column="env"),
        task_id=Source(column=next(name for name in (*IDS, "id") if name in there)),
        slug=next((Source(column=name) for name in ("slug", "name") if name in there), None),
        args_column="args" if "args" in there else None,
        columns_column="columns" if "columns" in there else None,
        fields={name: name for name in FIELDS if name in there},
    )


def _source(lower: dict[str, str], names: Sequence[str], used: set[str], otherwise: str) -> Source:
    found = next((lower[name] for name in names if name in lower), None)
    if found is None:
        return Source(constant=otherwise)
    used.add(found)
    return Source(column=found)


def _slug(rows: Sequence[Row], lower: dict[str, str], used: set[str], prefix: str) -> Source:
    """The column of that name; one of short texts that are all different; else the row's number."""
    for name in SLUGS:
        column = lower.get(name)
        if column and column not in used and (name == "slug" or _are_names([row.cells.get(column, "") for row in rows])):
            used.add(column)
            return Source(column=column)
    return Source(constant=f"{prefix}-{{n}}")


def _are_names(cells: Sequence[Cell]) -> bool:
    texts = [cell if isinstance(cell, str) else bytes(cell).decode() for cell in cells]
    return len(set(texts)) == len(texts) and all(0 < len(text) <= 255 and text[:1] not in "{[" and text != "null" for text in texts)


def _tags(lower: dict[str, str], kinds: dict[str, ValueKind], used: set[str], layout: str) -> tuple[str | None, dict[str, CellSource]]:
    """What describes a task and is no argument. An object becomes the columns, anything else one of them."""
    whole: str | None = None
    found: dict[str, CellSource] = {}
    for name in TAGS:
        column = lower.get(name)
        if column is None or column in used:
            continue
        used.add(column)
        if name in ("columns", "metadata") and kinds[column] == "json" and whole is None:
            whole = column
        else:
            found[column] = CellSource(column=column, kind=kinds[column])
    return whole, found


def _kind(rows: Sequence[Row], column: str) -> ValueKind:
    """`json` when every cell that is not empty is an object or a list; a number alone may well be meant as text."""
    texts = [cell.strip() for row in rows if isinstance(cell := row.cells.get(column, ""), str) and cell.strip()]
    return "json" if texts and all(_is_structure(text) for text in texts) else "text"


def _is_structure(text: str) -> bool:
    if text[:1] not in "{[":
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
