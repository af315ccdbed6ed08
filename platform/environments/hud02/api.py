"""0.2.x's calls about environments (contracts: B4). Streams are base64 there; an archive goes out as it comes in from the sandbox."""

from __future__ import annotations

import base64
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from pydantic import Field

from accounts.callers import Caller
from accounts.http import async_endpoint, endpoint
from environments import queries
from environments.hud02 import builds, calling, matching, opening
from environments.sessions import actions
from proctor.wire.base import WireOut
from web.bodies import parse_body, read_body
from web.errors import AppError, invalid, problem
from web.ids import parse_uuid
from web.threads import in_reader, in_writer

STATE = {"waiting": "initializing", "starting": "initializing", "open": "running", "closed": "completed", "failed": "error"}
WHOLE = 3 * 64 * 1024


class CreateIn(WireOut):
    """`run_id` is the job's id (0.2.x kept the old name)."""

    run_id: str | None = None
    gym_id: str | None = None
    task_id: str | None = None
    metadata: dict[str, Any] = {}


class ExecuteIn(WireOut):
    command: list[str] = Field(min_length=1, max_length=10_000)
    workdir: str | None = None
    timeout: float | None = Field(default=None, gt=0)


class PathIn(WireOut):
    path: str = Field(min_length=1, max_length=4096)


class ArchiveIn(msgspec.Struct):
    path: str
    content: bytes


class EvaluateIn(WireOut):
    response: Any
    answer: Any
    type: str = "default"
    config: dict[str, Any] = {}


@endpoint("GET", scope="read")
def get_gym(request: HttpRequest, caller: Caller, name: str) -> dict[str, Any]:
    return {"id": opening.find_gym(caller, name)}


@async_endpoint("run")
async def create_environment(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = await in_reader(parse_body, request, CreateIn)
    config = given.metadata.get("environment_config") or {}
    version = await in_writer(opening.version_for, caller, gym_id=given.gym_id, image=config.get("image_uri"), dockerfile=config.get("dockerfile"))
    session = await opening.open_environment(caller, version, job_wire_id=parse_uuid(given.run_id or ""))
    return {"id": str(session.id), "metadata": {"environment": version.environment.name, "version": version.number}}


@endpoint("GET", scope="read")
def state(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    session = actions.get_session(caller, session_id)
    return {"state": "completed" if session.close_requested_at else STATE[session.state]}


@async_endpoint("run")
async def execute(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    session, given = await calling.find_open(caller, session_id), await in_reader(parse_body, request, ExecuteIn)
    done = await calling.execute(session, given.command, workdir=given.workdir, timeout_s=given.timeout)
    facts = {"timed_out": done.timed_out, "spawn_error": done.spawn_error, "dropped_bytes": done.dropped_bytes}
    return {"stdout": text64(done.stdout), "stderr": text64(done.stderr), "exit_code": done.exit_code, **facts}


@async_endpoint("run")
async def get_archive(request: HttpRequest, caller: Caller, session_id: str) -> HttpResponseBase:
    session, given = await calling.find_open(caller, session_id), await in_reader(parse_body, request, PathIn)
    pieces = calling.get_archive(session, given.path)
    first = await anext(pieces, b"")
    return StreamingHttpResponse(_as_json(first, pieces), content_type="application/json")


async def _as_json(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """`{"content": base64}`, encoded in multiples of three bytes."""
    yield b'{"content":"'
    waiting = bytearray(first)
    async for piece in rest:
        waiting += piece
        whole = len(waiting) - len(waiting) % WHOLE
        if whole:
            yield b64encode(waiting[:whole])
            del waiting[:whole]
    yield b64encode(waiting) + b'"}'


@async_endpoint("run")
async def put_archive(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    session, given = await calling.find_open(caller, session_id), await in_reader(_read_archive, request)
    await calling.put_archive(session, given.path, given.content)
    return {}


def _read_archive(request: HttpRequest) -> ArchiveIn:
    try:
        return msgspec.json.decode(read_body(request, "upload_bytes"), type=ArchiveIn)
    except msgspec.DecodeError as error:
        raise invalid([problem("", str(error))]) from None


@async_endpoint("write")
async def create_build(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    return await in_writer(builds.reserve, request, caller)


@async_endpoint("write")
async def start_build(request: HttpRequest, caller: Caller, build_id: str) -> dict[str, Any]:
    """Answers when the build has ended: these clients do not ask again."""
    version = await in_writer(builds.order, caller, build_id)
    version = await opening.until_ready(version)
    log = await in_reader(queries.log_end, version)
    if version.status != "ready":
        raise AppError("build_failed", 422, f"The build {version.status}: {version.error}", log=log)
    return {"uri": version.image, "logs": log}


@async_endpoint("read")
async def evaluate(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    given = await in_reader(parse_body, request, EvaluateIn)
    return await matching.match(given.type, given.response, given.answer)


def text64(data: bytes) -> str:
    return base64.b64encode(data).decode()
