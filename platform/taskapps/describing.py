"""A taskset of ours as a Task App describes itself: `/info`, and a TaskInfo for each seed.

A seed is a task's place in the taskset's order; one beyond the last wraps, and says so. What a task asks, and what would answer it, stays
here: it is asked in the rollout.
"""

from __future__ import annotations

from typing import Any

from accounts.queries import public_url
from proctor.taskapp.datasets import normalise_seed
from proctor.taskapp.tasks import DatasetInfo, InferenceInfo, LimitsInfo, TaskDescriptor, TaskInfo
from tasksets.models import Taskset, Version
from tasksets.queries import Pinned, VersionTask, tasks_at
from web.errors import conflict, invalid, problem

SPLIT, MAX_SEEDS = "default", 500
MAX_TURNS, TIMEOUT_S = 1_000, 3_600


def info(pinned: Pinned) -> dict[str, Any]:
    task = _descriptor(pinned.taskset, pinned.version)
    return {
        "service": {"task": task.model_dump(), "version": task.version}, "dataset": _dataset(pinned.taskset, pinned.version).model_dump(), "rubrics": None,
        "inference": InferenceInfo().model_dump(), "limits": _limits().model_dump(),
    }  # fmt: skip


def taskset_of(pinned: Pinned) -> dict[str, Any]:
    """What `/task_info` says without a seed."""
    taskset, version = pinned.taskset, pinned.version
    count = version.task_count if version else 0
    return {"id": taskset.name, "name": taskset.title, "size": count, "splits": [SPLIT], "version": version.number if version else None, "url": _page(taskset)}


def seeds_of(texts: list[str]) -> list[int]:
    """Raises AppError 422."""
    if len(texts) > MAX_SEEDS:
        raise invalid([problem("seed", f"at most {MAX_SEEDS} in one request")])
    try:
        return [normalise_seed(text).requested for text in texts]
    except ValueError as error:
        raise invalid([problem("seed", str(error))]) from None


def instances(pinned: Pinned, seeds: list[int]) -> list[dict[str, Any]]:
    """A TaskInfo for each seed, in order."""
    version = _with_tasks(pinned)
    places = [normalise_seed(seed, cardinality=version.task_count) for seed in seeds]
    tasks = tasks_at(version, [place.effective for place in places])
    return [_instance(pinned, version, tasks[place.effective], place.requested, place.wrapped) for place in places]


def task_of(pinned: Pinned, seed: int | None) -> VersionTask:
    """The task of a rollout. Raises AppError 422 for a negative seed, 409 for an empty set."""
    version = _with_tasks(pinned)
    (requested,) = seeds_of([str(seed or 0)])
    place = normalise_seed(requested, cardinality=version.task_count).effective
    return tasks_at(version, [place])[place]


def _with_tasks(pinned: Pinned) -> Version:
    if pinned.version is None or not pinned.version.task_count:
        raise conflict(f"Taskset {pinned.taskset.name} has no tasks yet")
    return pinned.version


def _instance(pinned: Pinned, version: Version, task: VersionTask, seed: int, wrapped: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {"seed": seed, "index": task.position, "slug": task.slug, "template": task.task_id, "wrapped": wrapped}
    return TaskInfo(
        task=TaskDescriptor(id=task.task_id, name=task.slug, version=str(version.number)), environment=task.env, dataset=_dataset(pinned.taskset, version),
        limits=_limits(), task_metadata=metadata,
    ).model_dump()  # fmt: skip


def _descriptor(taskset: Taskset, version: Version | None) -> TaskDescriptor:
    return TaskDescriptor(id=taskset.name, name=taskset.title, description=f"{_page(taskset)}", version=str(version.number) if version else None)


def _dataset(taskset: Taskset, version: Version | None) -> DatasetInfo:
    known = {"id": taskset.name, "name": taskset.title, "version": str(version.number) if version else None, "splits": [SPLIT], "default_split": SPLIT}
    return DatasetInfo.model_validate({**known, "cardinality": version.task_count if version else 0, "digest": version.digest if version else None})


def _limits() -> LimitsInfo:
    return LimitsInfo(max_turns=MAX_TURNS, timeout_seconds=TIMEOUT_S)


def _page(taskset: Taskset) -> str:
    return f"{public_url()}/tasksets/{taskset.id}"
