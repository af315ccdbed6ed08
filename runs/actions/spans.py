"""The one door of telemetry, hosted and outside: `record_spans`. One transaction; what is acknowledged is committed.

Order and totals hold under retries: the run's row lock serialises batches, known span ids are dropped, `last_seq` grows by exactly
the new ones, and totals move only with them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import zstandard
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.utils import timezone

from runs.models import Blob, BlobUse, Run, SpanSegment
from runs.spans import Media, ParsedSpan
from web.live import hint_after_commit

SPANS_A_SEGMENT = 64
INDEX_COLUMNS = (
    "run_id", "attempt", "seq", "span_id", "schema_tag", "kind", "step_id", "name", "started_at", "ended_at", "status",
    "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd",
)  # fmt: skip
INSERT_INDEX = f"INSERT INTO runs_spanindex ({', '.join(INDEX_COLUMNS)}) VALUES ({', '.join(['%s'] * len(INDEX_COLUMNS))})"  # noqa: S608

COPY_INDEX = f"COPY runs_spanindex ({', '.join(INDEX_COLUMNS)}) FROM STDIN"


class Fenced(Exception):
    """Somebody else holds this run now (or it ended): the writer must stop."""


@dataclass(frozen=True)
class Prepared:
    """Spans with their segment bodies, compressed before the transaction; media already stored."""

    spans: Sequence[ParsedSpan]
    bodies: Sequence[bytes]


def prepare(team_id: uuid.UUID, spans: Sequence[ParsedSpan]) -> Prepared:
    """Everything slow: compression and blobs. No transaction."""
    unique = list({span.span_id: span for span in reversed(spans)}.values())[::-1]
    for span in unique:
        for media in span.media:
            store_blob(team_id, media)
    return Prepared(unique, [pack(chunk) for chunk in chunks(unique)])


def chunks(spans: Sequence[ParsedSpan]) -> list[Sequence[ParsedSpan]]:
    return [spans[start : start + SPANS_A_SEGMENT] for start in range(0, len(spans), SPANS_A_SEGMENT)]


def pack(spans: Sequence[ParsedSpan]) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(b"\n".join(span.text for span in spans))


def blob_path(sha256: str) -> str:
    return f"blobs/{sha256[:2]}/{sha256}"


def store_blob(team_id: uuid.UUID, media: Media) -> None:
    """The row first, then the file: `runs.actions.blobs` says why."""
    row = Blob(team_id=team_id, sha256=media.sha256, mime_type=media.mime_type, size_bytes=len(media.body), stored_at=timezone.now())
    Blob.objects.bulk_create([row], update_conflicts=True, unique_fields=["team", "sha256"], update_fields=["stored_at"])
    path = blob_path(media.sha256)
    if not default_storage.exists(path):
        default_storage.save(path, ContentFile(media.body))


def record_spans(run_id: uuid.UUID, attempt: int, prepared: Prepared, *, fence: bool) -> int:
    """Writes what is new of a batch and returns how many spans that was. With `fence`, raises Fenced unless the run is still held by
    this attempt. The caller opens no transaction of its own unless it groups several writes (the worker's ledger does)."""
    with transaction.atomic():
        run = lock_run(run_id)
        if fence and (run.attempt != attempt or run.state not in ("provisioning", "running", "grading")):
            raise Fenced
        new = _unknown(run_id, attempt, prepared.spans)
        if new:
            _write(run, attempt, new, prepared)
            hint_after_commit()
    return len(new)


def lock_run(run_id: uuid.UUID) -> Run:
    """Until the transaction ends (SQLite is serial since BEGIN)."""
    runs = Run.objects.only("id", "attempt", "state", "last_seq", "cost_usd")
    if connection.vendor == "postgresql":
        runs = runs.select_for_update()
    return runs.get(id=run_id)


def _unknown(run_id: uuid.UUID, attempt: int, spans: Sequence[ParsedSpan]) -> list[ParsedSpan]:
    known: set[str] = set()
    ids = [span.span_id for span in spans]
    with connection.cursor() as cursor:
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join(["%s"] * len(part))
            cursor.execute(f"SELECT span_id FROM runs_spanindex WHERE run_id = %s AND attempt = %s AND span_id IN ({marks})", [key(run_id), attempt, *part])  # noqa: S608
            known.update(row[0] for row in cursor.fetchall())
    return [span for span in spans if span.span_id not in known]


def key(value: uuid.UUID) -> Any:
    """A UUID as raw SQL of this database wants it."""
    return value if connection.features.has_native_uuid_field else value.hex


def moment(value: datetime | None) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if value is not None else None


def _write(run: Run, attempt: int, new: list[ParsedSpan], prepared: Prepared) -> None:
    bodies = prepared.bodies if len(new) == len(prepared.spans) else [pack(chunk) for chunk in chunks(new)]
    seq = run.last_seq + 1
    _insert_index([_index_row(run.id, attempt, seq + offset, span) for offset, span in enumerate(new)])
    segments = []
    for chunk, body in zip(chunks(new), bodies, strict=True):
        segments.append(SpanSegment(run_id=run.id, attempt=attempt, first_seq=seq, count=len(chunk), body=body))
        seq += len(chunk)
    SpanSegment.objects.bulk_create(segments)
    uses = [BlobUse(run_id=run.id, sha256=media.sha256) for span in new for media in span.media]
    if uses:
        BlobUse.objects.bulk_create(uses, ignore_conflicts=True)
    _add_totals(run, attempt, new)


def _insert_index(rows: list[tuple[Any, ...]]) -> None:
    """PostgreSQL takes a hundred rows by COPY in a fraction of the time of as many statements."""
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.executemany(INSERT_INDEX, rows)
            return
        with cursor.copy(COPY_INDEX) as copy:
            for row in rows:
                copy.write_row(row)


def _index_row(run_id: uuid.UUID, attempt: int, seq: int, span: ParsedSpan) -> tuple[Any, ...]:
    return (
        key(run_id), attempt, seq, span.span_id, span.schema_tag, span.kind, span.step_id, span.name, moment(span.started_at), moment(span.ended_at),
        span.status, span.prompt_tokens, span.completion_tokens, span.cached_tokens, span.cost_usd,
    )  # fmt: skip


def _add_totals(run: Run, attempt: int, new: Sequence[ParsedSpan]) -> None:
    costs = [span.cost_usd for span in new if span.cost_usd is not None]
    cost_sql, cost = ("COALESCE(cost_usd, 0) + %s", [sum(costs)]) if costs else ("cost_usd", [])
    now = moment(timezone.now())
    steps = sum(1 for span in new if span.schema_tag is not None)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE runs_run SET last_seq = last_seq + %s, step_count = step_count + %s, prompt_tokens = prompt_tokens + %s, "  # noqa: S608
            f"completion_tokens = completion_tokens + %s, cached_tokens = cached_tokens + %s, cost_usd = {cost_sql}, "
            "revision = revision + 1, changed_at = %s, last_seen_at = %s WHERE id = %s",
            [
                len(new), steps, sum(span.prompt_tokens for span in new), sum(span.completion_tokens for span in new),
                sum(span.cached_tokens for span in new), *cost, now, now, key(run.id),
            ],
        )  # fmt: skip
