"""Telemetry batches: one bad span costs only itself; digits and odd content survive; large pictures become blobs."""

import base64
import json

import pytest

from runs.spans import BadBatch, parse_batch, parse_span, parse_time


def span(**change):
    return {"name": "step.agent", "span_id": "a" * 16, "start_time": "2026-01-02T03:04:05Z", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"step_id": 1, "source": "agent"}}} | change


def batch(*spans):
    return parse_batch(json.dumps({"telemetry": list(spans)}).encode(), max_span_bytes=1_000_000)


def test_the_index_fields_are_read():
    found = batch(span(attributes={"hud.schema": "hud.step.v1", "hud.payload": {"step_id": 7, "source": "agent", "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost_usd": 0.5}}})).spans[0]
    assert (found.kind, found.step_id, found.prompt_tokens, found.completion_tokens, found.cost_usd) == ("agent", 7, 10, 5, 0.5)


@pytest.mark.parametrize("change", [{"start_time": 17}, {"attributes": "no"}, {"span_id": 5}, {"name": None}, {"attributes": {"hud.payload": [1]}}, {"attributes": {"hud.payload": {"step_id": "x"}}}])
def test_a_span_of_odd_types_is_kept_and_costs_no_other(change):
    found = batch(span(), span(span_id="b" * 16) | change, span(span_id="c" * 16))
    assert len(found.spans) == 3 and not found.rejected


def test_what_is_no_object_is_rejected_alone():
    found = batch(span(), 5, span(span_id="c" * 16))
    assert len(found.spans) == 2 and [index for index, _why in found.rejected] == [1]


def test_a_span_over_the_cap_is_rejected_alone():
    found = parse_batch(json.dumps({"telemetry": [span(), span(name="x" * 200)]}).encode(), max_span_bytes=300)
    assert len(found.spans) == 1 and "larger" in found.rejected[0][1]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"telemetry": 5}', b'{"telemetry": [NaN]}', b'\xff{"telemetry":[]}', b'{"telemetry": [', b"[" * 5000])
def test_what_is_no_batch_is_refused(body):
    with pytest.raises(BadBatch):
        parse_batch(body, max_span_bytes=1000)


def test_big_numbers_and_nul_survive_in_the_text():
    text = b'{"span_id":"x","name":"n","attributes":{"hud.payload":{"n":123456789012345678901234567890,"f":1.10,"z":"\\u0000"}}}'
    assert parse_span(text).text == text


def test_a_span_without_an_id_gets_one_of_its_content():
    bare = {"name": "x"}
    first, second = batch(bare).spans[0], batch(bare).spans[0]
    assert first.span_id == second.span_id != batch({"name": "y"}).spans[0].span_id


def test_a_large_picture_becomes_a_blob_and_all_else_keeps_its_digits():
    picture = bytes(range(256)) * 200
    block = {"type": "image", "data": base64.b64encode(picture).decode(), "mimeType": "image/png"}
    text = json.dumps(span(attributes={"hud.schema": "hud.step.v1", "hud.payload": {"result": {"content": [block]}, "f": 1}})).replace('"f": 1', '"f": 1.10').encode()
    found = parse_span(text)
    assert found.media[0].body == picture and found.media[0].mime_type == "image/png"
    assert b'"f":1.10' in found.text and found.media[0].sha256.encode() in found.text and len(found.text) < 1000


def test_naive_times_are_utc_and_odd_ones_none():
    assert parse_time("2026-01-02T03:04:05").isoformat() == "2026-01-02T03:04:05+00:00"
    assert parse_time("yesterday") is None and parse_time(17) is None and parse_time("0001-01-01T00:00:00+23:59") is None
