"""The life of a worker process around its actors: who it is, its heartbeat and leases, its engine, its duties as leader.

Threads: *heartbeat* (every second looks for cancels; every 5 s renews all leases in one UPDATE; stops everything when it could not
for 25 s; ends a process whose loop is blocked for 60 s) and *scheduler* (`runs.scheduler`). On the event loop of the actors: the
engine, environment builds, imports, analyses (a process of their own), the sweep. `WorkerProcess` is a singleton of the process, made by `config.worker_boot`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from django.conf import settings
from django.db import connection

from environments import images
from environments.builder import process_one
from environments.sessions.keeper import Keeper
from environments.task_apps import watch
from proctor import __version__
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.hudhost.hosts import HostRefused, HudHosts
from proctor.rollout.sandbox import DockerEngine
from runs import samples
from runs.actions import execution, workers
from runs.actions.compaction import compact_some
from runs.ledger import Ledger
from runs.planning import Able
from runs.queries.platform import NO_HUD, cancels_asked
from runs.scheduler import Scheduler
from runs.sweep import Sweeper
from tasksets.analysis import worker as analyses
from tasksets.imports import worker as imports
from web.processes import run_quietly
from web.threads import in_writer

logger = logging.getLogger(__name__)
BEAT_S, RENEW_S, GIVE_UP_S, BLOCKED_S, CLOSE_S, ANALYSES_S, STORAGE_S, COMPACT_S = 1.0, 5.0, 25.0, 60.0, 3.0, 3.0, 900.0, 60.0
BUILDS = 2


class WorkerProcess:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.id = "embedded" if not settings.PROCTOR_REDIS_URL else f"{socket.gethostname()[:40]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.ledger = Ledger()
        self.able = Able(docker=False, why_no_docker="The worker is still looking for an engine.")
        self.ready = threading.Event()
        self.engine: DockerEngine | None = None
        self.hud: HudHosts | None = None
        self.rollouts: dict[uuid.UUID, asyncio.Task[Any]] = {}
        self.cancelled: set[uuid.UUID] = set()  # asked for by a person; others that end early go back to the queue
        self._told: set[uuid.UUID] = set()
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self._last_turn = time.monotonic()
        self._duties: list[asyncio.Task[Any]] = []
        self._keeper: asyncio.Task[None] | None = None
        self._end = threading.Event()
        self._slot_free = threading.Event()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.ledger.start()
        self.ledger.write_now(workers.register, self.id, host=socket.gethostname(), slots=self.slots, version=__version__)
        asyncio.run_coroutine_threadsafe(self._open(), loop)
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        threading.Thread(target=self._schedule, name="scheduler", daemon=True).start()

    def stop(self) -> None:
        """No new runs; what runs goes back to the queue (the actors do that when their rollouts have cleaned up)."""
        self.stopping = True
        self._end.set()
        self._slot_free.set()
        self._stop_all()
        if self.loop is not None and self._keeper is not None:
            self.loop.call_soon_threadsafe(self._keeper.cancel)

    def close(self) -> None:
        """The end, when the actors are done or out of time: nothing stays in this worker's name."""
        if self.loop is not None:
            asyncio.run_coroutine_threadsafe(self._close(), self.loop).result(CLOSE_S)
        self.ledger.stop()

    async def until_ready(self) -> None:
        """Until it is known what this worker can start: a broker hands out messages from the first moment on."""
        while not (self.ready.is_set() or self.stopping):  # noqa: ASYNC110 - the scheduler's thread waits for the same event
            await asyncio.sleep(0.05)

    async def _open(self) -> None:
        """The engine first, then what the predecessor left, then runs."""
        await self._find_engine()
        sweeper = Sweeper(self)
        await sweeper.after_predecessor()
        await self.ledger.write(workers.describe, self.id, sandbox="docker" if self.able.docker else "subprocess", note=self.able.why_no_docker)
        if settings.PROCTOR_HUD_PYTHON:
            self.hud = HudHosts(settings.PROCTOR_HUD_PYTHON, fork=settings.PROCTOR_HUD_FORK)
        self.ready.set()
        self._keeper = asyncio.create_task(self._sessions())
        duties = (
            self._tell_of_hud(), self._turn(), sweeper.follow(), samples.follow(self), *(self._build_environments() for _ in range(BUILDS)), self._watch_task_apps(),
            self._check_imports(), self._analyse_tasksets(), self._sweep_storage(), self._sweep_images(), self._compact_runs(),
        )  # fmt: skip
        self._duties = [self._keeper, *(asyncio.create_task(duty) for duty in duties)]

    async def _find_engine(self) -> None:
        if settings.PROCTOR_SANDBOX == "subprocess":
            self.able = Able(False, "PROCTOR_SANDBOX=subprocess: runs of the shipped sample are plain processes on this server, unsandboxed.")
            return
        engine: DockerEngine | None = None
        try:
            engine = DockerEngine()
            await engine.ping()
        except (RolloutFailed, ValueError, OSError) as error:
            if engine is not None:
                await engine.close()
            reason = f"No Docker engine answers ({str(error)[:200]})"
            self.able = Able(False, f"{reason}: only the shipped sample runs, as plain processes on this server, unsandboxed.")
            logger.warning("no docker engine; only shipped samples can run, unsandboxed reason=%s", str(error)[:200])
            return
        self.engine, self.able = engine, Able(True)

    async def _tell_of_hud(self) -> None:
        """Start the hud host, so that it is warm when a run needs it and a submit is refused when it cannot be."""
        try:
            version, note = (await self.hud.version(), "") if self.hud else (None, NO_HUD)
        except (HostRefused, OSError) as error:
            version, note = None, str(error)
            logger.warning("no hud host reason=%s", note[:500])
        await self.ledger.write(workers.describe_hud, self.id, version=version, note=note)

    async def _close(self) -> None:
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        await self.ledger.write(workers.release_all, self.id)
        if self.hud is not None:
            await self.hud.close()
        if self.engine is not None:
            with contextlib.suppress(RolloutFailed):  # another worker's containers are on it
                await self.engine.remove_network(settings.PROCTOR_INSTANCE)
            await self.engine.close()

    async def _turn(self) -> None:
        while True:
            self._last_turn = time.monotonic()
            await asyncio.sleep(1)

    def _sessions(self) -> Coroutine[Any, Any, None]:
        keeper = Keeper(
            self.id, settings.PROCTOR_INSTANCE, self.engine, room=settings.PROCTOR_SESSIONS, relay_host=settings.PROCTOR_RELAY_HOST,
            why_no_docker=self.able.why_no_docker,
        )  # fmt: skip
        return keeper.follow()

    async def _build_environments(self) -> None:
        while True:
            worked = await self._guarded(
                lambda: process_one(self.id, settings.PROCTOR_INSTANCE, engine=self.engine, why_no_docker=self.able.why_no_docker)
            )
            await asyncio.sleep(0.1 if worked else 1.0)

    async def _watch_task_apps(self) -> None:
        while True:
            asked = await self._guarded(watch)
            await asyncio.sleep(0.1 if asked else 1.0)

    async def _check_imports(self) -> None:
        while True:
            worked = await self._guarded(lambda: asyncio.to_thread(imports.process_one, self.id, lambda: self.stopping))
            await asyncio.sleep(0.1 if worked else 1.0)

    async def _analyse_tasksets(self) -> None:
        while True:
            await self._guarded(analyses.run_waiting)
            await asyncio.sleep(ANALYSES_S)

    async def _sweep_storage(self) -> None:
        """Once a day, by one of the workers."""
        while True:
            await asyncio.sleep(STORAGE_S)
            if await self._guarded(lambda: self.ledger.write(workers.take_lease, "storage", uuid.uuid4().hex, 86_400.0)):
                await self._guarded(lambda: run_quietly("sweep"))

    async def _sweep_images(self) -> None:
        """By every worker: each may have an engine of its own."""
        while self.engine is not None:
            await asyncio.sleep(STORAGE_S)
            await self._guarded(lambda: images.drop_unneeded(settings.PROCTOR_INSTANCE))

    async def _compact_runs(self) -> None:
        """By one of the workers at a time."""
        while True:
            await asyncio.sleep(COMPACT_S)
            if await self._guarded(lambda: self.ledger.write(workers.take_lease, "compaction", self.id, COMPACT_S * 3)):
                await self._guarded(lambda: in_writer(compact_some))

    async def _guarded(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            return await make()
        except Exception:
            logger.exception("a duty of the worker failed, trying again")
            await asyncio.sleep(5)

    def forget(self, run_id: uuid.UUID) -> None:
        """A rollout and the writing of its end are over."""
        self.rollouts.pop(run_id, None)
        self.cancelled.discard(run_id)
        self._told.discard(run_id)
        self._slot_free.set()

    def cancel_rollout(self, run_id: uuid.UUID) -> None:
        """From any thread, any number of times."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._cancel, run_id)

    def _cancel(self, run_id: uuid.UUID) -> None:
        if run_id in self.rollouts:
            self.cancelled.add(run_id)
        self._tell(run_id)

    def _stop_all(self) -> None:
        if self.loop is not None:
            for run_id in list(self.rollouts):
                self.loop.call_soon_threadsafe(self._tell, run_id)

    def _tell(self, run_id: uuid.UUID) -> None:
        """Once: a second cancellation would cut the clean-up short."""
        if run_id in self.rollouts and run_id not in self._told:
            self._told.add(run_id)
            self.rollouts[run_id].cancel()

    def _beat(self) -> None:
        renewed = time.monotonic()
        next_renewal = 0.0
        while not self._end.wait(BEAT_S):
            try:
                if time.monotonic() >= next_renewal:
                    workers.beat(self.id)
                    execution.renew(self.id)
                    renewed = time.monotonic()
                    next_renewal = renewed + RENEW_S
                for run_id in cancels_asked(self.id):
                    self.cancel_rollout(run_id)
            except Exception as error:
                connection.close()
                logger.warning("heartbeat failed error=%s", type(error).__name__)
            self._watch(renewed)

    def _watch(self, renewed: float) -> None:
        now = time.monotonic()
        if now - renewed > GIVE_UP_S:
            logger.error("leases could not be renewed for %s s; stopping all rollouts", GIVE_UP_S)
            self._stop_all()
        if self.ready.is_set() and not self.stopping and now - self._last_turn > BLOCKED_S:
            logger.critical("the event loop has been blocked for %s s; ending the process", BLOCKED_S)
            os._exit(70)

    def _schedule(self) -> None:
        self.ready.wait()
        scheduler = Scheduler(self.id)
        while not self._end.is_set():
            try:
                idle_s = scheduler.turn()
            except Exception as error:
                connection.close()
                logger.warning("scheduler failed, trying again error=%s", type(error).__name__, exc_info=True)
                idle_s = 1.0
            self._slot_free.wait(idle_s)
            self._slot_free.clear()


_current: WorkerProcess | None = None


def current() -> WorkerProcess:
    """The worker of this process. Raises RuntimeError elsewhere."""
    if _current is None:
        raise RuntimeError("this process is no worker")
    return _current


def start_worker(slots: int, loop: asyncio.AbstractEventLoop) -> WorkerProcess:
    global _current
    _current = WorkerProcess(slots)
    _current.start(loop)
    return _current


def stop_worker() -> None:
    with contextlib.suppress(RuntimeError):
        current().stop()


def close_worker() -> None:
    with contextlib.suppress(RuntimeError):
        current().close()
