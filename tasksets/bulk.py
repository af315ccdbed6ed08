"""Many rows in one statement, without the ORM's cost per row: only for contents and head tasks, only called by actions.

A statement takes a batch at most: SQLite allows 32,766 values in one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

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
    marks = ", ".join(["(" + ", ".join(["%s"] * len(columns)) + ")"] * len(rows))
    then = f"DO UPDATE SET {sets}" if update else "DO NOTHING"
    sql = f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES {marks} ON CONFLICT ({keys}) {then}'  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [_value(value) for row in rows for value in row])


def set_positions(model: type[Model], taskset_id: uuid.UUID, places: Iterable[tuple[str, int]]) -> None:
    """The `position` of rows by slug."""
    table = model._meta.db_table
    for part in batches(places):
        marks = ", ".join(["(%s, %s)"] * len(part))
        sql = f'UPDATE "{table}" SET "position" = v.column2 FROM (VALUES {marks}) AS v WHERE "taskset_id" = %s AND "slug" = v.column1'  # noqa: S608
        with connection.cursor() as cursor:
            cursor.execute(sql, [*(value for pair in part for value in pair), _value(taskset_id)])


def _value(value: Any) -> Any:
    """UUIDs as Django stores them: natively, or as 32 digits on SQLite."""
    return value.hex if isinstance(value, uuid.UUID) and not connection.features.has_native_uuid_field else value
