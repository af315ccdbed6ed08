"""The rows of an import, with its edits laid over the file: what preview, check and commit all read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import IO

from django.conf import settings

from accounts.names import normalise
from proctor.formats import FileRefused, Found, Limits, ReadOptions, opened
from proctor.formats.base import Row
from proctor.formats.mapping import edited
from proctor.wire.imports import FileOptions, Mapping
from tasksets.imports.models import Import
from tasksets.imports.sessions import open_upload

HEAD_ROWS = 200


def read_options(options: FileOptions | None) -> ReadOptions:
    known = settings.PROCTOR_LIMITS
    limits = Limits(row_bytes=known["task_bytes"], unpacked_bytes=known["unpacked_bytes"])
    given = options or FileOptions()
    return ReadOptions(delimiter=given.delimiter, encoding=given.encoding, handle=normalise, limits=limits)


@contextlib.contextmanager
def reading(found: Import, options: FileOptions | None) -> Iterator[tuple[IO[bytes], Found, Iterator[Row]]]:
    """The open file (for its place in it), what it is, and its rows. Raises FileRefused, then and while reading."""
    if found.upload is None:
        raise FileRefused("The file of this import is gone; upload it again")
    with open_upload(found.upload) as file, opened(file, found.filename, read_options(options), found.wanted) as (kind, rows):
        yield file, kind, _with_edits(rows, dict(found.edits.values_list("line", "values")))


def _with_edits(rows: Iterator[Row], edits: dict[int, dict[str, str]]) -> Iterator[Row]:
    return (edited(row, edits[row.line]) if row.line in edits else row for row in rows) if edits else rows


def head_of(found: Import, options: FileOptions | None, count: int = HEAD_ROWS) -> tuple[Found, list[Row]]:
    """What the file is and its first rows; fewer when it breaks behind them. Raises FileRefused when there are none."""
    with reading(found, options) as (_file, kind, rows):
        first: list[Row] = []
        try:
            first.extend(islice(rows, 1))
            first.extend(islice(rows, count - 1))
        except FileRefused:
            if not first:
                raise
        return kind, first


def mapping_of(found: Import) -> Mapping:
    """The one to be used: given, else guessed."""
    return Mapping.model_validate(found.mapping if found.mapping is not None else found.guess)
