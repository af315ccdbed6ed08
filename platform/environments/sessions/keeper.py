"""A worker's sessions: starts their sandboxes, says where the relay takes their tunnels, and removes them when they must end.

One loop claims, renews and stops; each session has a task from its claim to the removal of its sandbox. At most `room` at once; the rest
waits. Stopped (cancelled), the keeper ends them all and removes what they had.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid

from environments.sessions import claims
from environments.sessions.claims import Claimed
from environments.sessions.relay import Relay
from proctor.rollout.drivers.dial import dial
from proctor.rollout.errors import ControlLost, RolloutFailed
from proctor.rollout.patience import finish
from proctor.rollout.plan import Sandbox, SandboxEngine, SandboxSpec, StartedSandbox
from proctor.rollout.sandbox import INSTANCE_LABEL
from web.threads import in_reader, in_writer

logger = logging.getLogger(__name__)
LOOK_EVERY_S, RENEW_EVERY_S, SWEEP_EVERY_S, WATCH_EVERY_S = 0.25, 1.0, 5.0, 2.0
STARTUP_S, CONNECT_EVERY_S, MARGIN_S = 240.0, 0.1, 300
SESSION_LABEL = "proctor.session"
STOPPED = "The worker stopped"


class Keeper:
    def __init__(self, worker_id: str, instance: str, engine: SandboxEngine | None, *, room: int, relay_host: str, why_no_docker: str = "") -> None:
        self._worker_id, self._instance, self._engine, self._room = worker_id, instance, engine, room
        self._why_no_docker = why_no_docker
        self._relay = Relay(relay_host, self._find)
        self._tasks: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._why: dict[uuid.UUID, str] = {}
        self._open: dict[uuid.UUID, Sandbox] = {}

    def _find(self, session_id: uuid.UUID) -> Sandbox | None:
        return self._open.get(session_id)

    async def follow(self) -> None:
        async with self._relay:
            try:
                await self._follow()
            finally:
                await finish(self._end_all())

    async def _follow(self) -> None:
        """While nobody has a session, this is one small read each time."""
        renewed = swept = 0.0
        while True:
            try:
                room = self._room - len(self._tasks)
                if room > 0 and await in_reader(claims.somebody_waits):
                    for claimed in await in_writer(claims.claim, self._worker_id, room):
                        self._begin(claimed)
                now = time.monotonic()
                if now - renewed > RENEW_EVERY_S and (self._tasks or self._why):
                    renewed = now
                    await self._renew()
                if now - swept > SWEEP_EVERY_S:
                    swept = now
                    await in_writer(claims.end_abandoned)
            except Exception:
                logger.exception("sessions not looked after, trying again")
                await asyncio.sleep(1)
            await asyncio.sleep(LOOK_EVERY_S)

    def _begin(self, claimed: Claimed) -> None:
        task = self._tasks[claimed.session_id] = asyncio.create_task(self._live(claimed))
        task.add_done_callback(lambda _: self._tasks.pop(claimed.session_id, None))

    async def _renew(self) -> None:
        """Those that must end are stopped, and those that somebody else ended."""
        must_end = await in_writer(claims.renew, self._worker_id)
        held = await in_reader(claims.held_by, self._worker_id)
        for session_id in list(self._tasks):
            if session_id in must_end or session_id not in held:
                self._stop(session_id, must_end.get(session_id, ""))
        for session_id in held - self._tasks.keys():  # stopped before its task had begun
            await in_writer(claims.end, self._worker_id, session_id, failed=False, error=self._why.pop(session_id, STOPPED))

    def _stop(self, session_id: uuid.UUID, why: str) -> None:
        """Once: a second cancellation would cut the clean-up short."""
        if session_id not in self._why and session_id in self._tasks:
            self._why[session_id] = why
            self._tasks[session_id].cancel()

    async def _end_all(self) -> None:
        for session_id in list(self._tasks):
            self._stop(session_id, STOPPED)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _live(self, claimed: Claimed) -> None:
        """From the claim to the end of the row."""
        failed, error = False, ""
        try:
            await self._serve(claimed)
        except asyncio.CancelledError:
            error = self._why.get(claimed.session_id, STOPPED)
        except RolloutFailed as refused:
            failed, error = True, refused.failure.message
        except Exception as broken:
            logger.exception("session broke session_id=%s", claimed.session_id)
            failed, error = True, f"Proctor failed to serve this: {type(broken).__name__}"
        self._why.pop(claimed.session_id, None)
        await in_writer(claims.end, self._worker_id, claimed.session_id, failed=failed, error=error)
        logger.info("session ended session_id=%s failed=%s", claimed.session_id, failed)

    async def _serve(self, claimed: Claimed) -> None:
        """Raises RolloutFailed when the environment ends; nothing of it is left in any case."""
        if self._engine is None:
            raise RolloutFailed("platform", f"Sessions need a Docker engine. {self._why_no_docker}")
        labels = {INSTANCE_LABEL: self._instance, SESSION_LABEL: str(claimed.session_id), "proctor.expiry": str(int(claimed.expires_at + MARGIN_S))}
        sandbox = await self._engine.start(claimed.spec, labels)
        try:
            await _serving(sandbox, claimed.spec)
            self._open[claimed.session_id] = sandbox
            relay, container_id = self._relay.address, sandbox.container_id
            await in_writer(claims.opened, self._worker_id, claimed.session_id, relay=relay, container_id=container_id)
            await _until_it_ends(sandbox)
        finally:
            self._open.pop(claimed.session_id, None)
            await finish(sandbox.remove())


async def _serving(sandbox: StartedSandbox, spec: SandboxSpec) -> None:
    """Until somebody takes connections at its port, or, where calls are made inside, until the container is healthy."""
    try:
        async with asyncio.timeout(STARTUP_S):
            while not await _is_there(sandbox, spec):
                await _raise_if_ended(sandbox, "before it served")
                await sandbox.locate()
                await asyncio.sleep(CONNECT_EVERY_S)
    except TimeoutError as error:
        raise RolloutFailed("environment_start", f"The environment did not serve within {STARTUP_S:g} s") from error


async def _is_there(sandbox: Sandbox, spec: SandboxSpec) -> bool:
    """Raises RolloutFailed when nothing can be called inside, now or ever."""
    if spec.speaks == "control":
        return await _connects(sandbox)
    try:
        await (await dial(sandbox, spec)).close()
    except ControlLost:
        return False
    return True


async def _connects(sandbox: Sandbox) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(1):
            _, writer = await asyncio.open_connection(sandbox.host, sandbox.port)
        writer.close()
        return True
    return False


async def _until_it_ends(sandbox: Sandbox) -> None:
    while True:
        await asyncio.sleep(WATCH_EVERY_S)
        await _raise_if_ended(sandbox, "while it was driven from outside")


async def _raise_if_ended(sandbox: Sandbox, when: str) -> None:
    ended = await sandbox.exit_state()
    if ended is not None:
        code, killed = ended
        how = "was killed for using too much memory" if killed else f"ended with exit code {code}"
        raise RolloutFailed("environment_exit", f"The environment {how} {when}")
