"""What differs between two tasksets, task by task. Pure.

Tasks are matched by slug and compared by content, so that another order of keys is no difference, as on the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from proctor.tasks.task import FIELDS, Task


@dataclass(frozen=True)
class TaskChange:
    """A task that is in both, but not the same; `fields` names what differs."""

    before: Task
    after: Task

    @property
    def slug(self) -> str:
        """Of both."""
        return self.after.slug

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose text differs."""
        return tuple(name for name in FIELDS if self.before.field_text(name) != self.after.field_text(name))


@dataclass(frozen=True)
class TasksetDiff:
    """From one taskset to another: what comes, goes and changes, each in its set's order."""

    added: tuple[Task, ...]
    removed: tuple[Task, ...]
    changed: tuple[TaskChange, ...]
    unchanged: int

    def __bool__(self) -> bool:
        """True when anything differs."""
        return bool(self.added or self.removed or self.changed)


def compare(before: Iterable[Task], after: Iterable[Task]) -> TasksetDiff:
    """From `before` to `after`."""
    old, new = {task.slug: task for task in before}, {task.slug: task for task in after}
    changed = [TaskChange(old[slug], task) for slug, task in new.items() if slug in old and old[slug] != task]
    return TasksetDiff(
        added=tuple(task for slug, task in new.items() if slug not in old),
        removed=tuple(task for slug, task in old.items() if slug not in new),
        changed=tuple(changed),
        unchanged=sum(slug in old for slug in new) - len(changed),
    )
