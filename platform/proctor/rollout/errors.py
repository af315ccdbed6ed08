"""Blame by boundary: what stopped a rollout, as a stable word, and the party behind it.

Code behind a boundary raises plain exceptions or `RolloutFailed`; the boundary names the party. Texts are cut to 4,000
characters. May import the contract (`plan`) and nothing else.
"""

from __future__ import annotations

from proctor.rollout.plan import Blame, Failure

MESSAGE_LIMIT = 4_000

_BLAME: dict[str, Blame] = {
    "image_missing": "environment",
    "environment_start": "environment",
    "environment_exit": "environment",
    "environment_protocol": "environment",
    "environment_lost": "environment",
    "setup": "environment",
    "agent": "agent",
    "model_http": "provider",
    "model_timeout": "provider",
    "model_reply": "provider",
    "model_refused": "provider",
    "grading": "grader",
    "peer_unreachable": "environment",
    "peer_auth": "environment",
    "peer_refused": "task",
    "peer_error": "environment",
    "peer_lost": "environment",
    "peer_timeout": "environment",
    "peer_reply": "environment",
    "platform": "platform",
}


class RolloutFailed(Exception):
    """The rollout ends here, with this failure. The blame is the usual one of the class unless given."""

    def __init__(self, failure_class: str, message: str, *, blame: Blame | None = None, again: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(failure_class, blame or _BLAME[failure_class], message[:MESSAGE_LIMIT], again)


class ControlError(Exception):
    """The environment answered a call with an error frame."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} (code {code})")
        self.code = code
        self.message = message


class ControlLost(Exception):
    """The control connection ended, or could not be made: nobody is there (yet)."""


def refused_start(task_id: str, error: ControlError) -> RolloutFailed:
    """`tasks.start` was answered with an error: an unknown task is the task's fault, everything else the environment's."""
    if error.code == -32602:
        return RolloutFailed("setup", f"The environment does not know task {task_id!r}: {error}", blame="task")
    return RolloutFailed("setup", f"Setting up task {task_id!r} failed in the environment: {error}")


def refused_grade(task_id: str, error: ControlError) -> RolloutFailed:
    """`tasks.grade` was answered with an error."""
    return RolloutFailed("grading", f"Grading task {task_id!r} failed in the environment: {error}")
