"""The calls about images that aiodocker has no convenient form for: is it there, which were built for us, remove one, import a tar as one."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiodocker
import aiohttp
from aiodocker.exceptions import DockerError, DockerStreamError

_REFERENCE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:@/-]*[A-Za-z0-9._-])?")
_CHUNK_BYTES = 1024 * 1024


async def inspect_image(docker: aiodocker.Docker, name: str) -> str | None:
    """The engine's `sha256:…` for a name, tag or id; None when it has no such image. The name goes into a URL's path, so what
    cannot be a reference is not asked for."""
    if not _REFERENCE.fullmatch(name) or ".." in name or "//" in name:
        return None
    try:
        return str((await docker.images.inspect(name))["Id"])
    except DockerError as error:
        if error.status in (400, 404):  # 400: not a valid reference
            return None
        raise


@dataclass(frozen=True)
class BuiltImage:
    """`created`: seconds since 1970."""

    id: str
    tags: Sequence[str]
    created: float


async def built_images(docker: aiodocker.Docker, label: str, value: str) -> list[BuiltImage]:
    """Those with a label of ours, tagged or not. Raises DockerError."""
    listed = await docker.images.list(filters={"label": [f"{label}={value}"]})
    return [BuiltImage(image["Id"], image.get("RepoTags") or [], image["Created"]) for image in listed]


async def remove_image(docker: aiodocker.Docker, image_id: str) -> bool:
    """With its tags. False when a container or another image needs it, or it has gone. Raises DockerError."""
    try:
        await docker.images.delete(image_id, force=True)
    except DockerError as error:
        if error.status in (404, 409):
            return False
        raise
    return True


async def import_image(docker: aiodocker.Docker, tar: Path, tag: str, changes: Sequence[str]) -> str:
    """A one-layer image from a tar of a file system; `changes` are Dockerfile lines (`CMD`, `ENV`, `USER`, `LABEL`, …)."""
    repo, _, version = tag.rpartition(":")
    params = {"fromSrc": "-", "repo": repo, "tag": version, "changes": "\n".join(changes)}
    async with docker._query(
        "images/create",
        "POST",
        params=params,
        data=chunks(tar),
        headers={"Content-Type": "application/x-tar"},
        timeout=aiohttp.ClientTimeout(sock_connect=10),
    ) as response:
        async for line in response.content:
            if "error" in (event := json.loads(line)):
                raise DockerStreamError(event["error"])
    return str((await docker.images.inspect(tag))["Id"])


async def chunks(path: Path) -> AsyncIterator[bytes]:
    """A file as a request's body, read in threads."""
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield chunk
