"""From what a 0.2.x client names (a gym, an image, a Dockerfile) to an open environment.

An image that nobody registered is registered under its own name first, a Dockerfile is built; the call waits until a worker has done it
and has started the sandbox, since these clients do not ask again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import tarfile
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from django.db.models import Q

from accounts.callers import Caller
from environments import actions as registry
from environments import claims, queries
from environments.hud02.names import image_handle
from environments.models import Environment, EnvironmentVersion, RuntimeSession
from environments.sessions import actions as sessions
from web.errors import AppError, conflict, invalid, problem
from web.threads import in_reader, in_writer

KIND = "hud02"
DOCKER_GYMS = frozenset({"docker", "local-docker"})
LOOK_EVERY_S, READY_WITHIN_S, OPEN_WITHIN_S = 0.1, 570.0, 240.0
T = TypeVar("T")


def find_gym(caller: Caller, name: str) -> str:
    """The id of a gym: an environment's, or the word for any image. Raises AppError 404."""
    return name if name in DOCKER_GYMS else str(queries.get_environment(caller, name).id)


def version_for(caller: Caller, *, gym_id: str | None, image: str | None, dockerfile: str | None) -> EnvironmentVersion:
    """The newest that fits, ready or on its way. Raises AppError 404, 409, 422."""
    if image:
        return _of_image(caller, image)
    if dockerfile:
        return _of_dockerfile(caller, dockerfile)
    if not gym_id or gym_id in DOCKER_GYMS:
        raise invalid([problem("metadata.environment_config", "must hold image_uri or dockerfile for a docker gym")])
    environment = queries.get_environment(caller, gym_id)
    version = queries.newest_ready(caller.team_id, environment.name)
    if version is None:
        raise conflict(f"Environment {environment.name} has no version that is ready", name=environment.name)
    return version


def _of_image(caller: Caller, image: str) -> EnvironmentVersion:
    name, _, digest = image.partition("@")
    known = EnvironmentVersion.objects.select_related("environment").filter(environment__team_id=caller.team_id, environment__kind=KIND)
    named = known.filter(Q(image=image) | Q(image_id=image) | Q(image=name, image_id=digest or None)).exclude(status__in=("failed", "cancelled"))
    found = named.order_by("-created_at").first()
    return found or registry.register_image(caller, name=_free_name(caller, image), image=image, kind=KIND)


def _of_dockerfile(caller: Caller, dockerfile: str) -> EnvironmentVersion:
    name = f"dockerfile-{hashlib.sha256(dockerfile.encode()).hexdigest()[:12]}"
    found = EnvironmentVersion.objects.select_related("environment").filter(environment__team_id=caller.team_id, environment__name=name, status="ready").first()
    return found or registry.register_context(caller, name=name, body=_folder(dockerfile), kind=KIND)


def _free_name(caller: Caller, image: str) -> str:
    """The image's own last word; with a few digits of the whole when another kind of environment has that."""
    handle = image_handle(image)
    taken = Environment.objects.filter(team_id=caller.team_id, name=handle).exclude(kind=KIND).exists()
    return f"{handle}-{hashlib.sha256(image.encode()).hexdigest()[:8]}" if taken else handle


def _folder(dockerfile: str) -> io.BytesIO:
    buffer, text = io.BytesIO(), dockerfile.encode()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
    buffer.seek(0)
    return buffer


async def until_ready(version: EnvironmentVersion) -> EnvironmentVersion:
    """Raises AppError 422 with the build's own error, 504 when it takes too long."""
    return await _until(lambda: in_reader(_look, version.id), lambda found: found.status not in claims.UNFINISHED, READY_WITHIN_S, "build")


def _look(version_id: uuid.UUID) -> EnvironmentVersion:
    return EnvironmentVersion.objects.select_related("environment").get(id=version_id)


async def open_environment(caller: Caller, version: EnvironmentVersion, *, job_wire_id: uuid.UUID | None) -> RuntimeSession:
    """With its sandbox running. A client that leaves meanwhile leaves nothing behind. Raises AppError 422, 429, 504."""
    version = await until_ready(version)
    if version.status != "ready":
        raise AppError("environment_failed", 422, f"Version {version.number} of {version.environment.name} {version.status}: {version.error}")
    session = await in_writer(sessions.open_on, caller, version, job_wire_id=job_wire_id)
    try:
        found = await _until(
            lambda: in_reader(sessions.get_session, caller, str(session.id)), lambda found: found.state not in ("waiting", "starting"), OPEN_WITHIN_S, "start"
        )
    except BaseException:
        with contextlib.suppress(AppError):
            await asyncio.shield(in_writer(sessions.close_session, caller, session))
        raise
    if found.state != "open":
        raise AppError("environment_failed", 422, f"The environment did not start: {found.error}")
    return found


async def _until(look: Callable[[], Awaitable[T]], done: Callable[[T], bool], within_s: float, doing: str) -> T:
    try:
        async with asyncio.timeout(within_s):
            while not done(found := await look()):  # noqa: ASYNC110 - other processes do the work
                await asyncio.sleep(LOOK_EVERY_S)
            return found
    except TimeoutError:
        raise AppError("timeout", 504, f"The environment did not {doing} within {within_s:g} s") from None

