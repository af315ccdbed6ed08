"""What the platform reads of a task's runtime config, however odd its numbers."""

from __future__ import annotations

import pytest

from proctor.rollout.resources import LARGEST
from proctor.rollout.taskrow import read_task


@pytest.mark.parametrize("number", ["1e308", "1" + "0" * 400, "99999999999999999999"])
def test_what_nobody_has_is_bounded(number: str) -> None:
    config = f'{{"resources": {{"cpu": {number}, "memory_mb": {number}}}, "limits": {{"startup_timeout_s": {number}, "run_timeout_s": {number}}}}}'
    task = read_task(f'{{"env": "e", "id": "t", "runtime_config": {config}}}')
    assert (task.wanted.cpu, task.wanted.memory_mb, task.wanted.startup_timeout_s, task.wanted.run_timeout_s) == (LARGEST,) * 4


@pytest.mark.parametrize("number", ["0", "-1", "-0.0", "true", "null", '"4"', "[]"])
def test_what_is_no_positive_number_counts_as_not_given(number: str) -> None:
    assert read_task(f'{{"env": "e", "id": "t", "runtime_config": {{"resources": {{"cpu": {number}}}}}}}').wanted.cpu is None
