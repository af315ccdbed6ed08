"""A version as a file over HTTP: which format, its headers, and the body as a stream that never holds a set in memory.

Blocks are made in the long-lived reader threads, one at a time, when the client has taken the one before. What a format can't carry
stands in the header `Proctor-Not-Carried` (and in the zip's README); the digest is left out when the file holds a part only.
"""

from __future__ import annotations

import tarfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from django.core.files.storage import default_storage
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from accounts.names import normalise
from environments.queries import newest_folders
from proctor.formats import Limits, ReadOptions
from tasksets import queries, versions
from tasksets.downloads.folders import write_zip
from tasksets.downloads.packing import PACKINGS, packed
from tasksets.downloads.parquet import NoParquet, write_parquet
from tasksets.downloads.rows import Facts, Outgoing, blocks, write_csv, write_json, write_lines
from tasksets.models import Version
from tasksets.queries import Pinned
from tasksets.tables.asking import Asked
from tasksets.tables.reading import Table
from web.errors import AppError, invalid, problem
from web.threads import in_reader

Write = Callable[[Iterable[Outgoing], Facts], Iterator[bytes]]
LEFT_BEHIND = "the taskset's history and tags"


@dataclass(frozen=True)
class Format:
    """`write` is None where the writer needs more than the tasks."""

    media_type: str
    write: Write | None
    not_carried: str = LEFT_BEHIND
    may_be_packed: bool = True


FORMATS = {
    "json": Format("application/json", write_json),
    "jsonl": Format("application/x-ndjson", write_lines),
    "csv": Format("text/csv; charset=utf-8", write_csv, f"{LEFT_BEHIND}; spreadsheets cut cells of more than 32767 characters"),
    "parquet": Format("application/vnd.apache.parquet", write_parquet, may_be_packed=False),
    "zip": Format("application/zip", None, f"{LEFT_BEHIND}; older versions of the environments", may_be_packed=False),
}
MEDIA_TYPES = {"gzip": "application/gzip", "zstd": "application/zstd"}


def download(request: HttpRequest, found: Pinned) -> HttpResponseBase:
    """What `?format=`, `?compress=` and `?q=` ask of a version. Raises AppError 410, 422, 503."""
    name, packing, q = request.GET.get("format", "jsonl"), request.GET.get("compress") or None, request.GET.get("q", "")
    _check(name, packing)
    queries.check_there(found.taskset)
    facts = _facts(found, is_part=bool(q))
    headers = _headers(facts, name, packing, q)
    media_type = MEDIA_TYPES[packing] if packing else FORMATS[name].media_type
    if request.method == "HEAD":
        return HttpResponse(content_type=media_type, headers=headers)
    body = blocks(_written(found, facts, name, q))
    return StreamingHttpResponse(_stream(packed(body, packing) if packing else body), content_type=media_type, headers=headers)


def _check(name: str, packing: str | None) -> None:
    if name not in FORMATS:
        raise invalid([problem("format", f"must be one of {', '.join(FORMATS)}", name)])
    if packing is not None and packing not in PACKINGS:
        raise invalid([problem("compress", f"must be one of {', '.join(PACKINGS)}", packing)])
    if packing is not None and not FORMATS[name].may_be_packed:
        raise invalid([problem("compress", f"{name} is compressed already", packing)])


def _facts(found: Pinned, *, is_part: bool) -> Facts:
    version = found.version
    if version is None:
        return Facts(found.taskset.name, 0, versions.digest([]), 0)
    digest = None if is_part else version.digest
    return Facts(found.taskset.name, version.number, digest, version.task_count, queries.count_redacted(version))


def _headers(facts: Facts, name: str, packing: str | None, q: str) -> dict[str, str]:
    """The file's name is made of a handle and digits, so it needs no escape."""
    ending = f"{name}.{PACKINGS[packing]}" if packing else name
    filename = f"{facts.name}-v{facts.number}{'-part' if q else ''}.{ending}"
    redacted = f"; {facts.redacted} redacted tasks, of which markers are left" if facts.redacted else ""
    digest = {"Proctor-Digest": facts.digest, "Proctor-Task-Count": str(facts.task_count)} if facts.digest else {}
    return {
        "Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "private, no-cache",
        "Proctor-Taskset": facts.name, "Proctor-Version": str(facts.number), **digest,
        "Proctor-Not-Carried": FORMATS[name].not_carried + redacted,
    }  # fmt: skip


def _written(found: Pinned, facts: Facts, name: str, q: str) -> Iterator[bytes]:
    write = FORMATS[name].write
    if write is None:
        return _written_zip(found, facts, q)
    try:
        return write(_tasks(found.version, q), facts)
    except NoParquet:
        raise AppError("unavailable", 503, "This server writes no Parquet: install Proctor with the extra 'parquet'") from None


def _tasks(version: Version | None, q: str) -> Iterator[Outgoing]:
    if version is None:
        return iter(())
    tasks = Table(version).tasks(Asked(q)) if q else queries.iter_version_tasks(version)
    return (Outgoing(task.slug, task.text) for task in tasks)


def _written_zip(found: Pinned, facts: Facts, q: str) -> Iterator[bytes]:
    counts = dict(found.version.environments) if found.version else {}
    folders = _Folders(found.taskset.team_id, counts)
    files = sum(count * (folders.count(name) + 1) for name, count in counts.items())
    if files + 2 > Limits().entries:
        rule = f"a zip of this version would hold {files:,} files, the limit is {Limits().entries:,}; take jsonl, which carries as much"
        raise invalid([problem("format", rule, "zip")])
    return write_zip(_tasks(found.version, q), facts, folders.open, ReadOptions(handle=normalise))


class _Folders:
    """The newest folders of a team's environments that are task folders."""

    def __init__(self, team_id: uuid.UUID, names: Iterable[str]) -> None:
        self._paths = newest_folders(team_id, names)

    def open(self, name: str) -> IO[bytes] | None:
        path = self._paths.get(name)
        return default_storage.open(path, "rb") if path is not None else None

    def count(self, name: str) -> int:
        """How many files the folder has; 0 when the environment is none."""
        file = self.open(name)
        if file is None:
            return 0
        with file, tarfile.open(fileobj=file, mode="r:") as tar:
            return sum(member.isfile() for member in tar)


async def _stream(body: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (block := await in_reader(next, body, None)) is not None:
        if block:
            yield block
