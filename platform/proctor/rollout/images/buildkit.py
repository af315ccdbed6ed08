"""BuildKit over the engine's API: for Dockerfiles that mount secrets or caches, which the classic builder does not know.

Same promise as `build`: lines as they come, the step that failed, one client for one build. Progress comes as BuildKit's own messages
(`StatusResponse` of moby/buildkit `api/services/control/control.proto`), in base64 inside the engine's JSON.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiodocker.exceptions import DockerStreamError

from proctor.rollout.images.buildkit_session import open_session
from proctor.rollout.images.engine import chunks
from proctor.rollout.images.protobuf import fields
from proctor.rollout.sandbox import docker_client

TRACE, IMAGE = "moby.buildkit.trace", "moby.image.id"
EVENT_BYTES = 16 * 1024**2
_NEEDS = re.compile(r"^\s*(RUN\s+(--\S+\s+)*--(mount|network|security)=|(COPY|ADD)\s+(--\S+\s+)*--(link|chmod|parents|exclude)|#\s*syntax\s*=|(RUN|COPY)\b.*<<)", re.I | re.M)


def needs_buildkit(dockerfile: str) -> bool:
    """Does it say what only BuildKit understands?"""
    return _NEEDS.search(dockerfile) is not None


@dataclass
class Progress:
    """What BuildKit told, as lines. `step`: the one that failed, else the newest."""

    on_line: Callable[[str], None]
    step: str = ""
    _names: dict[bytes, str] = field(default_factory=dict)
    _rest: dict[bytes, str] = field(default_factory=dict)
    _told: set[tuple[bytes, str]] = field(default_factory=set)

    def add(self, trace: bytes) -> None:
        for number, value in fields(trace):
            if isinstance(value, bytes) and number in (1, 3):
                (self._vertex if number == 1 else self._output)(dict(fields(value)))

    def _vertex(self, vertex: Mapping[int, Any]) -> None:
        """1 digest, 3 name, 4 cached, 5 started, 6 completed, 7 error."""
        digest, name = vertex.get(1, b""), vertex.get(3, b"").decode(errors="replace")
        self._names[digest] = name
        if 5 in vertex and not vertex.get(4):
            self._tell(digest, "started", name)
            self.step = self.step if 6 in vertex else name
        if vertex.get(4):
            self._tell(digest, "cached", f"{name} (cached)")
        if error := vertex.get(7, b"").decode(errors="replace"):
            self.step = name
            self._tell(digest, "error", f"{name}: {error}")

    def _tell(self, digest: bytes, what: str, line: str) -> None:
        if (digest, what) not in self._told and not line.startswith("[internal]"):
            self._told.add((digest, what))
            self.on_line(line)

    def _output(self, output: Mapping[int, Any]) -> None:
        """1 digest of the step, 4 what it wrote."""
        digest, text = output.get(1, b""), output.get(4, b"").decode(errors="replace")
        *lines, self._rest[digest] = (self._rest.get(digest, "") + text).split("\n")
        for line in lines:
            self.on_line(line.rstrip("\r"))


async def build_with_buildkit(
    tar: Path, tag: str, progress: Progress, *, dockerfile: str, args: Mapping[str, str], secrets: Mapping[str, str], labels: Mapping[str, str], no_cache: bool
) -> str | None:
    """The image's id as the engine told it. Raises DockerError."""
    params = {
        "version": "2", "t": tag, "dockerfile": dockerfile, "buildargs": json.dumps(dict(args)), "labels": json.dumps(dict(labels)),
        "nocache": "1" if no_cache else "0",
    }  # fmt: skip
    async with docker_client() as docker, open_session(docker, secrets) as session_id:
        call = docker._query(
            "build", "POST", params={**params, "session": session_id}, data=chunks(tar), headers={"Content-Type": "application/x-tar"},
            timeout=aiohttp.ClientTimeout(sock_connect=10),
        )  # fmt: skip
        async with call as response, response:
            return await _read(response, progress)


async def _read(response: aiohttp.ClientResponse, progress: Progress) -> str | None:
    image_id, rest = None, b""
    async for piece in response.content.iter_any():
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > EVENT_BYTES:
            raise DockerStreamError("The engine's progress is no list of lines")
        for line in filter(bytes.strip, lines):
            image_id = _take(json.loads(line), progress) or image_id
    return image_id


def _take(event: Mapping[str, Any], progress: Progress) -> str | None:
    """The image's id, once it comes. Raises DockerStreamError for the build's failure."""
    if error := event.get("error"):
        raise DockerStreamError(str(error))
    if event.get("id") == TRACE:
        try:
            progress.add(base64.b64decode(event.get("aux") or ""))
        except (ValueError, binascii.Error):
            progress.on_line("(a message of the builder could not be read)")
    return str(event["aux"]["ID"]) if event.get("id") == IMAGE else None
