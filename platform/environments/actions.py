"""Every write people ask for about environments: register an image, a build context, the shipped sample.

A new registration under a name that is there makes its next version; a worker does the rest (`claims`, `builder`).
"""

from __future__ import annotations

import re
import sys
import tempfile
import uuid
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

import proctor.environment
from accounts.audit import audit
from accounts.callers import Caller, platform_caller
from accounts.models import Project
from accounts.names import handle_for
from accounts.queries import default_project
from environments.models import Environment, EnvironmentVersion
from proctor.rollout.images import check_build_context, sample_tag
from proctor.samples import NAME, sample_env_file
from web.errors import AppError, conflict, invalid, problem, too_large

IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
CHUNK = 1024 * 1024
KIND = "hud"


def register_image(caller: Caller, *, name: str, image: str, kind: str = KIND) -> EnvironmentVersion:
    """The next version of the environment, from an image that is (or will be) on the engine. Raises AppError 422."""
    caller.require("write")
    if not IMAGE.fullmatch(image):
        raise invalid([problem("image", "must be an image's name, such as team/env:1, or its id", image)])
    with transaction.atomic():
        return new_version(caller, name, kind=kind, source="image", image=image)


def register_context(
    caller: Caller, *, name: str, body: IO[bytes], announced: int | None = None, kind: str = KIND, build_args: dict[str, str] | None = None,
    no_cache: bool = False,
) -> EnvironmentVersion:  # fmt: skip
    """The next version of the environment, to be built from a tar of a folder with a Dockerfile. Raises AppError 413, 400, 422."""
    caller.require("write")
    handle_for(name)
    with tempfile.NamedTemporaryFile(prefix="proctor-context-", suffix=".tar") as draft:
        copy_body(body, draft, announced)
        problems = check_build_context(Path(draft.name))
        if problems:
            raise invalid([problem(found.place, found.message) for found in problems])
        path = default_storage.save(f"contexts/{uuid.uuid4().hex}.tar", File(draft))
    try:
        with transaction.atomic():
            return new_version(caller, name, kind=kind, source="build", context_path=path, build_args=build_args or {}, no_cache=no_cache)
    except BaseException:
        default_storage.delete(path)
        raise


def copy_body(body: IO[bytes], draft: IO[bytes], announced: int | None) -> None:
    """The whole body, under the cap, and not cut short."""
    limit, size = settings.PROCTOR_LIMITS["upload_bytes"], 0
    if announced is not None and announced > limit:
        raise too_large("upload_bytes")
    while piece := body.read(CHUNK):
        size += len(piece)
        if size > limit:
            raise too_large("upload_bytes")
        draft.write(piece)
    if announced is not None and announced != size:
        raise AppError("truncated", 400, f"The body ended after {size:,} of {announced:,} bytes")
    draft.flush()
    draft.seek(0)


def register_sample(team_id: uuid.UUID, *, image: str = "", image_id: str | None = None) -> EnvironmentVersion | None:
    """The shipped sample, ready at once: with a command for a subprocess, and with an image when there is one. Idempotent for the
    same content; a later call with an image completes the version. None when the team uses the name for something of its own."""
    content = sample_tag()
    how: dict[str, Any] = {"command": _sample_command(), **({"image": image, "image_id": image_id} if image else {})}
    with transaction.atomic():
        environment = Environment.objects.filter(team_id=team_id, name=NAME).first()
        if environment is not None and not environment.is_sample:
            return None
        known = environment.versions.filter(source="sample", manifest__content=content).first() if environment else None
        if known is not None:
            EnvironmentVersion.objects.filter(id=known.id).update(**how)
            known.refresh_from_db()
            return known
        facts: dict[str, Any] = {"status": "ready", "ready_at": timezone.now(), "manifest": {"content": content, **_sample_manifest()}}
        return new_version(platform_caller(team_id), NAME, title="GSM8K (sample)", is_sample=True, source="sample", **facts, **how)


def _sample_command() -> list[str]:
    package = str(Path(proctor.environment.__file__).parent)
    return [sys.executable, "-S", "-I", package, str(sample_env_file())]


def _sample_manifest() -> dict[str, Any]:
    env = proctor.environment.load_environment(sample_env_file())
    return {"templates": [template.manifest_entry() for template in env.templates.values()], "capabilities": []}


def new_version(
    caller: Caller, name: str, *, title: str | None = None, is_sample: bool = False, project: Project | None = None, version_id: uuid.UUID | None = None,
    kind: str = KIND, **facts: Any,
) -> EnvironmentVersion:  # fmt: skip
    """Inside a transaction: the environment, made if need be and locked, and its next number. Raises AppError 409 for another kind."""
    handle = handle_for(name)
    first = {"title": title or name.strip(), "project": project or default_project(caller.team_id), "is_sample": is_sample, "kind": kind}
    environment, made = Environment.objects.get_or_create(team_id=caller.team_id, name=handle, defaults=first)
    if environment.kind != kind:
        raise conflict(f"Environment {handle} is there already and is of kind {environment.kind}", name=handle)
    if made:
        audit(caller, "environment.create", "environment", environment.id, name=handle)
    Environment.objects.select_for_update().get(id=environment.id)
    last = environment.versions.aggregate(last=Max("number"))["last"] or 0
    version = EnvironmentVersion.objects.create(
        id=version_id or uuid.uuid4(), environment=environment, number=last + 1, created_by=caller.label, **facts
    )
    about = {"name": handle, "number": version.number, "source": version.source, "image": version.image}
    audit(caller, "environment.version", "environment", environment.id, **about)
    return version
