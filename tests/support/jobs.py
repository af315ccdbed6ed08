"""Builders for tests of jobs and runs: a taskset of rows in a ready environment, started without any worker."""

from __future__ import annotations

import json

from accounts.callers import Caller
from environments.models import Environment, EnvironmentVersion
from proctor.wire.jobs import AgentIn, JobIn
from runs.actions.jobs import start_job
from runs.models import Job
from tasksets.actions import upload


def ready_environment(caller: Caller, name: str = "letters", image: str = "letters:1") -> EnvironmentVersion:
    environment = Environment.objects.create(team_id=caller.team_id, name=name, title=name)
    return EnvironmentVersion.objects.create(environment=environment, number=1, status="ready", source="image", image=image, image_id="sha256:" + "1" * 64)


def a_taskset(caller: Caller, name: str = "letters", count: int = 3, env: str = "letters") -> None:
    rows = [{"name": f"t{n:02}", "env": {"name": env}, "task_id": "count", "args": {"word": "strawberry", "n": n}} for n in range(count)]
    upload(caller, name=name, body=json.dumps({"tasks": rows}).encode())


def a_job(caller: Caller, *, count: int = 3, group: int = 2, max_concurrent: int | None = None, name: str = "letters", key: str | None = None) -> Job:
    if not Environment.objects.filter(team_id=caller.team_id, name="letters").exists():
        ready_environment(caller)
    a_taskset(caller, name, count)
    given = JobIn(taskset=name, agent=AgentIn(type="noop"), group=group, max_concurrent=max_concurrent, idempotency_key=key)
    return start_job(caller, given)[0]
