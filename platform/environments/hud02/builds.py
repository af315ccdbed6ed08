"""0.2.x's builds: a zip of a folder goes to an address of its own, then the order. The zip becomes the tar that the builder takes."""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from typing import IO

from django.core.files import File
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.callers import Caller
from environments import deploy
from environments.actions import copy_body, new_version
from environments.context_places import address_of, build_of
from environments.hud02.opening import KIND
from environments.models import ContextUpload, EnvironmentVersion
from web.errors import AppError
from web.ids import known_uuid

PLACE = "hud02-context"
MAX_MEMBERS, MAX_BYTES = 20_000, 2 * 1024**3


def reserve(request: HttpRequest, caller: Caller) -> dict[str, str]:
    build_id = deploy.reserve(caller).id
    return {"id": str(build_id), "presigned_url": address_of(request, PLACE, build_id)}


@csrf_exempt
def put_context(request: HttpRequest, token: str) -> HttpResponse:
    """Raises AppError 404, 413, 422."""
    build_id = build_of(request, PLACE, token)
    with tempfile.TemporaryFile() as zipped, tempfile.TemporaryFile() as tar:
        copy_body(request, zipped, None)  # type: ignore[arg-type]
        as_tar(zipped, tar)
        deploy.receive(build_id, File(tar), None)
    return HttpResponse(status=200)


def as_tar(zipped: IO[bytes], target: IO[bytes]) -> None:
    """Names are checked by whoever builds from the tar. Raises AppError 422 for what is no zip or unpacks to too much."""
    try:
        with zipfile.ZipFile(zipped) as source, tarfile.open(fileobj=target, mode="w") as tar:
            members = [member for member in source.infolist() if not member.is_dir()]
            if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
                raise AppError("too_large", 413, f"A build context holds at most {MAX_MEMBERS:,} files and {MAX_BYTES:,} bytes")
            for member in members:
                entry = tarfile.TarInfo(member.filename)
                entry.size, entry.mode = member.file_size, (member.external_attr >> 16) & 0o777 or 0o644
                with source.open(member) as data:
                    tar.addfile(entry, data)
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise AppError("bad_archive", 422, f"The build context is no readable zip: {error}") from None
    target.seek(0)


def order(caller: Caller, build_id: str) -> EnvironmentVersion:
    """Under a name of its own; ordered again it is the same version. Raises AppError 404, 409, 422."""
    caller.require("write")
    return deploy.order_context(caller, known_uuid(build_id, "Build"), lambda upload: _version(caller, upload))


def _version(caller: Caller, upload: ContextUpload) -> EnvironmentVersion:
    return new_version(caller, f"build-{str(upload.id)[:8]}", version_id=upload.id, kind=KIND, source="build", context_path=upload.path)
