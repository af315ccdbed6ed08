"""What a worker does with the versions that wait: build the image if there is a context, start it once, keep what it holds.

`process_one` claims a version and sees it to its end, renewing its lease and storing the log on the way; the database is only
touched in writer threads. Stopped (cancelled), it gives the version back; a version that somebody cancelled ends, and its build with
it. The same context, arguments and secrets are built once: the image's tag is made of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shutil
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import aiohttp
from aiodocker.exceptions import DockerError
from django.conf import settings
from django.core.files.storage import default_storage
from django.utils.crypto import salted_hmac

from environments import claims
from environments.claims import Claim
from environments.images import BUILT_FOR
from environments.probe import STARTUP_S, Probed, probe
from environments.sandboxes import speaks
from environments.variables import values_of
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.images import BuildFailed, BuildOptions, build_image, context_digest, inspect_image
from proctor.rollout.patience import finish
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.sandbox import INSTANCE_LABEL, DockerEngine, docker_client
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)

KEEP_EVERY_S, RENEW_EVERY_S = 0.5, 5.0
LOG_CHARACTERS, LAST_LINES = 8 * 1024**2, 200
PROBE_LABEL = "proctor.probe"
OnLine = Callable[[str], None]
HIDDEN, LEAST_HIDDEN = "[secret]", 4


class Log:
    """Lines as they come; `taken` gives those that are new. Values of `secrets` are never among them. Beyond 8 Mi characters only the
    last 200 lines are kept."""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        self._secrets = sorted((value for value in secrets if len(value) >= LEAST_HIDDEN), key=len, reverse=True)
        self._new: list[str] = []
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._size = self._left_out = 0
        self._end = ""

    def add(self, text: str) -> None:
        line = self.hide(text)
        self._end = line
        self._size += len(line) + 1
        if self._size <= LOG_CHARACTERS:
            self._new.append(line)
        else:
            self._left_out += len(self._last) == LAST_LINES
            self._last.append(line)

    def ends_with(self, text: str) -> bool:
        return self._end.endswith(text)

    def hide(self, text: str) -> str:
        for value in self._secrets:
            text = text.replace(value, HIDDEN)
        return text

    def taken(self, *, last: bool = False) -> str | None:
        """None: nothing new. `last`: with the lines that were held back."""
        if last and self._last:
            left_out = [f"({self._left_out:,} lines left out)"] if self._left_out else []
            self._new += [*left_out, *self._last]
        lines, self._new = self._new, []
        return "\n".join(lines) + "\n" if lines else None


async def process_one(worker_id: str, instance: str, *, engine: DockerEngine | None = None, why_no_docker: str = "") -> bool:
    """One version, if one waits; False when none does. Call it in a loop. `engine`: the worker's own, kept open. `why_no_docker`: this
    worker starts no containers, so versions fail with that reason instead of waiting for ever."""
    claim = await in_writer(claims.claim_next, worker_id)
    if claim is None:
        return False
    variables = await in_reader(values_of, claim.environment_id)
    log = Log([*claim.build_secrets.values(), *variables.values()])
    if why_no_docker:
        await _fail(claim, log, f"Environments need a Docker engine. {why_no_docker}")
        return True
    work = asyncio.create_task(_see_through(claim, instance, engine, log, variables))
    keeper = asyncio.create_task(_keep(claim, log))
    try:
        await asyncio.wait({work, keeper}, return_when=asyncio.FIRST_COMPLETED)
        for ended in (task for task in (work, keeper) if task.done()):
            ended.result()
    except asyncio.CancelledError:
        await finish(_stop(work, keeper))
        await finish(in_writer(claims.give_back, claim, log.taken(last=True)))
        raise
    finally:
        await finish(_stop(work, keeper))
    if not work.cancelled():
        return True
    log.add(claims.CANCELLED)
    if await in_writer(claims.finish_version, claim, log=log.taken(last=True) or "", cancelled=True):
        logger.info("environment version cancelled version_id=%s", claim.version_id)
    return True


async def _stop(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _keep(claim: Claim, log: Log) -> None:
    """Ends when the claim is lost or somebody cancels the version."""
    renewed = 0.0
    while not await in_reader(claims.cancel_asked, claim):
        lines, now = log.taken(), time.monotonic()
        if lines or now - renewed > RENEW_EVERY_S:
            renewed = now
            if not await in_writer(claims.keep, claim, lines):
                logger.warning("environment version is held by another worker version_id=%s", claim.version_id)
                return
        await asyncio.sleep(KEEP_EVERY_S)


async def _see_through(claim: Claim, instance: str, engine: DockerEngine | None, log: Log, variables: Mapping[str, str]) -> None:
    try:
        async with _engine(engine) as used:
            probed, image, image_id = await build_and_probe(claim, instance, engine=used, on_line=log.add, variables=variables)
    except (RolloutFailed, BuildFailed) as error:
        await _fail(claim, log, str(error))
    except Exception as error:
        logger.exception("environment version not made ready version_id=%s", claim.version_id)
        await _fail(claim, log, f"Proctor failed while making this version ready: {type(error).__name__}")
    else:
        rest = log.taken(last=True) or ""
        await in_writer(claims.finish_version, claim, log=rest, manifest=probed.manifest, image=image, image_id=image_id)
        logger.info("environment version ready version_id=%s image_id=%s", claim.version_id, image_id)


async def _fail(claim: Claim, log: Log, error: str) -> None:
    """A failed build's own log ends with its error already."""
    error = log.hide(error)
    if not log.ends_with(error):
        log.add(error)
    await in_writer(claims.finish_version, claim, log=log.taken(last=True) or "", error=error)
    logger.info("environment version failed version_id=%s", claim.version_id)


async def build_and_probe(
    claim: Claim, instance: str, *, engine: DockerEngine, on_line: OnLine, variables: Mapping[str, str]
) -> tuple[Probed, str, str]:
    """What it holds, its image's name and id. Raises RolloutFailed, BuildFailed; no container stays."""
    if claim.attempt > 1:
        await _remove_left_behind(claim, instance, engine)
    image, image_id = await _image(claim, instance, on_line)
    await in_writer(claims.enter_probing, claim, image=image, image_id=image_id)
    on_line(f"Starting {image} ({image_id})")
    spec = SandboxSpec("docker", image=image_id, env=variables, network=settings.PROCTOR_SANDBOX_NETWORK, speaks=speaks(claim.kind))
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
    """The image's name and id: built from the context, or looked up."""
    try:
        if claim.source == "build":
            return await _built(claim, instance, on_line)
        async with docker_client() as docker:
            image_id = await inspect_image(docker, claim.image)
    except (DockerError, aiohttp.ClientError, TimeoutError, OSError) as error:
        raise RolloutFailed("platform", f"The Docker engine failed while looking for {claim.image}: {error}") from error
    if image_id is None:
        raise RolloutFailed(
            "image_missing", f"Image {claim.image!r} is not on the Docker engine: build, load or pull it there, then register it again."
        )
    return claim.image, image_id


async def _built(claim: Claim, instance: str, on_line: OnLine) -> tuple[str, str]:
    """Labels do not name the instance, since containers that people start from the image inherit them and must not look like ours."""
    async with _local_context(claim) as tar:
        content = await asyncio.to_thread(context_digest, tar)
        tag = image_tag(claim, instance, content)
        async with docker_client() as docker:
            known = None if claim.no_cache else await inspect_image(docker, tag)
        if known:
            on_line(f"Built before from the same content: {tag}")
            return tag, known
        options = BuildOptions(claim.build_args, claim.build_secrets, claim.no_cache, {CONTENT_LABEL: content, BUILT_FOR: instance})
        return tag, await build_image(tar, tag, on_line, options)


CONTENT_LABEL = "proctor.context"


def image_tag(claim: Claim, instance: str, content: str) -> str:
    """The same for the same content, build arguments and build secrets of one team; secrets go in keyed, so that nobody can try values."""
    inputs = json.dumps([instance, str(claim.team_id), content, claim.build_args, claim.build_secrets], sort_keys=True)
    return f"proctor-env:{salted_hmac('proctor.image-tag', inputs, algorithm='sha256').hexdigest()[:40]}"


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
