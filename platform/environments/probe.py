"""Starts an environment once and asks what it holds: `hello`, then `tasks.list`. Knows no database.

Whatever an image does wrong (ends early, never serves, talks nonsense) is a `RolloutFailed` that says so, with the end of its
output; the sandbox is gone afterwards in every case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from proctor.rollout.drivers.base import Session
from proctor.rollout.drivers.dial import dial
from proctor.rollout.errors import ControlError, ControlLost, RolloutFailed
from proctor.rollout.patience import finish
from proctor.rollout.plan import SandboxEngine, SandboxSpec, StartedSandbox

STARTUP_S, LIST_S = 240.0, 30.0
LOOK_EVERY_S = 0.25
MANIFEST_BYTES = 4 * 1024**2
SAID_CHARACTERS = 2_000


@dataclass(frozen=True)
class Probed:
    """`manifest`: `templates`, `capabilities`, `env`."""

    manifest: dict[str, Any]
    image_id: str | None
    output: str


class _Template(msgspec.Struct):
    id: str
    description: str | None = None
    args: dict[str, Any] | None = None


class _Listing(msgspec.Struct):
    tasks: list[_Template]


async def probe(engine: SandboxEngine, spec: SandboxSpec, labels: Mapping[str, str]) -> Probed:
    """Raises RolloutFailed."""
    sandbox = await engine.start(spec, labels)
    try:
        manifest = await _ask(sandbox, spec)
        return Probed(manifest, sandbox.image_id, _text(await sandbox.tail()))
    finally:
        await finish(sandbox.remove())


async def _ask(sandbox: StartedSandbox, spec: SandboxSpec) -> dict[str, Any]:
    try:
        async with asyncio.timeout(STARTUP_S):
            session = await _connect(sandbox, spec)
    except TimeoutError as error:
        raise RolloutFailed("environment_start", f"The environment did not serve within {STARTUP_S:g} s.{await _said(sandbox)}") from error
    except RolloutFailed as error:
        raise await _with_output(error, sandbox) from error
    try:
        async with asyncio.timeout(LIST_S):
            return _manifest(session, await session.list_tasks())
    except TimeoutError as error:
        raise RolloutFailed("environment_protocol", f"tasks.list was not answered within {LIST_S:g} s.{await _said(sandbox)}") from error
    except (ControlError, ControlLost) as error:
        raise RolloutFailed("environment_protocol", f"tasks.list failed: {error}.{await _said(sandbox)}") from error
    except RolloutFailed as error:
        raise await _with_output(error, sandbox) from error
    finally:
        await finish(session.close())


async def _connect(sandbox: StartedSandbox, spec: SandboxSpec) -> Session:
    """Until it answers; between tries, has it ended, or announced another port?"""
    while True:
        try:
            return await dial(sandbox, spec)
        except ControlLost:
            await asyncio.sleep(LOOK_EVERY_S)
        ended = await sandbox.exit_state()
        if ended is not None:
            code, killed = ended
            how = "was killed for using too much memory" if killed else f"ended with exit code {code}"
            raise RolloutFailed("environment_exit", f"The environment {how} before it served.")
        await sandbox.locate()


def _manifest(session: Session, listing: str) -> dict[str, Any]:
    if len(listing) > MANIFEST_BYTES:
        raise RolloutFailed("environment_protocol", f"The environment's list of tasks is over {MANIFEST_BYTES:,} bytes.")
    try:
        tasks = msgspec.json.decode(listing, type=_Listing).tasks
    except msgspec.MsgspecError as error:
        raise RolloutFailed("environment_protocol", f"tasks.list was answered with something else: {error}.") from error
    said = session.manifest
    manifest = {
        "templates": [{"id": task.id, "description": task.description or "", "args": task.args or {}} for task in tasks],
        "capabilities": [capability.name for capability in said.capabilities],
        "nested": any(capability.protocol == "ssh/2" for capability in said.capabilities),
        "env": {"name": said.env_name, "version": said.env_version},
    }
    return _without_nul(manifest)  # type: ignore[no-any-return]


def _without_nul(value: Any) -> Any:
    """PostgreSQL's JSON keeps no NUL."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(inner) for key, inner in value.items()}
    return [_without_nul(inner) for inner in value] if isinstance(value, list) else value


async def _with_output(error: RolloutFailed, sandbox: StartedSandbox) -> RolloutFailed:
    return RolloutFailed(error.failure.failure_class, f"{error.failure.message}{await _said(sandbox)}", blame=error.failure.blame)


async def _said(sandbox: StartedSandbox) -> str:
    tail = _text(await sandbox.tail()).strip()
    return f" Its output ends:\n{tail[-SAID_CHARACTERS:]}" if tail else " It printed nothing."


def _text(output: bytes) -> str:
    return output.decode(errors="replace")
