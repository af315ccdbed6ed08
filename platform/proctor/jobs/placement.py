"""Where each environment of a taskset runs: decided before anything starts, shown as a plan, with every gap in one error.

Without `runtime`: tasks of the server run through the tunnel, tasks that name an image in containers, tasks of Python code by the file
beside them that declares their environment. Otherwise one place for all, or one per environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.errors import BadFile, NoPlacement
from proctor.jobs.runtimes import DockerRuntime, HostedRuntime, LocalRuntime, Place, Runtime, TunnelRuntime
from proctor.jobs.sources import declared_in
from proctor.rollout.taskrow import TaskFacts, read_task

if TYPE_CHECKING:
    from proctor.tasks.taskset import Taskset

Where = Place | HostedRuntime
HINT = 'Pass runtime=: LocalRuntime("env.py"), DockerRuntime("image"), Runtime("tcp://…"), TunnelRuntime() or HostedRuntime(); or a dict of them by environment.'


@dataclass(frozen=True)
class Placed:
    """One environment: how many tasks need it, and where it runs."""

    env: str
    tasks: int
    where: str


@dataclass(frozen=True)
class Plan:
    """What a run would do. `places` holds the place of each environment, unless the server hosts all of it."""

    taskset: str
    tasks: int
    group: int
    placed: list[Placed]
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)
    hosted: HostedRuntime | None = None

    @property
    def runs(self) -> int:
        """Tasks × group."""
        return self.tasks * self.group

    def __str__(self) -> str:
        lines = [f"{self.taskset}: {_count(self.tasks, 'task')} × {self.group} = {_count(self.runs, 'run')}"]
        return "\n".join([*lines, *(f"  {one.env}: {one.where} ({_count(one.tasks, 'task')})" for one in self.placed)])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plan_runs(taskset: Taskset, runtime: Where | Mapping[str, Place] | None, *, group: int) -> Plan:
    """See `Taskset.plan`."""
    needs = _needs(taskset)
    counts = {env: len(tasks) for env, tasks in needs.items()}
    if isinstance(runtime, HostedRuntime):
        placed = [Placed(env, count, "the server, as a hosted job") for env, count in counts.items()]
        return Plan(taskset.name, len(taskset), group, placed, hosted=runtime)
    places, missing = dict[str, Place](), dict[str, str]()
    for env, tasks in needs.items():
        place = runtime.get(env) if isinstance(runtime, Mapping) else runtime or _default(taskset, env, tasks)
        why = "nothing says where it runs" if place is None else next(filter(None, map(place.why_not, tasks)), None)
        if place is None or why:
            missing[env] = why or ""
        else:
            places[env] = place
    if missing:
        reasons = "; ".join(f"{env}: {why}" for env, why in missing.items())
        raise NoPlacement(list(missing), f"({reasons}.) {HINT}")
    return Plan(taskset.name, len(taskset), group, [Placed(env, counts[env], place.describe(env)) for env, place in places.items()], places)


def _needs(taskset: Taskset) -> dict[str, list[TaskFacts]]:
    """Environment → the tasks, and verifiers with a sandbox of their own, that need it."""
    found: dict[str, list[TaskFacts]] = {}
    for task in taskset:
        for facts in with_verifier(read_task(task.text)):
            found.setdefault(facts.env, []).append(facts)
    return found


def with_verifier(task: TaskFacts) -> Iterator[TaskFacts]:
    """The task, and its verifier unless that shares the task's sandbox."""
    yield task
    if task.verifier_text is not None:
        verifier = read_task(task.verifier_text)
        if not shares_sandbox(task, verifier):
            yield verifier


def shares_sandbox(task: TaskFacts, verifier: TaskFacts) -> bool:
    """Same environment and no image of its own."""
    return verifier.env == task.env and verifier.image is None


def _default(taskset: Taskset, env: str, tasks: list[TaskFacts]) -> Place | None:
    if taskset.origin is not None:
        return TunnelRuntime()
    if all(task.image for task in tasks):
        return DockerRuntime()
    file = _declaring(taskset.source, env) if taskset.source else None
    return LocalRuntime(file) if file else None


def _declaring(source: Path, env: str) -> Path | None:
    """The file itself, or one beside it, that declares the environment."""
    folder = source if source.is_dir() else source.parent
    for file in dict.fromkeys([*([] if source.is_dir() else [source]), *sorted(folder.glob("*.py"))]):
        try:
            if env in declared_in(file).names:
                return file
        except BadFile:
            continue
    return None


__all__ = ["Placed", "Plan", "Runtime", "plan_runs", "shares_sandbox", "with_verifier"]
