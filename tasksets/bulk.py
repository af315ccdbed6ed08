"""Many rows in one statement, without the ORM's cost per row: only for contents and head tasks, only called by actions.

A statement takes a batch at most: SQLite allows 32,766 values in one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import psycopg
from django.db import connection
from django.db.models import Model

T = TypeVar("T")
BATCH = 2_000


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    source = iter(items)
    while part := list(islice(source, size)):
        yield part


def insert(
    model: type[Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], *, on: Sequence[str], update: Sequence[str] = ()
) -> None:
    """Inserts; where `on` clashes, sets the columns of `update`, or keeps what is there when there are none."""
    if not rows:
        return
    names, keys = (", ".join(f'"{name}"' for name in some) for some in (columns, on))
    sets = ", ".join(f'"{name}" = excluded."{name}"' for name in update)
    then = f"DO UPDATE SET {sets}" if update else "DO NOTHING"
    fields = {field.attname: field for field in model._meta.concrete_fields}
    types = [str(fields[name].db_type(connection)) for name in columns]
    sql = f'INSERT INTO "{model._meta.db_table}" ({names}) SELECT * FROM {{rows}} WHERE true ON CONFLICT ({keys}) {then}'  # noqa: S608
    _execute(sql, types, rows)


def set_positions(model: type[Model], taskset_id: uuid.UUID, places: Iterable[tuple[str, int]]) -> None:
    """The `position` of rows by slug."""
    table = model._meta.db_table
    sql = (
        f'WITH v (taskset, slug, place) AS (SELECT * FROM {{rows}}) UPDATE "{table}" SET "position" = v.place '  # noqa: S608
        f'FROM v WHERE "taskset_id" = v.taskset AND "{table}"."slug" = v.slug'
    )
    for part in batches(places):
        _execute(sql, ["uuid", "text", "integer"], [(taskset_id, slug, place) for slug, place in part])


def commit_without_waiting() -> None:
    """In a transaction whose loss harms nobody: PostgreSQL need not wait for the disk. The next commit that does wait covers this one."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")


def _execute(sql: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """With `{rows}` as a table. PostgreSQL takes a binary array a column, in a fraction of the time that it takes to read literals."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            arrays = ", ".join(f"%b::{type}[]" for type in types)
            with psycopg.Cursor(connection.connection) as bound:
                bound.execute(sql.format(rows=f"unnest({arrays})").encode(), [list(column) for column in zip(*rows, strict=True)])
        else:
            marks = ", ".join(["(" + ", ".join(["%s"] * len(types)) + ")"] * len(rows))
            cursor.execute(sql.format(rows=f"(VALUES {marks})"), [_value(value) for row in rows for value in row])


def _value(value: Any) -> Any:
    """UUIDs as SQLite keeps them: 32 digits."""
    return value.hex if isinstance(value, uuid.UUID) else value
