"""Parquet, a thousand rows at a time. Needs `pyarrow` (the extra `parquet`), which is loaded when the first such file comes. Pure.

Integers, decimals and text are exact; floats are written in the shortest form that gives them again; times are ISO text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from proctor.formats.base import Cell, FileRefused, ReadOptions, Row, RowProblem, problem
from proctor.formats.values import json_of

MAGIC = b"PAR1"
BATCH = 1_000


def read_parquet(source: IO[bytes], options: ReadOptions) -> Iterator[Row]:
    """Raises FileRefused for what is no Parquet, or lies about itself. `source` must be seekable."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise FileRefused("Parquet can't be read here: install Proctor with the extra 'parquet', or use JSONL or CSV") from None
    _check_footer(source)
    number = 0
    try:
        with parquet.ParquetFile(source) as file:
            _check_size(file.metadata, options)
            for batch in file.iter_batches(BATCH):
                for record in batch.to_pylist(maps_as_pydicts="strict"):
                    number += 1
                    yield _row(record, number)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError) as error:
        if isinstance(error, FileRefused):
            raise
        raise FileRefused(f"The Parquet file is broken after row {number:,}: {str(error)[:300]}") from None


def _check_footer(source: IO[bytes]) -> None:
    size = source.seek(0, 2)
    if size < 12:
        raise FileRefused(f"The Parquet file is cut short: it has {size} bytes")
    source.seek(-8, 2)
    tail = source.read(8)
    length = int.from_bytes(tail[:4], "little")
    source.seek(0)
    if tail[4:] != MAGIC or source.read(4) != MAGIC:
        raise FileRefused("The Parquet file does not begin and end as one; it is cut short or something else")
    if length > size - 12:
        raise FileRefused(f"The Parquet file's footer says that it has {length:,} bytes, which the file has not")
    source.seek(0)


def _check_size(metadata: Any, options: ReadOptions) -> None:
    unpacked = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    rows = sum(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
    if unpacked < 0 or unpacked > options.limits.unpacked_bytes:
        raise FileRefused(f"The Parquet file says that it unpacks to {unpacked:,} bytes; the limit is {options.limits.unpacked_bytes:,}")
    if rows != metadata.num_rows:
        raise FileRefused(f"The Parquet file's footer says {metadata.num_rows:,} rows, its parts hold {rows:,}")


def _row(record: dict[str, Any], number: int) -> Row:
    cells: dict[str, Cell] = {}
    problems: list[RowProblem] = []
    for name, value in record.items():
        try:
            cells[name] = json_of(value)
        except ValueError as error:
            problems.append(problem(name, str(error), repr(value)))
    return Row(number, cells, problems=tuple(problems))
