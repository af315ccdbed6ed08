"""Parquet as blocks of bytes: text columns, objects and lists as their exact JSON; a row group at a time in memory. Pure.

Needs `pyarrow` (the extra `parquet`), which is loaded with the first such file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from proctor.formats.ours import COLUMNS
from tasksets.downloads.packing import Sink
from tasksets.downloads.rows import Facts, Outgoing, about, cells_of

GROUP_ROWS, GROUP_CHARACTERS = 5_000, 8 * 1024**2
NEEDED = COLUMNS[:3]


class NoParquet(Exception):
    """pyarrow is not installed."""


def write_parquet(tasks: Iterable[Outgoing], facts: Facts) -> Iterator[bytes]:
    """Raises NoParquet at once."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise NoParquet from None
    fields = [pyarrow.field(name, pyarrow.string(), nullable=name not in NEEDED) for name in COLUMNS]
    metadata = {name: str(value) for name, value in about(facts).items() if value is not None}
    return _written(pyarrow, parquet, pyarrow.schema(fields, metadata=metadata), tasks)


def _written(pyarrow: Any, parquet: Any, schema: Any, tasks: Iterable[Outgoing]) -> Iterator[bytes]:
    sink = Sink()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in _groups(tasks):
            columns = [list(column) for column in zip(*group, strict=True)]
            writer.write_table(pyarrow.table([pyarrow.array(column, pyarrow.string()) for column in columns], schema=schema))
            yield sink.take()
    yield sink.take()


def _groups(tasks: Iterable[Outgoing]) -> Iterator[list[list[str | None]]]:
    group: list[list[str | None]] = []
    size = 0
    for task in tasks:
        group.append(cells_of(task))
        size += len(task.text)
        if len(group) >= GROUP_ROWS or size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
