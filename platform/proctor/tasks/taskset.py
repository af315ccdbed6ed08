"""`Taskset`: a named, ordered collection of tasks with unique slugs; it is not changed, filters give another one.

Reading, writing, the server and running are each a module of their own, imported when they are used.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from proctor.errors import DuplicateSlugs, UnknownSlugs
from proctor.tasks.compare import TasksetDiff, compare
from proctor.tasks.task import Task

if TYPE_CHECKING:
    from proctor.client import AsyncClient, Client
    from proctor.jobs import Job
    from proctor.jobs.placement import Plan
    from proctor.wire.tasksets import UploadMode, UploadOut

CLOSE_MATCHES = 3


@dataclass(frozen=True)
class Origin:
    """The version on the server that a taskset was loaded from, and how many tasks that has."""

    taskset_id: str
    name: str
    version_id: str
    number: int
    digest: str
    task_count: int

    @property
    def reference(self) -> str:
        """`name@3`."""
        return f"{self.name}@{self.number}"


class Taskset:
    """Iterates over its tasks in order; `taskset[slug]`, `len`, `items`, `in` (a slug). Raises DuplicateSlugs.

    `origin` is set when it came from the server, `source` (a file or folder) when it came from Python code, which then also says
    where the tasks' environments are."""

    def __init__(self, name: str | None = None, tasks: Iterable[Task] = (), *, origin: Origin | None = None, source: Path | None = None) -> None:
        self.name, self.origin, self.source = name or "taskset", origin, source
        self._tasks = _by_slug(list(tasks))

    # — made from

    @classmethod
    def from_file(cls, path: str | Path, *, env: str | None = None, template: str | None = None) -> Taskset:
        """A `.py` file, a folder (of Python files or of task folders), or JSON, JSONL, CSV, TSV, Parquet, plain or compressed.

        Rows that are no tasks become the `args` of `template` (default `run`) in environment `env`. Raises BadFile with line numbers.
        """
        from proctor.tasks.reading import read_taskset

        return read_taskset(Path(path), env=env, template=template)

    @classmethod
    def from_module(cls, source: str | Path | ModuleType) -> Taskset:
        """The tasks, tasksets, template calls, and lists of those, that a module (or each Python file of a folder) holds, in the order
        they stand there, each object once."""
        from proctor.tasks.modules import taskset_of_module

        return taskset_of_module(source)

    @classmethod
    def from_api(cls, reference: str, *, client: Client | None = None) -> Taskset:
        """A taskset of the server: `name` or id, `name@3`, `name@tag`, `name@sha256:…`. Raises NotFound, NotConfigured."""
        from proctor.tasks import remote

        return remote.talk_with(client, remote.load(reference))

    @classmethod
    async def from_api_async(cls, reference: str, *, client: AsyncClient | None = None) -> Taskset:
        """The same, without blocking the event loop."""
        from proctor.tasks import remote

        return await remote.talk_with_async(client, remote.load(reference))

    # — as a collection

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def __contains__(self, slug: object) -> bool:
        return slug in self._tasks

    def __getitem__(self, slug: str) -> Task:
        try:
            return self._tasks[slug]
        except KeyError:
            raise UnknownSlugs(self.name, self._close([slug])) from None

    def items(self) -> Iterator[tuple[str, Task]]:
        """(slug, task), in order."""
        return iter(self._tasks.items())

    def __repr__(self) -> str:
        return f"Taskset({self.name!r}, {len(self)} tasks)"

    @property
    def is_partial(self) -> bool:
        """It came from the server and has fewer tasks than the version there."""
        return self.origin is not None and len(self) < self.origin.task_count

    # — parts of it

    def filter(self, slugs: Iterable[str], *, missing_ok: bool = False) -> Taskset:
        """Only these tasks, in this set's order. Raises UnknownSlugs with close matches."""
        wanted = self._known(slugs, missing_ok)
        return self._with(task for slug, task in self.items() if slug in wanted)

    def exclude(self, slugs: Iterable[str], *, missing_ok: bool = False) -> Taskset:
        """All but these tasks. Raises UnknownSlugs with close matches."""
        unwanted = self._known(slugs, missing_ok)
        return self._with(task for slug, task in self.items() if slug not in unwanted)

    def where(self, holds: Callable[[Task], bool]) -> Taskset:
        """The tasks for which this holds."""
        return self._with(task for task in self if holds(task))

    def _with(self, tasks: Iterable[Task]) -> Taskset:
        return Taskset(self.name, tasks, origin=self.origin, source=self.source)

    def _known(self, slugs: Iterable[str], missing_ok: bool) -> set[str]:
        given = [slugs] if isinstance(slugs, str) else list(slugs)
        unknown = [slug for slug in given if slug not in self._tasks]
        if unknown and not missing_ok:
            raise UnknownSlugs(self.name, self._close(unknown))
        return set(given)

    def _close(self, slugs: Iterable[str]) -> dict[str, list[str]]:
        return {slug: difflib.get_close_matches(slug, self._tasks, CLOSE_MATCHES) for slug in slugs}

    def environment_names(self) -> set[str]:
        """Of all tasks and their verifiers."""
        return {task.env for task in self} | {verifier.env for task in self if (verifier := task.verifier)}

    def environment_status(self, *, client: Client | None = None) -> dict[str, str]:
        """Each environment's name → `deployed` (the server has a ready version), `not ready` or `missing`."""
        from proctor.tasks import remote

        return remote.talk_with(client, remote.environment_status(sorted(self.environment_names())))

    # — to somewhere else

    def to_file(self, path: str | Path) -> Path:
        """Write `.json`, `.jsonl` or `.csv`, every value as it was given; the file is replaced whole or stays as it was."""
        from proctor.tasks.writing import write_taskset

        return write_taskset(self, Path(path))

    def diff(self, other: Taskset) -> TasksetDiff:
        """What changes from this one to the other."""
        return compare(self, other)

    def upload(self, name: str | None = None, *, mode: UploadMode = "merge", message: str = "", client: Client | None = None) -> UploadOut:
        """Upload to the taskset of this name, which is made if need be. `merge`: what is not sent stays; `replace`: it goes;
        `remove`: these go. Nothing changed: no new version."""
        from proctor.tasks import remote

        return remote.talk_with(client, remote.upload(self, name or self.name, mode, message))

    async def upload_async(
        self, name: str | None = None, *, mode: UploadMode = "merge", message: str = "", client: AsyncClient | None = None
    ) -> UploadOut:
        """The same, without blocking the event loop."""
        from proctor.tasks import remote

        return await remote.talk_with_async(client, remote.upload(self, name or self.name, mode, message))

    # — run

    def plan(self, runtime: Any = None, *, group: int = 1) -> Plan:
        """Where each environment would run, and how many runs that makes; starts nothing. Raises NoPlacement naming all that have
        no place."""
        from proctor.jobs.placement import plan_runs

        return plan_runs(self, runtime, group=group)

    async def run(self, agent: Any, **options: Any) -> Job:
        """Every task × `group`, by this agent; see `proctor.jobs.run_taskset` for the options."""
        from proctor.jobs import run_taskset

        return await run_taskset(self, agent, **options)

    def run_sync(self, agent: Any, **options: Any) -> Job:
        """The same, outside an event loop; Ctrl-C cleans up before it raises KeyboardInterrupt."""
        import asyncio

        return asyncio.run(self.run(agent, **options))


def _by_slug(tasks: list[Task]) -> dict[str, Task]:
    found = {task.slug: task for task in tasks}
    if len(found) < len(tasks):
        places: dict[str, list[int]] = {}
        for at, task in enumerate(tasks):
            places.setdefault(task.slug, []).append(at)
        raise DuplicateSlugs({slug: at for slug, at in places.items() if len(at) > 1})
    return found
