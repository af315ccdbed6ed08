"""What a run counts as: the table of design.md, row by row, and promise 3 as a property."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.outcomes import Count, Tally, count, job_state

TABLE = [
    ("cancelled", {"score": 1.0}, 1.0, Count("cancelled")),
    ("completed", {"score": 0.25}, 0.25, Count("graded", 0.25)),
    ("error", {"score": 1.0, "done": True}, 1.0, Count("graded", 1.0)),
    ("completed", {"score": 0, "isError": False}, 0.0, Count("graded", 0.0)),
    ("completed", {"score": 1.0, "isError": True}, 1.0, Count("failed", None, "grading")),
    ("completed", {"done": True}, 0.0, Count("failed", None, "grading")),
    ("completed", {"score": math.nan}, 0.0, Count("failed", None, "grading")),
    ("completed", {"score": math.inf}, 0.0, Count("failed", None, "grading")),
    ("completed", {"score": True}, 0.0, Count("failed", None, "grading")),
    ("completed", {"score": "1"}, 0.0, Count("failed", None, "grading")),
    ("completed", {"score": 10**400}, 0.0, Count("failed", None, "grading")),
    ("completed", None, 0.75, Count("graded", 0.75)),
    ("completed", None, None, Count("failed", None, "ungraded")),
    ("completed", None, math.nan, Count("failed", None, "ungraded")),
    ("error", None, 0.0, Count("failed", None, "reported")),
    ("running", None, None, Count("pending")),
]


@pytest.mark.parametrize(("status", "evaluation", "reward", "expected"), TABLE)
def test_a_report_counts_as_the_table_says(status, evaluation, reward, expected):
    assert count(status, evaluation, reward) == expected


def test_the_engines_own_failure_class_is_kept():
    assert count("error", None, None, "image_missing") == Count("failed", None, "image_missing")


@given(
    st.sampled_from(["completed", "error", "cancelled", "queued"]),
    st.none() | st.dictionaries(st.sampled_from(["score", "isError", "x"]), st.none() | st.booleans() | st.floats() | st.integers() | st.text()),
    st.none() | st.floats() | st.integers() | st.text(),
)
def test_only_graded_runs_have_a_reward_and_it_is_finite(status, evaluation, reward):
    found = count(status, evaluation, reward)
    assert (found.reward is not None) == (found.counted == "graded")
    assert found.reward is None or math.isfinite(found.reward)
    assert (found.failure_class is not None) == (found.counted == "failed")


@pytest.mark.parametrize(
    ("tally", "cancel_requested", "started", "state"),
    [
        (Tally(expected=3, queued=3), False, False, "queued"),
        (Tally(expected=3, queued=2, running=1), False, True, "running"),
        (Tally(expected=3, queued=2, graded=1), False, True, "running"),
        (Tally(expected=3, graded=2, failed=1), False, True, "completed"),
        (Tally(expected=3, graded=2, cancelled=1), True, True, "cancelled"),
        (Tally(expected=3, graded=3), True, True, "completed"),
        (Tally(expected=3, cancelled=3), True, False, "cancelled"),
        (Tally(), False, False, "queued"),
    ],
)
def test_a_jobs_state_is_derived_from_its_runs(tally, cancel_requested, started, state):
    assert job_state(tally, cancel_requested=cancel_requested, started=started) == state
