"""Frames that no environment should send: each is read as somebody's failure, none breaks the platform."""

from __future__ import annotations

import pytest

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.frames import grade_problem, prompt_messages

DEEP = '{"prompt": ' + "[" * 3000 + "]" * 3000 + "}"


@pytest.mark.parametrize("frame", ["[]", "null", "5", '"text"', "{", DEEP])
def test_a_start_frame_that_cannot_be_read_is_the_environments_failure(frame: str) -> None:
    with pytest.raises(RolloutFailed) as caught:
        prompt_messages(frame)
    assert (caught.value.failure.failure_class, caught.value.failure.blame) == ("environment_protocol", "environment")


@pytest.mark.parametrize("frame", ["[]", "null", "5", "{", '{"score": 1, "content": ' + "[" * 3000 + "]" * 3000 + "}"])
def test_a_grade_frame_that_cannot_be_read_is_no_grade(frame: str) -> None:
    assert str(grade_problem(frame)).startswith("The grade cannot be read: ")
