"""HUD's way to a version (contracts: 2.7): reserve a place, put the build context there, then order the build.

The reservation's id becomes the version's, so an order that is sent again answers the same. The address of the place is signed and
is the permission; a context that is never ordered is dropped after a day.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import IO

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from accounts.models import Project
from accounts.names import handle_for, normalise
from accounts.queries import default_project, get_project
from environments import claims
from environments.actions import copy_body, new_version
from environments.models import ContextUpload, Environment, EnvironmentVersion
from environments.queries import get_environment
from environments.variables import problems_of, refuse, set_variables
from proctor.rollout.images import check_build_context
from proctor.wire.environments import DeployIn
from proctor.wire.errors import Problem
from web.crypto import encrypt_map
from web.errors import AppError, conflict, invalid, not_found, problem
from web.ids import known_uuid

LIFE = timedelta(days=1)


def reserve(caller: Caller) -> ContextUpload:
    caller.require("write")
    return ContextUpload.objects.create(team_id=caller.team_id, created_by=caller.label)


def receive(upload_id: uuid.UUID, body: IO[bytes], announced: int | None) -> None:
    """Keeps the context and what is wrong with it, which the order then tells. A second one replaces the first. Raises AppError 404, 413,
    400."""
    upload = ContextUpload.objects.filter(id=upload_id).first()
    if upload is None:
        raise not_found("Build context")
    with tempfile.NamedTemporaryFile(prefix="proctor-context-", suffix=".tar") as draft:
        copy_body(body, draft, announced)
        problems = [problem(found.place, found.message).model_dump() for found in check_build_context(Path(draft.name))]
        path = default_storage.save(f"contexts/{uuid.uuid4().hex}.tar", File(draft))
    if not ContextUpload.objects.filter(id=upload_id, path=upload.path).update(path=path, problems=problems):
        default_storage.delete(path)
        raise conflict("Another upload of this context came first, or its build was ordered")
    if upload.path:
        default_storage.delete(upload.path)


def order(caller: Caller, given: DeployIn) -> EnvironmentVersion:
    """The version to be built. Raises AppError 403, 404, 409, 422."""
    caller.require("write")
    return order_context(caller, known_uuid(given.build_id, "Build"), lambda upload: _order(caller, given, upload))


def order_context(caller: Caller, build_id: uuid.UUID, make: Callable[[ContextUpload], EnvironmentVersion]) -> EnvironmentVersion:
    """The version that `make` made of the context, inside a transaction; made before, it is the same one. Raises AppError 404, 409, 422."""
    done = _ordered(caller, build_id)
    if done is not None:
        return done
    upload = _context(caller, build_id)
    try:
        with transaction.atomic():
            version = make(upload)
            upload.delete()
            return version
    except IntegrityError:
        done = _ordered(caller, build_id)  # the same order, at the same time
        if done is None:
            raise
        return done


def _ordered(caller: Caller, build_id: uuid.UUID) -> EnvironmentVersion | None:
    mine = EnvironmentVersion.objects.select_related("environment").filter(environment__team_id=caller.team_id)
    return mine.filter(id=build_id).first()


def _context(caller: Caller, build_id: uuid.UUID) -> ContextUpload:
    upload = ContextUpload.objects.filter(team_id=caller.team_id, id=build_id).first()
    if upload is None:
        raise not_found("Build")
    if upload.path is None:
        raise conflict("The build context has not arrived: PUT it to the upload_url first")
    if upload.problems:
        raise invalid([Problem.model_validate(found) for found in upload.problems])
    return upload


def _check(caller: Caller, given: DeployIn) -> None:
    """Values are never repeated in errors."""
    handle = handle_for(given.name)
    if given.registry_id is not None:
        named = get_environment(caller, str(known_uuid(given.registry_id, "Environment")))
        if named.name != handle:
            raise conflict(f"The code declares {handle}, and the environment of that id is {named.name}", name=named.name)
    refuse([*problems_of(given.environment_variables, field="environment_variables"), *_secret_problems(given.build_secrets)])


def _secret_problems(secrets: Mapping[str, str]) -> list[Problem]:
    bad = [name for name, value in secrets.items() if not 0 < len(name) <= 255 or len(value) > 512 * 1024]
    return [problem(f"build_secrets.{name[:100]}", "an id has 1 to 255 characters, a value at most 524,288") for name in bad]


def _order(caller: Caller, given: DeployIn, upload: ContextUpload) -> EnvironmentVersion:
    """Inside a transaction."""
    _check(caller, given)
    version = new_version(
        caller, given.name, version_id=upload.id, project=_project(caller, given), source="build", context_path=upload.path,
        no_cache=given.no_cache, build_args=given.build_args, build_secrets_encrypted=encrypt_map(given.build_secrets) if given.build_secrets else "",
    )  # fmt: skip
    set_variables(caller, version.environment, given.environment_variables)
    if given.runtime_config:
        Environment.objects.filter(id=version.environment_id).update(runtime_config=given.runtime_config)
        audit(caller, "environment.runtime_config", "environment", version.environment_id)
    return version


def _project(caller: Caller, given: DeployIn) -> Project:
    """The one asked for; it counts at creation, and a different one later is refused."""
    known = Environment.objects.select_related("project").filter(team_id=caller.team_id, name=normalise(given.name)).first()
    asked = get_project(caller, known_uuid(given.project_id, "Project")) if given.project_id else None
    if known is not None and asked is not None and known.project_id not in (None, asked.id):
        raise conflict(f"Environment {known.name} is in another project", project_id=str(known.project_id))
    return asked or (known.project if known and known.project else default_project(caller.team_id))


def cancel(caller: Caller, version: EnvironmentVersion) -> EnvironmentVersion:
    """Asks whoever works on it to stop; ends it at once when nobody does. Raises AppError 403, 409 for one that has ended."""
    caller.require("write")
    unfinished = EnvironmentVersion.objects.filter(id=version.id, status__in=claims.UNFINISHED)
    with transaction.atomic():
        if not unfinished.update(cancel_requested_at=timezone.now()):
            raise AppError("conflict", 409, f"Version {version.number} has ended already")
        audit(caller, "environment.cancel", "environment", version.environment_id, number=version.number)
    claims.end_unheld(version.id)
    version.refresh_from_db()
    return version


def drop_old_contexts() -> int:
    """Contexts that nobody ordered for a day."""
    old = list(ContextUpload.objects.filter(created_at__lt=timezone.now() - LIFE)[:500])
    for upload in old:
        if upload.path:
            default_storage.delete(upload.path)
        upload.delete()
    return len(old)
