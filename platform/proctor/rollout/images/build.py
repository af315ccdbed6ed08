"""Build an image from an uploaded folder: with the engine's classic builder, or with BuildKit when the Dockerfile asks for it.

Every build has a client of its own: cancelling a task does not stop the engine, closing its connection does. Nothing is
pulled but what the Dockerfile's FROM lacks. The log goes line by line to the caller, and a failure names its step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiodocker.exceptions import DockerError

from proctor.rollout.images.buildkit import Progress, build_with_buildkit, needs_buildkit
from proctor.rollout.images.context import Dockerfile, check_build_context, read_dockerfile
from proctor.rollout.images.engine import inspect_image
from proctor.rollout.sandbox import docker_client

log = logging.getLogger(__name__)

MAX_LINE_CHARACTERS = 4_000
MAX_LINES = 20_000

_GZIP_MAGIC = b"\x1f\x8b"


class BuildFailed(Exception):
    """The image was not built: what happened, at which step."""


@dataclass(frozen=True)
class BuildOptions:
    """`secrets`: id → value, seen by `RUN --mount=type=secret` alone and in no layer, history or cache key."""

    args: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    no_cache: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


async def build_image(
    tar: Path, tag: str, on_line: Callable[[str], None], options: BuildOptions | None = None, *, timeout_s: float = 1_800
) -> str:
    """Check the archive and build it; the image's id. Raises BuildFailed, which is also the log's last line."""
    build_log, options = BuildLog(on_line), options or BuildOptions()
    try:
        problems = await asyncio.to_thread(check_build_context, tar)
        if problems:
            raise BuildFailed("; ".join(str(problem) for problem in problems))
        dockerfile = await asyncio.to_thread(read_dockerfile, tar)
        async with asyncio.timeout(timeout_s):
            return await _build(tar, tag, build_log, options, dockerfile)
    except TimeoutError as error:
        raise _failed(build_log, f"The build took longer than {timeout_s:g} s") from error
    except DockerError as error:
        raise _failed(build_log, error.message) from error
    except BuildFailed as error:
        on_line(f"ERROR: {error}")
        raise


def _failed(build_log: BuildLog, what: str) -> BuildFailed:
    failure = BuildFailed(f"{what.strip()} (at {build_log.step})" if build_log.step else what.strip())
    build_log.on_line(f"ERROR: {failure}")
    return failure


async def _build(tar: Path, tag: str, build_log: BuildLog, options: BuildOptions, dockerfile: Dockerfile) -> str:
    if options.secrets or needs_buildkit(dockerfile.text):
        image_id = await _build_new(tar, tag, build_log, options, dockerfile.name)
    else:
        image_id = await _build_classic(tar, tag, build_log, options, dockerfile.name)
    if image_id is None:
        async with docker_client() as docker:
            image_id = await inspect_image(docker, tag)
    if image_id is None:
        raise BuildFailed(f"The engine ended the build without an image {tag}")
    return image_id


async def _build_new(tar: Path, tag: str, build_log: BuildLog, options: BuildOptions, dockerfile: str) -> str | None:
    progress = Progress(build_log.emit)
    try:
        return await build_with_buildkit(
            tar, tag, progress, dockerfile=dockerfile, args=options.args, secrets=options.secrets, labels=options.labels, no_cache=options.no_cache
        )
    finally:
        build_log.step = progress.step


async def _build_classic(tar: Path, tag: str, build_log: BuildLog, options: BuildOptions, dockerfile: str) -> str | None:
    image_id = None
    async with docker_client() as docker:
        with tar.open("rb") as archive:
            encoding = "gzip" if archive.read(2) == _GZIP_MAGIC else "identity"
            archive.seek(0)
            events = docker.images.build(
                fileobj=archive, encoding=encoding, tag=tag, labels=dict(options.labels), buildargs=dict(options.args), nocache=options.no_cache,
                path_dockerfile=dockerfile, pull=False, rm=True, forcerm=True, stream=True,
            )  # fmt: skip
            async for event in events:
                build_log.add(event)
                image_id = (event.get("aux") or {}).get("ID", image_id)
    return image_id


class BuildLog:
    """Events as capped lines; remembers the step that runs."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self.step = ""
        self._rest = ""
        self._count = 0

    def add(self, event: Mapping[str, Any]) -> None:
        *lines, self._rest = (self._rest + str(event.get("stream", ""))).split("\n")
        self._rest = self._rest[-MAX_LINE_CHARACTERS:]
        for line in lines:
            self.emit(line.rstrip("\r"))

    def emit(self, line: str) -> None:
        if line.startswith("Step "):
            self.step = line[:200]
        if not line.strip() or self._count > MAX_LINES:
            return
        self._count += 1
        self.on_line(line[:MAX_LINE_CHARACTERS] if self._count <= MAX_LINES else f"(the log goes on; {MAX_LINES} lines are kept)")
