"""Synth Task Apps, from both sides: the contract's models, a client and a probe for others' apps, and a small ASGI app for one's own.

Facts of the wire: docs/reference/task-apps.md. No Django, no FastAPI. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.taskapp.app import TaskAppConfig, create_task_app
    from proctor.taskapp.client import TaskAppClient
    from proctor.taskapp.datasets import DatasetRegistry, DatasetSpec
    from proctor.taskapp.rollouts import RolloutRequest, RolloutResponse
    from proctor.taskapp.rubrics import Rubric, load_rubric, score_events, score_outcome
    from proctor.taskapp.tasks import TaskInfo

_HOMES = {
    "TaskAppConfig": "app", "create_task_app": "app", "TaskAppClient": "client", "DatasetRegistry": "datasets", "DatasetSpec": "datasets",
    "RolloutRequest": "rollouts", "RolloutResponse": "rollouts", "Rubric": "rubrics", "load_rubric": "rubrics", "score_events": "rubrics",
    "score_outcome": "rubrics", "TaskInfo": "tasks",
}  # fmt: skip
__all__ = [
    "DatasetRegistry", "DatasetSpec", "RolloutRequest", "RolloutResponse", "Rubric", "TaskAppClient", "TaskAppConfig", "TaskInfo",
    "create_task_app", "load_rubric", "score_events", "score_outcome",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
