"""The lines of `make bench`: how value, floor and goal become a ratio. No time is measured here."""

from __future__ import annotations

import json

import pytest

from bench import __main__ as runner
from bench.lines import line


def test_a_time_is_judged_by_its_goal_scaled_by_the_machine() -> None:
    got = line("P3", "first byte", db="postgres", values=[90, 30, 60], unit="ms", must=50, floor_values=[120, 110, 116], k=2.0)
    assert (got.value, got.n, got.floor, got.ratio, got.ok) == (60, 3, 116, 0.6, True)


def test_a_rate_is_judged_the_other_way_round() -> None:
    got = line("P6", "spans", db="postgres", values=[2000.0], unit="spans/s", must=4000, k=0.75)
    assert (got.ratio, got.ok) == (1.5, False)


def test_a_share_is_good_only_when_it_is_whole() -> None:
    whole, less = (line("P8", "kept", db="postgres", values=[value], unit="share", must=1, more_is_better=True) for value in (1.0, 0.99))
    assert (whole.ok, less.ok) == (True, False)


def test_a_printed_line_has_the_fields_of_the_reference() -> None:
    printed = json.loads(line("P21", "memory", db="postgres", values=[300.123456], unit="MB", must=450).json())
    assert set(printed) == {
        "id", "what", "db", "n", "value", "unit", "values", "floor", "floor_values", "k", "ratio", "must", "ok", "load1", "commit",
    }  # fmt: skip
    assert (printed["value"], printed["floor"], printed["ok"]) == (300.12, None, True)


def test_only_chooses_measures_and_refuses_unknown_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONLY", "p2, P6")
    assert runner.wanted() == ["P2", "P6"]
    monkeypatch.setenv("ONLY", "P99")
    with pytest.raises(SystemExit, match="P99"):
        runner.wanted()
