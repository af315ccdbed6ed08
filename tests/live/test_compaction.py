"""A run that ended keeps its spans in one file: nothing of them changes, whoever reads, writes or dies meanwhile."""

from __future__ import annotations

import os
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from accounts.callers import Caller
from runs.actions import compaction, reports
from runs.actions.compaction import compact, compact_some, sweep_span_files
from runs.models import Run, SpanFile, SpanSegment
from runs.queries import steps
from runs.queries.steps import events_of, read_steps, span_texts
from tests.live.test_telemetry import body, record, span
from tests.support.tasksets import Api

pytestmark = pytest.mark.usefixtures("blobs")


@pytest.fixture
def run(ada: Caller) -> Run:
    """Ended ten minutes ago, with 150 spans that came in batches of five."""
    run = reports.enter_run(ada, str(uuid.uuid4()))
    for start in range(0, 150, 5):
        record(ada, run, body(*(span(number, extra=1.10) for number in range(start, start + 5))))
    return ended(run)


def ended(run: Run) -> Run:
    Run.objects.filter(id=run.id).update(state="completed", changed_at=timezone.now() - timedelta(minutes=11))
    run.refresh_from_db()
    return run


def texts(run: Run, first: int = 1, last: int = 10_000) -> list[tuple[int, bytes]]:
    return [(found.seq, found.text) for found in span_texts(run.id, first, last)]


def files(blobs: Path) -> list[Path]:
    return [path for path in blobs.rglob("*") if path.is_file()]


def test_everything_reads_as_before(run: Run, blobs: Path) -> None:
    before, page, events = texts(run), read_steps(run, after=17, limit=30, attempt=None), events_of(run)
    assert len(before) == 150 and len(events) == 150
    assert compact_some() == 1
    assert not SpanSegment.objects.exists() and len(files(blobs)) == 1
    assert texts(run) == before and read_steps(run, after=17, limit=30, attempt=None) == page and events_of(run) == events
    assert texts(run, 60, 70) == before[59:70] and texts(run, 150, 150) == before[149:] and texts(run, 151, 200) == []
    assert compact_some() == 0 and compact(run.id) is False, "done once, it is done"


def test_frames_are_cut_where_they_are_large(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(run)
    monkeypatch.setattr(compaction, "FRAME_BYTES", 3_000)
    compact(run.id)
    assert len(SpanFile.objects.get().frames) > 3
    assert texts(run) == before and texts(run, 40, 90) == before[39:90]


def test_a_run_that_goes_on_or_just_ended_is_left_alone(ada: Caller, run: Run) -> None:
    Run.objects.filter(id=run.id).update(state="running")
    assert compact_some() == 0
    Run.objects.filter(id=run.id).update(state="completed", changed_at=timezone.now())
    assert compact_some() == 0


def test_spans_that_come_later_join_the_file_at_the_next_time(ada: Caller, run: Run, blobs: Path) -> None:
    compact_some()
    first = SpanFile.objects.get().path
    assert record(ada, run, body(span(7), *(span(number) for number in range(200, 210)))) == 10, "a known span stays known"
    both = texts(run)
    assert [seq for seq, _text in both] == list(range(1, 161)) and SpanSegment.objects.count() == 1
    assert texts(run, 145, 155) == both[144:155], "from the file and from a segment"
    ended(run)
    assert compact_some() == 1
    assert texts(run) == both and not SpanSegment.objects.exists()
    assert SpanFile.objects.get().path != first and len(files(blobs)) == 1, "the old file is gone"


def test_killed_before_the_commit_it_leaves_a_stray_file_and_every_span(run: Run, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = texts(run)

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "_commit", killed)
        with pytest.raises(KeyboardInterrupt):
            compact(run.id)
    assert texts(run) == before and SpanSegment.objects.exists() and len(files(blobs)) == 1
    assert sweep_span_files() == 0, "it may be on its way"
    for path in files(blobs):
        os.utime(path, (time.time() - 2 * 86_400,) * 2)
    assert sweep_span_files() == 1 and files(blobs) == []
    assert compact(run.id) and texts(run) == before
    for path in files(blobs):
        os.utime(path, (time.time() - 2 * 86_400,) * 2)
    assert sweep_span_files() == 0 and texts(run) == before


def test_of_two_at_once_one_is_of_no_use(run: Run, blobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, store = texts(run), compaction._store

    def late(run_id: uuid.UUID, draft: Any) -> str:
        path = store(run_id, draft)
        monkeypatch.setattr(compaction, "_store", store)
        assert compact(run_id)
        return path

    monkeypatch.setattr(compaction, "_store", late)
    assert compact(run.id) is False
    assert texts(run) == before and len(files(blobs)) == 1


def test_spans_that_come_while_it_is_written_stay(ada: Caller, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = compaction._store

    def late(run_id: uuid.UUID, draft: Any) -> str:
        record(ada, run, body(*(span(number) for number in range(300, 303))))
        return store(run_id, draft)

    monkeypatch.setattr(compaction, "_store", late)
    assert compact(run.id)
    assert [seq for seq, _text in texts(run)] == list(range(1, 154)) and SpanSegment.objects.count() == 1


def test_a_reader_in_the_middle_misses_nothing_and_sees_nothing_twice(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The move happens between the reader's two looks, and between the file's row and the file."""
    before, look = texts(run), steps._from_file

    def late(*args: Any) -> Any:
        compact(run.id)
        return look(*args)

    SpanSegment.objects.filter(run=run, first_seq=1).delete()
    monkeypatch.setattr(steps, "_from_file", late)
    assert texts(run)[-100:] == before[-100:] and len({seq for seq, _text in texts(run)}) == len(texts(run))


def test_a_file_that_was_replaced_just_now_is_looked_up_again(ada: Caller, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    compact(run.id)
    record(ada, run, body(*(span(number) for number in range(200, 203))))
    before = texts(run)
    storage_class = type(default_storage._wrapped)
    opened, real = [], storage_class.open

    def late(self: Any, name: str, mode: str = "rb") -> Any:
        if not opened:
            opened.append(name)
            compact(run.id)
        return real(self, name, mode)

    monkeypatch.setattr(storage_class, "open", late)
    assert texts(run) == before and opened


def test_the_api_gives_the_same_steps(run: Run, ada_key: str) -> None:
    api = Api(ada_key)
    address = f"/api/runs/{run.wire_id}/steps?after=100&limit=20"
    before = api.get(address).content
    compact_some()
    assert api.get(address).content == before
