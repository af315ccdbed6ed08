"""Readers of the files that people bring, one door: `read_rows`. Streams, flat in memory, exact to the digit; imports no Django."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import IO

from proctor.formats import compressed, delimited, folders, json_rows, parquet
from proctor.formats.base import FileRefused, Limits, ReadOptions, Row

__all__ = ["KINDS", "LAYOUTS", "FileRefused", "Found", "Limits", "ReadOptions", "Row", "kind_by_name", "kind_of", "opened"]
KINDS = ("csv", "tsv", "json", "jsonl", "parquet", "zip")
LAYOUTS = ("openai_evals", "inspect")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
DOCUMENT = re.compile(rb'"(?:' + "|".join(json_rows.LISTS).encode() + rb')"\s*:\s*\[\s*\{')
HEAD = 64 * 1024
COPY = 1024 * 1024
NOTHING = "The file is empty"


@dataclass(frozen=True)
class Found:
    """What a file is: its format, what it is compressed with, and that of the one file in a zip."""

    kind: str
    compression: str | None = None


@contextlib.contextmanager
def opened(source: IO[bytes], filename: str, options: ReadOptions, wanted: str | None = None) -> Iterator[tuple[Found, Iterator[Row]]]:
    """What the file is, and its rows. `source` is seekable. Raises FileRefused, then and while reading; a file without rows too."""
    with contextlib.ExitStack() as stack:
        found, rows = _open(source, filename, options, wanted, stack)
        yield found, _some(rows)


def _some(rows: Iterator[Row]) -> Iterator[Row]:
    first = list(islice(rows, 1))
    if not first:
        raise FileRefused("The file holds no rows")
    yield from chain(first, rows)


def _open(
    source: IO[bytes], filename: str, options: ReadOptions, wanted: str | None, stack: contextlib.ExitStack
) -> tuple[Found, Iterator[Row]]:
    source.seek(0)
    head = source.read(HEAD)
    source.seek(0)
    if not head:
        raise FileRefused(NOTHING)
    compression = compressed.compression_of(head)
    if compression:
        inner = compressed.inflate(source, compression, options.limits)
        plain = inner.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
        if not plain:
            raise FileRefused(NOTHING)
        name = _unpacked(filename)
        if plain.startswith(folders.MAGIC):
            raise FileRefused(f"A zip inside {compression}: send the zip itself")
        if plain.startswith(parquet.MAGIC):
            inner = stack.enter_context(_spooled(inner))
        found, rows = _read(inner, plain, name, options, wanted, stack)
        return replace(found, compression=compression), rows
    return _read(source, head, filename, options, wanted, stack)


def _read(
    source: IO[bytes], head: bytes, filename: str, options: ReadOptions, wanted: str | None, stack: contextlib.ExitStack
) -> tuple[Found, Iterator[Row]]:
    kind = kind_of(head, filename, wanted)
    if kind == "parquet":
        return Found(kind), parquet.read_parquet(source, options)
    if kind == "zip":
        return _read_zip(source, options, stack)
    if kind == "jsonl":
        return Found(kind), json_rows.read_lines(source, options)
    if kind == "json":
        return Found(kind), json_rows.read_document(source, options)
    return Found(kind), delimited.read_delimited(source, options, delimiter="\t" if kind == "tsv" else None)


def _read_zip(source: IO[bytes], options: ReadOptions, stack: contextlib.ExitStack) -> tuple[Found, Iterator[Row]]:
    """Task folders; without any, the one data file that the zip holds."""
    bundle = folders.open_bundle(source, options.limits)
    stack.enter_context(bundle.archive)
    if bundle.tasks:
        return Found("zip"), folders.read_folders(bundle, options)
    data = [entry for entry in bundle.others if _ending(entry.filename) in ENDINGS]
    if len(data) != 1:
        raise FileRefused(f"The zip holds no task folder (a folder with task.toml), and {len(data)} data files instead of one")
    inner = stack.enter_context(_spooled(stack.enter_context(bundle.archive.open(data[0])), options.limits.unpacked_bytes))
    head = inner.read(HEAD)
    inner.seek(0)
    if not head or head.startswith(folders.MAGIC):
        raise FileRefused(f"{data[0].filename} in the zip is empty, or a zip itself")
    return _read(inner, head, data[0].filename, options, None, stack)


def _unpacked(filename: str) -> str:
    return filename.lower().removesuffix(".gz").removesuffix(".gzip").removesuffix(".zst").removesuffix(".zstd")


def _ending(filename: str) -> str:
    return filename[filename.rfind(".") :].lower() if "." in filename else ""


@contextlib.contextmanager
def _spooled(source: IO[bytes], limit: int = Limits().unpacked_bytes) -> Iterator[IO[bytes]]:
    """The same bytes in a file that can be sought in, gone at the end."""
    with tempfile.TemporaryFile(prefix="proctor-import-") as file:
        while piece := source.read(COPY):
            file.write(piece)
            if file.tell() > limit:
                raise FileRefused(f"The file unpacks to more than {limit:,} bytes")
        file.seek(0)
        yield file


def kind_by_name(filename: str) -> str | None:
    """What its name says, compressed or not; for a file that can't be looked into."""
    inner = _unpacked(filename)
    return "zip" if _ending(inner) == ".zip" else ENDINGS.get(_ending(inner))


def kind_of(head: bytes, filename: str, wanted: str | None = None) -> str:
    """By its first bytes, what the caller says, its name, then its text."""
    if head.startswith(parquet.MAGIC):
        return "parquet"
    if head.startswith(folders.MAGIC):
        return "zip"
    chosen = wanted if wanted in KINDS else ENDINGS.get(_ending(filename))
    if chosen in ("parquet", "zip"):
        raise FileRefused(f"The file is called {chosen}, but does not begin as one; it is broken or something else")
    text = head.removeprefix(json_rows.BOM).lstrip()
    if chosen in ("json", "jsonl"):
        return _json_kind(text, chosen)
    if chosen:
        return chosen
    if text.startswith((b"[", b"{")):
        return _json_kind(text, None)
    return "csv"


def _json_kind(text: bytes, chosen: str | None) -> str:
    """People call both `.json`: a list, or an object that holds one, is a document; one object a line are lines."""
    first, _newline, rest = text.partition(b"\n")
    if text.startswith(b"["):
        return "json"
    if first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{"):
        return "jsonl"
    return chosen or ("json" if DOCUMENT.search(text) else "jsonl")
