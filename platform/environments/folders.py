"""Environments of kind `folder`: a task's folder (instruction, Dockerfile, tests) kept as a tar, one version for each content.

Versions are `stored`: kept, not run. Nothing builds or probes them, and no job gets one, until that kind is run here.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import IO

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from accounts.audit import audit
from accounts.callers import Caller
from accounts.names import handle_for
from accounts.queries import default_project
from environments.models import Environment, EnvironmentVersion
from web.errors import conflict

KIND, STORED = "folder", "stored"
BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Registered:
    version: EnvironmentVersion
    is_new: bool


def register_folder(caller: Caller, *, name: str, tar: IO[bytes]) -> Registered:
    """The version that holds this tar: the newest when it does, else a new one. Raises AppError 403, 409 (another kind), 422."""
    caller.require("write")
    handle = handle_for(name)
    digest = _digest(tar)
    known = _newest(caller.team_id, handle)
    if known is not None and known.manifest.get("content") == digest:
        return Registered(known, False)
    tar.seek(0)
    path = default_storage.save(f"contexts/{uuid.uuid4().hex}.tar", File(tar))
    try:
        with transaction.atomic():
            made = _add(caller, handle, name, digest, path)
    except BaseException:
        default_storage.delete(path)
        raise
    if not made.is_new:
        default_storage.delete(path)
    return made


def _digest(tar: IO[bytes]) -> str:
    tar.seek(0)
    found = hashlib.sha256()
    while block := tar.read(BLOCK):
        found.update(block)
    return f"sha256:{found.hexdigest()}"


def _newest(team_id: uuid.UUID, handle: str) -> EnvironmentVersion | None:
    held = EnvironmentVersion.objects.select_related("environment").filter(environment__team_id=team_id, environment__name=handle)
    return held.order_by("-number").first()


def _add(caller: Caller, handle: str, name: str, digest: str, path: str) -> Registered:
    first = {"title": name.strip(), "project": default_project(caller.team_id), "kind": KIND}
    environment, made = Environment.objects.get_or_create(team_id=caller.team_id, name=handle, defaults=first)
    if environment.kind != KIND:
        raise conflict(f"Environment {handle} is there already and is no task folder", name=handle)
    if made:
        audit(caller, "environment.create", "environment", environment.id, name=handle)
    Environment.objects.select_for_update().get(id=environment.id)
    newest = _newest(caller.team_id, handle)
    if newest is not None and newest.manifest.get("content") == digest:
        return Registered(newest, False)
    version = EnvironmentVersion.objects.create(
        environment=environment, number=newest.number + 1 if newest else 1, status=STORED, source=KIND, context_path=path,
        manifest={"content": digest}, created_by=caller.label,
    )  # fmt: skip
    audit(caller, "environment.version", "environment", environment.id, name=handle, number=version.number, source=KIND)
    return Registered(version, True)
