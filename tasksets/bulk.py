"""Many rows in one statement, without the ORM's cost per row: only for contents and head tasks, only called by actions."""

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
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join(["%s"] * len(columns))
    keys, sets = ", ".join(f'"{name}"' for name in on), ", ".join(f'"{name}" = excluded."{name}"' for name in update)
    then = f"DO UPDATE SET {sets}" if update else "DO NOTHING"
    sql = f'INSERT INTO "{model._meta.db_table}" ({names}) VALUES ({marks}) ON CONFLICT ({keys}) {then}'  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(sql, [[_value(value) for value in row] for row in rows])


def _value(value: Any) -> Any:
    """UUIDs as Django stores them: natively, or as 32 digits on SQLite."""
    return value.hex if isinstance(value, uuid.UUID) and not connection.features.has_native_uuid_field else value
