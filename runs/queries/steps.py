"""Steps of a run, read from segments: paged by seq, bodies passed through as text, never parsed into floats."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import zstandard
from django.core.files.storage import default_storage

from accounts.callers import Caller
from runs.actions.spans import blob_path
from runs.models import Blob, Run, SpanFile, SpanIndex, SpanSegment
from web.errors import not_found

REPLY_BYTES = 4_000_000


class StepOut(msgspec.Struct):
    """`proctor.wire.jobs.Step`, with the payload as raw text."""

    seq: int
    span_id: str
    attempt: int
    schema_tag: str | None
    kind: str
    step_id: int | None
    name: str
    started_at: Any
    ended_at: Any
    status: str | None
    error: str | None
    payload: msgspec.Raw


class StepsOut(msgspec.Struct):
    """`proctor.wire.jobs.Steps`."""

    items: list[StepOut]
    next_after: int | None
    last_seq: int
    total: int


class _Attributes(msgspec.Struct):
    payload: msgspec.Raw = msgspec.field(name="hud.payload", default_factory=lambda: msgspec.Raw(b"null"))


class _Envelope(msgspec.Struct):
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Error(msgspec.Struct):
    error: str | None = None


_envelope = msgspec.json.Decoder(_Envelope)
_error = msgspec.json.Decoder(_Error | None)


@dataclass(frozen=True)
class SpanText:
    seq: int
    text: bytes


def last_attempt(run_id: uuid.UUID) -> int:
    newest = SpanIndex.objects.filter(run_id=run_id).order_by("-attempt").values_list("attempt", flat=True).first()
    return newest or 1


def span_texts(run_id: uuid.UUID, first_seq: int, last_seq: int) -> Iterator[SpanText]:
    """Texts of the spans in a range of seq, in order. Segments first, then the file of a run that ended: what is moved from the one to the
    other in between is in both, and given once."""
    segments = SpanSegment.objects.filter(run_id=run_id, first_seq__lte=last_seq, first_seq__gt=first_seq - 64).order_by("first_seq")
    bodies = [(segment.first_seq, bytes(segment.body)) for segment in segments]
    given = first_seq - 1
    if not bodies or bodies[0][0] > first_seq:
        for span in _from_file(run_id, first_seq, last_seq):
            given = span.seq
            yield span
    for start, body in bodies:
        yield from _in_range(start, body, given + 1, last_seq)


def _in_range(start: int, body: bytes, first_seq: int, last_seq: int) -> Iterator[SpanText]:
    lines = zstandard.ZstdDecompressor().decompress(body).split(b"\n")
    yield from (SpanText(seq, text) for seq, text in enumerate(lines, start) if first_seq <= seq <= last_seq)


def _from_file(run_id: uuid.UUID, first_seq: int, last_seq: int) -> Iterator[SpanText]:
    for start, body in _frames(run_id, first_seq, last_seq):
        yield from _in_range(start, body, first_seq, last_seq)


def _frames(run_id: uuid.UUID, first_seq: int, last_seq: int) -> Iterator[tuple[int, bytes]]:
    """First seq and body of the frames in the range. A file that another took the place of, just now, is looked up again."""
    for last_try in (False, True):
        found = SpanFile.objects.filter(run_id=run_id).first()
        if found is None:
            return
        try:
            file = default_storage.open(found.path, "rb")
        except FileNotFoundError:
            if last_try:
                raise
            continue
        with file:
            for start, count, offset, length in found.frames:
                if start <= last_seq and start + count > first_seq:
                    file.seek(offset)
                    yield start, file.read(length)
        return


def read_steps(run: Run, *, after: int, limit: int, attempt: int | None) -> StepsOut:
    """Steps with seq > after, at most `limit` and about 4 MB; of the last attempt unless asked."""
    wanted = attempt or last_attempt(run.id)
    index = SpanIndex.objects.filter(run_id=run.id, attempt=wanted)
    rows = list(index.filter(seq__gt=after).order_by("seq")[:limit])
    items = list(steps_of(run.id, rows))
    more = len(items) < len(rows) or (len(rows) == limit and index.filter(seq__gt=rows[-1].seq).exists())
    return StepsOut(items, items[-1].seq if items and more else None, run.last_seq, index.count())


def steps_of(run_id: uuid.UUID, rows: list[SpanIndex]) -> Iterator[StepOut]:
    if not rows:
        return
    by_seq = {row.seq: row for row in rows}
    size = 0
    for span in span_texts(run_id, rows[0].seq, rows[-1].seq):
        row = by_seq.get(span.seq)
        if row is None:
            continue
        if size and size + len(span.text) > REPLY_BYTES:
            return
        size += len(span.text)
        yield _step(row, span.text)


def _step(row: SpanIndex, text: bytes) -> StepOut:
    payload = _payload(text) if row.schema_tag else msgspec.Raw(text)
    return StepOut(
        row.seq, row.span_id, row.attempt, row.schema_tag, row.kind, row.step_id, row.name, row.started_at, row.ended_at, row.status, _error_of(payload), payload
    )


def _payload(text: bytes) -> msgspec.Raw:
    try:
        return _envelope.decode(text).attributes.payload
    except msgspec.MsgspecError:
        return msgspec.Raw(text)


def _error_of(payload: msgspec.Raw) -> str | None:
    try:
        decoded = _error.decode(payload)
    except msgspec.MsgspecError:
        return None
    return decoded.error if decoded else None


def events_of(run: Run) -> list[dict[str, Any]]:
    """What `hud trace` prints (contracts of HUD, 2.4): agent and tool steps of the last attempt, by step id, then time."""
    return [_agent_event(payload) if kind == "agent" else _tool_event(payload) for kind, payload in payloads_of(run)]


def payloads_of(run: Run) -> list[tuple[str, dict[str, Any]]]:
    """Kind and payload of the agent and tool steps of the last attempt, in the order of `events_of`."""
    rows = list(SpanIndex.objects.filter(run_id=run.id, attempt=last_attempt(run.id), kind__in=["agent", "tool"]).order_by("seq"))
    found = []
    if rows:
        by_seq = {row.seq: row for row in rows}
        for span in span_texts(run.id, rows[0].seq, rows[-1].seq):
            row = by_seq.get(span.seq)
            payload = _as_object(_payload(span.text)) if row else None
            if row and payload is not None:
                found.append(((row.step_id is None, row.step_id or 0, row.started_at.timestamp() if row.started_at else 0.0, row.seq), row.kind, payload))
    found.sort(key=lambda item: item[0])
    return [(kind, payload) for _order, kind, payload in found]


def _as_object(raw: msgspec.Raw) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(raw)
    except msgspec.MsgspecError:
        return None
    return value if isinstance(value, dict) else None


def _agent_event(payload: dict[str, Any]) -> dict[str, Any]:
    calls = [{"name": call.get("name"), "arguments": call.get("arguments")} for call in payload.get("tool_calls") or [] if isinstance(call, dict)]
    return {"kind": "agent_message", "text": payload.get("content"), "reasoning": payload.get("reasoning"), "tool_calls": calls, "error": payload.get("error")}


def _tool_event(payload: dict[str, Any]) -> dict[str, Any]:
    call, result = payload.get("call") or {}, payload.get("result") or {}
    blocks = result.get("content") if isinstance(result, dict) else None
    text = "\n".join(str(block.get("text", "")) for block in blocks or [] if isinstance(block, dict) and block.get("type") == "text")
    failed = isinstance(result, dict) and result.get("isError") is True
    return {
        "kind": "tool_call", "tool_name": call.get("name"), "arguments": call.get("arguments"), "result_text": text,
        "error": payload.get("error") or (text if failed else None),
    }  # fmt: skip


def get_blob(caller: Caller, sha256: str) -> tuple[Blob, str]:
    """A blob of the caller's team and its storage path. Raises AppError 404."""
    blob = Blob.objects.filter(team_id=caller.team_id, sha256=sha256).first()
    if blob is None:
        raise not_found("Blob")
    return blob, blob_path(sha256)
