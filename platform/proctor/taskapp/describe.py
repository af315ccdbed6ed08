"""What a Task App says of itself, put together from `/info` and one task: what one lost in writing, the other fills in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proctor.taskapp.client import TaskAppClient
from proctor.taskapp.damage import items, lost_paths
from proctor.taskapp.transport import CallFailed


@dataclass(frozen=True)
class Description:
    """`size` is the number of tasks, None when the app does not say. `lost`: paths of `/info` that the app lost in writing."""

    task_id: str
    name: str
    description: str = ""
    version: str | None = None
    splits: list[str] = field(default_factory=list)
    default_split: str | None = None
    size: int | None = None
    lost: list[str] = field(default_factory=list)

    def template(self) -> dict[str, Any]:
        """As an environment's manifest lists it, with a JSON Schema of a task's args."""
        split = {"type": "string", **({"enum": self.splits} if self.splits else {})}
        properties = {"seed": {"type": "integer"}, "split": split, "config": {"type": "object"}}
        return {"id": self.task_id, "description": self.description, "args": {"type": "object", "properties": properties, "required": ["seed"]}}


async def describe(client: TaskAppClient) -> Description:
    """Raises CallFailed when `/info` cannot be read; one task is asked for only to fill what was lost."""
    info, marks = await client.info()
    lost = lost_paths(marks)
    task = _object((info.service or {}).get("task"))
    dataset = info.dataset.model_dump() if info.dataset else {}
    if not task or not dataset:
        first = await _first(client)
        task, dataset = task or first[0], dataset or first[1]
    splits = [split for split in items(dataset.get("splits")) if isinstance(split, str)]
    return Description(
        task_id=str(task.get("id") or task.get("name") or "task")[:255], name=str(task.get("name") or task.get("id") or "Task App")[:255],
        description=str(task.get("description") or "")[:2000], version=_text(task.get("version")), splits=splits, default_split=_text(dataset.get("default_split")),
        size=_count(dataset) if dataset else None, lost=lost,
    )  # fmt: skip


async def _first(client: TaskAppClient) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        (instance,) = await client.task_info([0])
    except CallFailed:
        return {}, {}
    return instance.info.task.model_dump(), instance.info.dataset.model_dump()


def _count(dataset: dict[str, Any]) -> int | None:
    found = next((dataset[name] for name in ("cardinality", "size", "count") if isinstance(dataset.get(name), int)), None)
    return found if found is not None and not isinstance(found, bool) and found >= 0 else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
