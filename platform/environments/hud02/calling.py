"""What is done in a legacy environment that is open: commands, function calls, archives. Raises AppError for what the caller can mend."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.callers import Caller
from environments.models import RuntimeSession
from environments.sessions import actions, inside
from environments.sessions.relay import first_line
from proctor.hud02 import runner
from proctor.hud02.calls import Call
from proctor.hud02.runner import InvokeFailed
from proctor.rollout.inside import Executed
from web.errors import AppError, invalid, problem
from web.threads import in_reader, in_writer

DEADLINE_S, OUTPUT_BYTES = 600.0, 16 * 1024**2


@dataclass(frozen=True)
class Called:
    """What a controller's function returned and printed."""

    result: Any
    stdout: bytes
    stderr: bytes


async def find_open(caller: Caller, session_id: str) -> RuntimeSession:
    """Every call keeps the environment. Raises AppError 404, 410."""
    session = await in_reader(actions.get_session, caller, session_id)
    if not await in_writer(actions.touch, session.id):
        raise AppError("session_ended", 410, f"This environment has ended. {session.error or ''}".strip())
    return session


async def execute(session: RuntimeSession, command: Sequence[str], *, workdir: str | None = None, timeout_s: float | None = None, stdin: bytes = b"") -> Executed:
    """At most 600 s."""
    limit = min(timeout_s or DEADLINE_S, DEADLINE_S)
    return await inside.execute(session, _line(session.id), command, timeout_s=limit, workdir=workdir, stdin=stdin, keep_bytes=OUTPUT_BYTES)


async def invoke(session: RuntimeSession, call: Call) -> Called:
    """Raises AppError 422 `invoke_failed` with the controller's own error and traceback."""
    try:
        asked = runner.request(call)
    except ValueError as error:
        raise invalid([problem("args", str(error))]) from None
    done = await execute(session, runner.COMMAND, stdin=asked.line)
    try:
        result, printed = runner.read_reply(call.function, asked.nonce, done.stdout)
    except InvokeFailed as error:
        why = done.spawn_error or (f"it did not end within {DEADLINE_S:g} s" if done.timed_out else "")
        said = done.stderr.decode(errors="replace")[-4000:]
        message = f"{error}: {why}" if why else str(error)
        raise AppError("invoke_failed", 422, message, type=error.type_name, traceback=error.remote_traceback, stderr=said) from None
    return Called(result, printed, done.stderr)


def get_archive(session: RuntimeSession, path: str) -> AsyncIterator[bytes]:
    return inside.get_archive(session, _line(session.id), path)


async def put_archive(session: RuntimeSession, path: str, tar: bytes) -> None:
    await inside.put_archive(session, _line(session.id), path, tar)


def _line(session_id: uuid.UUID) -> bytes:
    return first_line(session_id, "inside")
