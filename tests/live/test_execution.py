"""Claims, leases, the fence, cancels and lost workers, as two workers and a scheduler see them through the same functions (journey 2)."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Q
from django.utils import timezone

from accounts.callers import Caller
from proctor.rollout.plan import Failure, Outcome
from runs import actors, scheduler
from runs.actions import execution, jobs, workers
from runs.actions.spans import Fenced, prepare, record_spans
from runs.models import Attempt, Job, Lease, Run
from runs.queries.jobs import figures
from runs.queries.platform import cancels_asked
from runs.spans import parse_spans
from tests.support.jobs import a_job

GRADE = json.dumps({"score": 1.0})
SPAN = json.dumps({"span_id": "a" * 16, "name": "step.agent", "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"source": "agent"}}}).encode()
_names = itertools.count()


def new_job(caller: Caller, tasks: int, *, max_concurrent: int | None = None) -> Job:
    return a_job(caller, count=tasks, group=1, max_concurrent=max_concurrent, name=f"letters-{next(_names)}")


@pytest.fixture
def two_workers(db: None) -> tuple[str, str]:
    for name in ("one", "two"):
        workers.register(name, host="here", slots=4, version="0")
    return "one", "two"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[uuid.UUID, int]]:
    """The messages that the scheduler sends: a broker that keeps them."""
    kept: list[tuple[uuid.UUID, int]] = []
    monkeypatch.setattr(actors.execute_run, "send", lambda run_id, attempt: kept.append((uuid.UUID(run_id), attempt)))
    return kept


@pytest.fixture
def claimed(ada: Caller, two_workers: tuple[str, str], sent: list[tuple[uuid.UUID, int]]) -> Callable[..., Run]:
    """A run that worker `one` holds, of a job of its own."""

    def make(tasks: int = 1) -> Run:
        new_job(ada, tasks)
        scheduler.admit(timezone.now())
        run_id, attempt = sent.pop(0)
        assert execution.claim(run_id, attempt, "one")
        return Run.objects.get(id=run_id)

    return make


def let_lease_run_out(run: Run) -> None:
    Run.objects.filter(id=run.id).update(lease_until=timezone.now() - timedelta(seconds=1))


def dispatch_again(run: Run, sent: list[tuple[uuid.UUID, int]]) -> tuple[uuid.UUID, int]:
    scheduler.admit(timezone.now())
    return next(message for message in sent if message[0] == run.id)


def test_a_claim_takes_a_run_once(claimed: Any) -> None:
    run = claimed()
    assert (run.state, run.attempt, run.worker_id) == ("provisioning", 1, "one")
    assert not execution.claim(run.id, 0, "two")
    assert not execution.claim(run.id, 1, "two")
    assert Attempt.objects.get(run=run).worker_id == "one"


def test_a_repeated_or_late_message_does_nothing(claimed: Any, sent: Any) -> None:
    run = claimed()
    execution.finish(run.id, 1, Outcome("completed", evaluation_text=GRADE))
    before = Run.objects.values().get(id=run.id)
    for attempt in (0, 1):
        assert not execution.claim(run.id, attempt, "two")
    assert Run.objects.values().get(id=run.id) == before


def test_a_message_after_its_mark_ran_out_is_dropped_and_sent_again(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 1)
    now = timezone.now()
    assert scheduler.admit(now - timedelta(seconds=31)) == 1
    assert not execution.claim(*sent[0], "one")
    assert scheduler.admit(now) == 1
    assert execution.claim(*sent[1], "one")


def test_a_worker_whose_lease_went_to_another_cannot_write(claimed: Any, sent: Any, ada: Caller) -> None:
    run = claimed()
    let_lease_run_out(run)
    assert workers.free_expired() == 1
    run_id, attempt = dispatch_again(run, sent)
    assert execution.claim(run_id, attempt, "two")

    spans = prepare(ada.team_id, parse_spans([SPAN], max_span_bytes=1000).spans)
    for write in (
        lambda: execution.set_phase(run.id, 1, "running"),
        lambda: record_spans(run.id, 1, spans, fence=True),
        lambda: execution.finish(run.id, 1, Outcome("completed", evaluation_text=GRADE)),
    ):
        with pytest.raises(Fenced):
            write()
    assert not execution.release(run.id, 1, "worker stopped")
    held = Run.objects.get(id=run.id)
    assert (held.state, held.attempt, held.worker_id, held.last_seq, held.reward) == ("provisioning", 2, "two", 0, None)

    execution.finish(run.id, 2, Outcome("completed", evaluation_text=GRADE))
    assert list(Attempt.objects.filter(run=run).order_by("number").values_list("number", "outcome")) == [(1, "lost"), (2, "completed")]


def test_a_renewed_lease_is_not_taken(claimed: Any) -> None:
    run = claimed()
    let_lease_run_out(run)
    assert execution.renew("one") == 1
    assert workers.free_expired() == 0
    assert not execution.give_up(run.id, 1, expired_at=timezone.now())
    assert Run.objects.get(id=run.id).attempt == 1


def test_three_lost_attempts_are_the_platforms_failure(claimed: Any, sent: Any) -> None:
    run = claimed()
    for number in itertools.count(1):
        let_lease_run_out(run)
        assert workers.free_expired() == 1
        if number == 3:
            break
        sent.clear()
        assert execution.claim(*dispatch_again(run, sent), "two")
    lost = Run.objects.get(id=run.id)
    assert (lost.state, lost.counted, lost.failure_class, lost.blame, lost.reward) == ("error", "failed", "lost", "platform", None)
    assert "died 3 times" in (lost.error or "")
    assert Attempt.objects.filter(run=run, outcome="lost").count() == 3


def test_a_worker_that_stops_uses_up_no_try(claimed: Any, sent: Any) -> None:
    run = claimed()
    for _ in range(4):
        assert workers.release_all("one") == 1
        sent.clear()
        assert execution.claim(*dispatch_again(run, sent), "one")
    assert Run.objects.get(id=run.id).state == "provisioning"
    assert workers.release_all("two") == 0


def test_a_predecessors_runs_and_unclaimed_messages_are_free_at_once(ada: Caller, claimed: Any, sent: Any) -> None:
    run = claimed(3)
    assert len(sent) == 2, "two more are on their way to the worker that dies now"
    assert workers.free_own("one") == 1
    sent.clear()
    scheduler.admit(timezone.now())
    assert {message[0] for message in sent} == set(Run.objects.values_list("id", flat=True))
    assert (run.id, 1) in sent


# — cancels


def test_a_queued_run_is_cancelled_at_once_and_never_claimed(ada: Caller, two_workers: Any, sent: Any) -> None:
    job = new_job(ada, 2)
    scheduler.admit(timezone.now())
    assert jobs.cancel_job(ada, job) == 2
    assert {(run.state, run.counted, run.reward) for run in Run.objects.all()} == {("cancelled", "cancelled", None)}
    assert not any(execution.claim(run_id, attempt, "one") for run_id, attempt in sent)
    assert figures(job).state(Job.objects.get(id=job.id)) == "cancelled"


def test_a_held_run_is_asked_to_stop_and_ends_when_its_worker_says_so(ada: Caller, claimed: Any) -> None:
    run = claimed()
    assert jobs.cancel_run(ada, run) == 1
    assert Run.objects.get(id=run.id).state == "provisioning"
    assert cancels_asked("one") == [run.id] and cancels_asked("two") == []
    execution.finish(run.id, 1, execution.cancelled_outcome(leaked=True))
    ended = Run.objects.get(id=run.id)
    assert (ended.state, ended.counted, ended.container_leaked) == ("cancelled", "cancelled", True)


def test_a_grade_that_committed_first_wins_over_a_cancel(ada: Caller, claimed: Any) -> None:
    first, second = claimed(), claimed()
    execution.finish(first.id, 1, Outcome("completed", evaluation_text=GRADE))
    assert jobs.cancel_run(ada, first) == 0
    jobs.cancel_run(ada, second)
    execution.finish(second.id, 1, Outcome("completed", evaluation_text=GRADE))
    assert {(run.state, run.reward) for run in Run.objects.all()} == {("completed", 1.0)}


@pytest.mark.parametrize("let_go", ["stop", "lose"])
def test_a_cancelled_run_whose_worker_goes_away_does_not_run_again(ada: Caller, claimed: Any, let_go: str) -> None:
    run = claimed()
    jobs.cancel_run(ada, run)
    if let_go == "stop":
        assert not execution.release(run.id, 1, "worker stopped"), "the worker ends it as cancelled instead"
        execution.finish(run.id, 1, execution.cancelled_outcome())
    else:
        let_lease_run_out(run)
        assert workers.free_expired() == 1
    assert Run.objects.get(id=run.id).state == "cancelled"
    assert scheduler.admit(timezone.now()) == 0


def test_cancelling_twice_changes_nothing_more(ada: Caller, claimed: Any) -> None:
    run = claimed()
    jobs.cancel_run(ada, run)
    asked_at = Run.objects.get(id=run.id).cancel_requested_at
    jobs.cancel_run(ada, run)
    assert Run.objects.get(id=run.id).cancel_requested_at == asked_at
    execution.finish(run.id, 1, execution.cancelled_outcome())
    ended = Run.objects.values().get(id=run.id)
    assert jobs.cancel_run(ada, run) == 0
    assert Run.objects.values().get(id=run.id) == ended


def test_cancelling_a_job_leaves_what_has_ended(ada: Caller, claimed: Any) -> None:
    run = claimed(3)
    execution.finish(run.id, 1, Outcome("completed", evaluation_text=GRADE))
    job = Job.objects.get(id=run.job_id)
    assert jobs.cancel_job(ada, job) == 2
    assert jobs.cancel_job(ada, job) == 0
    tally = figures(job).tally
    assert (tally.expected, tally.graded, tally.cancelled, tally.pending) == (3, 1, 2, 0)


def test_a_user_cancels_only_their_own_jobs(ada: Caller, bo: Caller, cy: Caller, two_workers: Any) -> None:
    new_job(ada, 2)
    new_job(ada, 1)
    others = new_job(bo, 1)
    ended = jobs.cancel_team_jobs(ada)
    assert sorted(number for _job, number in ended) == [1, 2]
    assert jobs.cancel_team_jobs(cy) == []
    assert Run.objects.get(job=others).state == "queued"
    assert jobs.cancel_team_jobs(ada) == []


def test_nobody_cancels_another_teams_run(ada: Caller, cy: Caller) -> None:
    job = new_job(ada, 1)
    assert jobs.cancel_runs(cy, Q(job_id=job.id)) == 0
    assert Run.objects.get(job=job).state == "queued"


# — what counts


def test_a_grade_after_a_timeout_counts_and_keeps_its_story(claimed: Any) -> None:
    run = claimed()
    execution.finish(run.id, 1, Outcome("error", evaluation_text=GRADE, stop_reason="timeout"))
    graded = Run.objects.get(id=run.id)
    assert (graded.state, graded.counted, graded.reward, graded.stop_reason, graded.failure_class) == ("error", "graded", 1.0, "timeout", None)


@pytest.mark.parametrize("evaluation", ['{"score": 1e999}', '{"content": "no score"}', '{"score": 1, "isError": true}', "[]", '{"score": true}'])
def test_a_frame_without_a_usable_score_is_the_graders_failure(claimed: Any, evaluation: str) -> None:
    run = claimed()
    execution.finish(run.id, 1, Outcome("completed", evaluation_text=evaluation))
    failed = Run.objects.get(id=run.id)
    assert (failed.counted, failed.reward, failed.failure_class, failed.blame) == ("failed", None, "grading", "grader")


def test_a_failures_text_may_hold_anything(claimed: Any) -> None:
    run = claimed()
    execution.finish(run.id, 1, Outcome("error", failure=Failure("agent", "agent", "a\0b \ud7ff ü")))
    assert "b \ud7ff ü" in (Run.objects.get(id=run.id).error or "")


# — the scheduler


def test_a_jobs_own_cap_holds_while_runs_come_and_go(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 6, max_concurrent=2)
    seen = 0
    while (open_now := scheduler.admit(timezone.now())) or Run.objects.filter(state="queued").exists():
        assert Run.objects.filter(Q(state="provisioning") | Q(dispatched_until__isnull=False)).count() <= 2
        assert open_now or sent, "nothing moves"
        run_id, attempt = sent.pop(0)
        assert execution.claim(run_id, attempt, "one")
        assert scheduler.admit(timezone.now()) <= 1
        execution.finish(run_id, attempt + 1, Outcome("completed", evaluation_text=GRADE))
        seen += 1
    assert seen + len(sent) == 6


def test_two_jobs_share_the_slots(ada: Caller, two_workers: Any, sent: Any) -> None:
    first, second = new_job(ada, 20), new_job(ada, 20)
    assert scheduler.admit(timezone.now()) == 8
    job_of = dict(Run.objects.values_list("id", "job_id"))
    assert sorted(str(job_of[run_id]) for run_id, _attempt in sent) == sorted([str(first.id)] * 4 + [str(second.id)] * 4)


def test_what_one_job_cannot_use_goes_to_the_other(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 20, max_concurrent=1)
    greedy = new_job(ada, 20)
    assert scheduler.admit(timezone.now()) == 8
    job_of = dict(Run.objects.values_list("id", "job_id"))
    assert [job_of[run_id] for run_id, _attempt in sent].count(greedy.id) == 7


def test_a_small_job_does_not_keep_slots_from_a_large_one(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 1)
    new_job(ada, 20)
    scheduler.admit(timezone.now())
    scheduler.admit(timezone.now())
    assert len(sent) == 8


def test_a_turn_sends_nothing_twice(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 3)
    assert [scheduler.admit(timezone.now()) for _ in range(3)] == [3, 0, 0]
    assert len(set(sent)) == len(sent) == 3


def test_without_a_live_worker_nothing_is_sent(ada: Caller, sent: Any) -> None:
    new_job(ada, 1)
    assert scheduler.admit(timezone.now()) == 0


def test_one_of_two_schedulers_leads_until_its_lease_runs_out(ada: Caller, two_workers: Any, sent: Any) -> None:
    new_job(ada, 3)
    first, second = scheduler.Scheduler("one"), scheduler.Scheduler("two")
    first.turn()
    assert second.turn() == scheduler.STANDBY_S
    assert len(sent) == 3
    Lease.objects.filter(name="scheduler").update(until=timezone.now() - timedelta(seconds=1))
    assert second.turn() == scheduler.POLL_S
    assert Lease.objects.get(name="scheduler").owner == "two"
    assert len(sent) == 3, "what was dispatched is not sent again by the new leader"


def test_a_failure_is_logged_once_with_its_party_and_in_one_line(claimed: Any, caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any) -> None:
    run = claimed()
    failure = Failure("setup", "environment", "no\x1b[31m licence\nSECRET output of the container")
    caplog.clear()
    with caplog.at_level("WARNING", "runs.actions.execution"), django_capture_on_commit_callbacks(execute=True):
        execution.finish(run.id, run.attempt, Outcome(status="error", failure=failure))
    [line] = [record.getMessage() for record in caplog.records if record.name == "runs.actions.execution"]
    assert line == f"run failed run={run.wire_id} attempt=1 class=setup blame=environment cause='no\\x1b[31m licence'"
