"""Telemetry's promises inside one process: a repeated batch moves nothing, totals are sums, seqs have no gaps (promise 6). What only a
real server shows (durable at the 2xx, two copies at once) is in `tests/journeys/test_telemetry_server.py`."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from accounts.callers import Caller
from runs.actions import reports
from runs.actions.spans import prepare, record_spans
from runs.models import Run, SpanIndex, SpanSegment
from runs.queries.steps import read_steps, span_texts
from runs.spans import parse_batch

LARGE = 10_000_000


def span(number: int, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 1, "cost_usd": 0.25}
    payload = {"step_id": number, "source": "agent", "usage": usage}
    return {"span_id": f"{number:016x}", "name": "step.agent", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": payload}, **more}


def body(*spans: Any) -> bytes:
    return json.dumps({"telemetry": spans}).encode()


def record(caller: Caller, run: Run, batch: bytes) -> int:
    return record_spans(run.id, 1, prepare(caller.team_id, parse_batch(batch, max_span_bytes=LARGE).spans), fence=False)


@pytest.fixture
def run(ada: Caller) -> Run:
    return reports.enter_run(ada, str(uuid.uuid4()))


def totals(run: Run) -> tuple[Any, ...]:
    return Run.objects.values_list("last_seq", "step_count", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "revision").get(id=run.id)


def test_totals_are_the_sum_of_the_spans(ada: Caller, run: Run) -> None:
    assert record(ada, run, body(*(span(number) for number in range(3)))) == 3
    assert totals(run)[:6] == (3, 3, 30, 6, 3, 0.75)


def test_a_repeated_batch_changes_nothing(ada: Caller, run: Run) -> None:
    record(ada, run, body(*(span(number) for number in range(5))))
    before = totals(run)
    for _ in range(3):
        assert record(ada, run, body(*(span(number) for number in range(5)))) == 0
    assert totals(run) == before
    assert SpanSegment.objects.filter(run=run).count() == 1


def test_of_an_overlapping_batch_only_the_new_spans_count(ada: Caller, run: Run) -> None:
    record(ada, run, body(span(1), span(2)))
    assert record(ada, run, body(span(2), span(3), span(1), span(4))) == 2
    assert totals(run)[:3] == (4, 4, 40)
    assert [step.span_id for step in read_steps(run, after=0, limit=10, attempt=None).items] == [f"{number:016x}" for number in (1, 2, 3, 4)]


def test_a_span_twice_in_one_batch_counts_once(ada: Caller, run: Run) -> None:
    assert record(ada, run, body(span(1), span(1), span(1))) == 1
    assert totals(run)[:3] == (1, 1, 10)


def test_seqs_have_no_gaps_over_many_segments(ada: Caller, run: Run) -> None:
    for start in range(0, 300, 100):
        record(ada, run, body(*(span(number) for number in range(start, start + 100))))
    assert list(SpanIndex.objects.filter(run=run).order_by("seq").values_list("seq", flat=True)) == list(range(1, 301))
    assert [text.seq for text in span_texts(run.id, 1, 300)] == list(range(1, 301))
    assert [text.seq for text in span_texts(run.id, 150, 160)] == list(range(150, 161))


def test_text_that_a_database_may_not_hold_is_kept_in_the_span_and_marked_in_the_index(ada: Caller, run: Run) -> None:
    odd = {**span(1), "span_id": "a\0b", "name": "step\0agent"}
    for _ in range(2):
        record(ada, run, body(odd))
    index = SpanIndex.objects.get(run=run)
    assert (index.span_id, index.name) == ("a\ufffdb", "step\ufffdagent")
    assert b"a\\u0000b" in next(span_texts(run.id, 1, 1)).text
