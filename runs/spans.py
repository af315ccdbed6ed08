"""Telemetry batches as bytes → parsed spans: the fields that lists and totals need, and the span's own text untouched.

Pure. Parsed with msgspec (`telemetry: list[Raw]`): a span of odd types loses its index fields, never the batch. Large media inside a
step go to blobs and leave a reference. Facts of the format: contracts of HUD, part 3.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, overload

import msgspec

MEDIA = frozenset({"image", "video", "audio", "file"})
MEDIA_OVER = 32_000
MAX_DEPTH = 64


class BadBatch(ValueError):
    """The batch is no JSON of the right shape; the message names the place."""


@dataclass(frozen=True)
class Media:
    """One blob cut out of a span."""

    sha256: str
    mime_type: str
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class ParsedSpan:
    """Times are aware UTC or None; `text` is one line of JSON."""

    span_id: str
    schema_tag: str | None
    kind: str
    step_id: int | None
    name: str
    started_at: datetime | None
    ended_at: datetime | None
    status: str | None
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None
    text: bytes = field(repr=False)
    media: tuple[Media, ...] = ()


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None


class _Payload(msgspec.Struct):
    step_id: int | None = None
    source: str | None = None
    usage: _Usage | None = None


class _Attributes(msgspec.Struct):
    schema: str | None = msgspec.field(name="hud.schema", default=None)
    payload: msgspec.Raw = msgspec.field(name="hud.payload", default_factory=lambda: msgspec.Raw(b"null"))


class _Span(msgspec.Struct):
    span_id: str
    name: str = ""
    start_time: str | None = None
    end_time: str | None = None
    status_code: str | None = None
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Batch(msgspec.Struct):
    telemetry: list[msgspec.Raw]


_batch = msgspec.json.Decoder(_Batch)
_span = msgspec.json.Decoder(_Span)
_payload = msgspec.json.Decoder(_Payload | None)


@dataclass(frozen=True)
class Batch:
    """`rejected` holds (index, why) of spans that could not be kept at all."""

    spans: list[ParsedSpan]
    rejected: list[tuple[int, str]]


def parse_batch(body: bytes, *, max_span_bytes: int) -> Batch:
    """Raises BadBatch for a body that is no telemetry batch. One bad span costs only itself."""
    try:
        body.decode()
        raws = _batch.decode(body).telemetry
    except UnicodeDecodeError as error:
        raise BadBatch(f"the body is not UTF-8 (byte {error.start})") from None
    except msgspec.MsgspecError as error:
        raise BadBatch(f"the body is not {{\"telemetry\": [span, …]}}: {error}") from None
    except RecursionError:
        raise BadBatch("the body is nested too deeply") from None
    return parse_spans([bytes(raw) for raw in raws], max_span_bytes=max_span_bytes)


def parse_spans(texts: list[bytes], *, max_span_bytes: int) -> Batch:
    spans: list[ParsedSpan] = []
    rejected: list[tuple[int, str]] = []
    for index, text in enumerate(texts):
        if len(text) > max_span_bytes:
            rejected.append((index, f"larger than {max_span_bytes:,} bytes"))
            continue
        try:
            spans.append(parse_span(text))
        except (ValueError, RecursionError) as error:
            rejected.append((index, str(error)[:200]))
    return Batch(spans, rejected)


def parse_span(text: bytes) -> ParsedSpan:
    """Raises ValueError when it is no JSON object with content."""
    media: tuple[Media, ...] = ()
    if len(text) > MEDIA_OVER:
        text, media = cut_media(text)
    try:
        span = _span.decode(text)
    except msgspec.ValidationError:
        return _odd_span(text)
    payload = _payload_of(bytes(span.attributes.payload))
    usage = payload.usage or _Usage()
    return ParsedSpan(
        span_id=_short(span.span_id, 64) or _made_id(text), schema_tag=_short(span.attributes.schema, 60), kind=_kind(payload.source, span.name), step_id=_int32(payload.step_id),
        name=_short(span.name, 255), started_at=parse_time(span.start_time), ended_at=parse_time(span.end_time), status=_short(span.status_code, 12),
        prompt_tokens=_tokens(usage.prompt_tokens), completion_tokens=_tokens(usage.completion_tokens), cached_tokens=_tokens(usage.cached_tokens),
        cost_usd=usage.cost_usd, text=_one_line(text), media=media,
    )  # fmt: skip


def _payload_of(text: bytes) -> _Payload:
    try:
        return _payload.decode(text) or _Payload()
    except msgspec.MsgspecError:
        return _Payload()


def _odd_span(text: bytes) -> ParsedSpan:
    """A span with fields of odd types: kept whole, with what of the index can be told."""
    value = msgspec.json.decode(text)
    if not isinstance(value, dict):
        raise ValueError("a span must be a JSON object")
    given, name = value.get("span_id"), value.get("name")
    return ParsedSpan(
        span_id=_short(given, 64) if isinstance(given, str) and given else _made_id(text), schema_tag=None, kind=_kind(None, name if isinstance(name, str) else "odd"),
        step_id=None, name=_short(name, 255) if isinstance(name, str) else "", started_at=parse_time(value.get("start_time")), ended_at=parse_time(value.get("end_time")),
        status=None, prompt_tokens=0, completion_tokens=0, cached_tokens=0, cost_usd=None, text=_one_line(text),
    )  # fmt: skip


def _made_id(text: bytes) -> str:
    """An id for a span without one: of its content, so that a repeated batch is still recognised."""
    return hashlib.sha256(text).hexdigest()[:16]


def _kind(source: str | None, name: str) -> str:
    return _short(source or name.removeprefix("step.") or "span", 60)


def _one_line(text: bytes) -> bytes:
    return msgspec.json.format(text, indent=-1) if b"\n" in text else text


def _tokens(number: int | None) -> int:
    return number if number is not None and 0 <= number < 2**53 else 0


def _int32(number: int | None) -> int | None:
    return number if number is not None and -(2**31) <= number < 2**31 else None


@overload
def _short(text: str, length: int) -> str: ...
@overload
def _short(text: None, length: int) -> None: ...
def _short(text: str | None, length: int) -> str | None:
    """As an index keeps it: bounded, and without NUL, which PostgreSQL's text has no place for."""
    return text[:length].replace("\0", "\ufffd") if text is not None else None


def parse_time(value: object) -> datetime | None:
    """ISO-8601; naive is read as UTC; anything else None."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


class _Digits:
    """A float's characters, kept through a rewrite."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_exact = msgspec.json.Decoder(float_hook=_Digits)
_writer = msgspec.json.Encoder(enc_hook=lambda value: msgspec.Raw(value.text.encode()))


def cut_media(text: bytes) -> tuple[bytes, tuple[Media, ...]]:
    """The span with each large `{type: image|video|audio|file, data: base64}` replaced by a blob reference; digits kept."""
    value = _exact.decode(text)
    found = [media for holder in _media_holders(value, 0) if (media := _cut(holder)) is not None]
    return (_writer.encode(value), tuple(found)) if found else (text, ())


def _media_holders(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        if value.get("type") in MEDIA and isinstance(value.get("data"), str) and len(value["data"]) > MEDIA_OVER:
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _media_holders(inner, depth + 1)


def _cut(holder: dict[str, Any]) -> Media | None:
    try:
        body = base64.b64decode(holder["data"], validate=True)
    except binascii.Error:
        return None
    mime = holder.get("mimeType") or holder.get("media_type") or "application/octet-stream"
    media = Media(hashlib.sha256(body).hexdigest(), str(mime)[:100], body)
    kind = holder["type"]
    holder.clear()
    holder.update(type="blob", kind=kind, sha256=media.sha256, mime_type=media.mime_type, size_bytes=len(body))
    return media
