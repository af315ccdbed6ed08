"""What people see while runs go on: the bar, and the command line's live table, as they are drawn."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import proctor
from proctor import LocalRuntime
from proctor.cli.live import LiveTable
from proctor.jobs.job import Run
from tests.sdk.conftest import letters
from tests.support.letters_env import env as live_env


async def test_a_bar_shows_the_mean_and_how_many_are_over(capsys: pytest.CaptureFixture[str]) -> None:
    await letters("banana", "kiwi").run(proctor.replay(answers={"banana": "3", "kiwi": "9"}), runtime=LocalRuntime(live_env), progress=True)
    said = capsys.readouterr()
    assert "mean 0.500" in said.err and "2/2" in said.err and said.out == ""


async def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    await letters("banana").run(proctor.noop(), runtime=LocalRuntime(live_env))
    assert capsys.readouterr() == ("", "")


def test_the_live_table_has_the_runs_that_go_on_and_sums_of_the_rest() -> None:
    table = LiveTable()
    table.plan(letters("banana", "kiwi", "papaya").plan(LocalRuntime(live_env)))
    runs = [Run(f"r{index}", "j", task, index, 0, "g") for index, task in enumerate(letters("banana", "kiwi", "papaya"))]
    runs[0].state, runs[0].counted, runs[0].reward = "completed", "graded", 0.5
    runs[1].state, runs[1].counted = "error", "failed"
    runs[2].state = "grading"
    for run in runs:
        table.changed(run)
    page = Console(file=io.StringIO(), width=100)
    page.print(table._render())
    text = page.file.getvalue()  # type: ignore[attr-defined]
    assert "2 of 3 runs over, mean 0.500, 1 failed" in text and "papaya" in text and "grading" in text and "banana" not in text
