"""What a worker does with the versions that wait: build the image if there is a context, start it once, keep what it holds.

`process_one` claims a version and sees it to its end, renewing its lease and storing the log on the way; the database is only
touched in writer threads. Stopped (cancelled), it gives the version back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
from aiodocker.exceptions import DockerError
from django.conf import settings
from django.core.files.storage import default_storage

from environments import claims
from environments.claims import Claim
from environments.probe import STARTUP_S, Probed, probe
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.images import BuildFailed, build_image, inspect_image
from proctor.rollout.patience import finish
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.sandbox import INSTANCE_LABEL, DockerEngine, docker_client
from web.threads import in_writer

logger = logging.getLogger(__name__)

KEEP_EVERY_S = 5.0
PROBE_LABEL, VERSION_LABEL = "proctor.probe", "proctor.environment-version"
OnLine = Callable[[str], None]


class Log:
    """Lines as they come; `taken` gives the whole when there is something new."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._stored = 0

    def add(self, line: str) -> None:
        self._lines.append(line)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def taken(self) -> str | None:
        if len(self._lines) == self._stored:
            return None
        self._stored = len(self._lines)
        return self.text


async def process_one(worker_id: str, instance: str, *, engine: DockerEngine | None = None, why_no_docker: str = "") -> bool:
    """One version, if one waits; False when none does. Call it in a loop. `engine`: the worker's own, kept open. `why_no_docker`: this
    worker starts no containers, so versions fail with that reason instead of waiting for ever."""
    claim = await in_writer(claims.claim_next, worker_id)
    if claim is None:
        return False
    log = Log()
    if why_no_docker:
        await _fail(claim, log, f"Environments need a Docker engine. {why_no_docker}")
        return True
    work = asyncio.create_task(_see_through(claim, instance, engine, log))
    keeper = asyncio.create_task(_keep(claim, log))
    try:
        await asyncio.wait({work, keeper}, return_when=asyncio.FIRST_COMPLETED)
        for ended in (task for task in (work, keeper) if task.done()):
            ended.result()
    except asyncio.CancelledError:
        await finish(_stop(work, keeper))
        await finish(in_writer(claims.give_back, claim))
        raise
    finally:
        await finish(_stop(work, keeper))
    return True


async def _stop(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _keep(claim: Claim, log: Log) -> None:
    """Ends when the claim is lost."""
    while await in_writer(claims.keep, claim, log.taken()):  # noqa: ASYNC110 - a lease is renewed by the clock
        await asyncio.sleep(KEEP_EVERY_S)
    logger.warning("environment version is held by another worker version_id=%s", claim.version_id)


async def _see_through(claim: Claim, instance: str, engine: DockerEngine | None, log: Log) -> None:
    try:
        async with _engine(engine) as used:
            probed, image, image_id = await build_and_probe(claim, instance, engine=used, on_line=log.add)
    except (RolloutFailed, BuildFailed) as error:
        await _fail(claim, log, str(error))
    except Exception as error:
        logger.exception("environment version not made ready version_id=%s", claim.version_id)
        await _fail(claim, log, f"Proctor failed while making this version ready: {type(error).__name__}")
    else:
        await in_writer(claims.finish_version, claim, log=log.text, manifest=probed.manifest, image=image, image_id=image_id)
        logger.info("environment version ready version_id=%s image_id=%s", claim.version_id, image_id)


async def _fail(claim: Claim, log: Log, error: str) -> None:
    if error not in log.text:
        log.add(error)
    await in_writer(claims.finish_version, claim, log=log.text, error=error)
    logger.info("environment version failed version_id=%s", claim.version_id)


async def build_and_probe(claim: Claim, instance: str, *, engine: DockerEngine, on_line: OnLine) -> tuple[Probed, str, str]:
    """What it holds, its image's name and id. Raises RolloutFailed, BuildFailed; no container stays."""
    if claim.attempt > 1:
        await _remove_left_behind(claim, instance, engine)
    image, image_id = await _image(claim, instance, on_line)
    await in_writer(claims.enter_probing, claim, image=image, image_id=image_id)
    on_line(f"Starting {image} ({image_id})")
    spec = SandboxSpec(kind="docker", image=image_id, network=settings.PROCTOR_SANDBOX_NETWORK)
    labels = {INSTANCE_LABEL: instance, PROBE_LABEL: str(claim.version_id), "proctor.expiry": str(int(time.time() + STARTUP_S + 120))}
    probed = await probe(engine, spec, labels)
    on_line(f"It holds {len(probed.manifest['templates'])} templates and {len(probed.manifest['capabilities'])} capabilities")
    return probed, image, image_id


async def _remove_left_behind(claim: Claim, instance: str, engine: DockerEngine) -> None:
    """By a worker that was killed while it probed this version."""
    for container in await engine.list_ours(instance):
        if container.labels.get(PROBE_LABEL) == str(claim.version_id):
            await engine.remove(container.id)


async def _image(claim: Claim, instance: str, on_line: OnLine) -> tuple[str, str]:
    """The image's name and id: built from the context, or looked up. Its labels do not name the instance, since containers
    that people start from it inherit them and must not look like ours."""
    if claim.source == "build":
        tag = image_tag(claim.version_id)
        async with _local_context(claim) as tar:
            return tag, await build_image(tar, tag, on_line, labels={VERSION_LABEL: str(claim.version_id)})
    try:
        async with docker_client() as docker:
            image_id = await inspect_image(docker, claim.image)
    except (DockerError, aiohttp.ClientError, TimeoutError, OSError) as error:
        raise RolloutFailed("platform", f"The Docker engine failed while looking for {claim.image}: {error}") from error
    if image_id is None:
        raise RolloutFailed(
            "image_missing", f"Image {claim.image!r} is not on the Docker engine: build, load or pull it there, then register it again."
        )
    return claim.image, image_id


def image_tag(version_id: uuid.UUID) -> str:
    return f"proctor-env:{version_id.hex}"


@contextlib.asynccontextmanager
async def _local_context(claim: Claim) -> AsyncIterator[Path]:
    """The stored archive as a local file, wherever it is stored."""
    with tempfile.NamedTemporaryFile(prefix="proctor-build-", suffix=".tar") as draft:
        await asyncio.to_thread(_fetch, claim.context_path or "", Path(draft.name))
        yield Path(draft.name)


def _fetch(stored: str, target: Path) -> None:
    with default_storage.open(stored) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, 1024 * 1024)


@contextlib.asynccontextmanager
async def _engine(given: DockerEngine | None) -> AsyncIterator[DockerEngine]:
    if given is not None:
        yield given
        return
    async with DockerEngine() as engine:
        yield engine
