"""The shipped sample: its taskset, its environment, and the job that runs by itself at the first boot.

The worker brings it in, since it alone knows the engine: with one, the environment gets an image; without, it stays a plain process.
Idempotent at every start: the job has an idempotency key.
"""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from accounts.callers import platform_caller
from accounts.models import Team
from accounts.queries import oldest_team
from environments.actions import register_sample
from proctor import samples
from proctor.rollout.images import SampleImage, ensure_sample_image
from proctor.rollout.sandbox import docker_client
from proctor.wire.jobs import AgentIn, JobIn
from runs.actions.jobs import start_job
from runs.models import Job
from tasksets.actions import upload

if TYPE_CHECKING:
    from runs.worker import WorkerProcess

logger = logging.getLogger(__name__)
SAMPLE_KEY = "proctor-sample-1"


async def follow(worker: WorkerProcess) -> None:
    """Brings the sample in once there is a team, then ends."""
    while True:
        try:
            team = await worker.ledger.write(oldest_team)
            if team is not None:
                await bring_in(worker, team)
                return
        except Exception:
            logger.exception("the sample could not be brought in, trying again")
            await asyncio.sleep(10)
        await asyncio.sleep(0.2)


async def bring_in(worker: WorkerProcess, team: Team) -> None:
    image = await sample_image() if worker.able.docker else None
    if worker.able.docker and image is None:
        logger.warning("no base image for the sample could be made; it runs as a plain process, unsandboxed")
    await worker.ledger.write(register, team, image)
    if os.environ.get("PROCTOR_SAMPLE", "1") != "0":
        await worker.ledger.write(start, team)


async def sample_image() -> SampleImage | None:
    docker = docker_client()
    try:
        return await ensure_sample_image(docker, lambda line: logger.info("sample image: %s", line), pull_marker=Path(settings.DATA) / "sample-pull-tried", labels={"proctor.instance": settings.PROCTOR_INSTANCE})
    finally:
        await docker.close()


def register(team: Team, image: SampleImage | None) -> None:
    register_sample(team.id, image=image.tag if image else "", image_id=image.image_id if image else None)


def start(team: Team) -> Job | None:
    caller = platform_caller(team.id)
    if Job.objects.filter(team_id=team.id, idempotency_key=SAMPLE_KEY).exists():
        return None
    body = b'{"tasks": [' + ",".join(samples.sample_task_lines()).encode() + b"]}"
    upload(caller, name=samples.TASKSET_TITLE, body=body, message="The sample that Proctor ships")
    agent = AgentIn(type="replay", config={"column": samples.RECORDED_COLUMN})
    job, _made = start_job(caller, JobIn(taskset=samples.TASKSET_NAME, agent=agent, name="Sample: GSM8K, recorded answers", idempotency_key=SAMPLE_KEY))
    logger.info("sample job started job=%s", job.wire_id)
    return job


def sample_job() -> Job | None:
    return Job.objects.filter(idempotency_key=SAMPLE_KEY).select_related("taskset").first()


