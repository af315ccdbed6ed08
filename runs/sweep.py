"""Nothing is left behind: every minute, and at start, the engine and the database are compared both ways.

Containers without a live attempt go; runs whose container vanished are left to their own rollout, which notices. Only containers with our
instance's label are ever touched. The leader also ends silent outside runs, drops used tickets and what newer manifests made
of no use.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from typing import TYPE_CHECKING

from django.conf import settings

from environments import claims, deploy
from environments.sessions import claims as session_claims
from environments.sessions.keeper import SESSION_LABEL
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.sandbox import OurContainer
from runs.actions import workers
from runs.queries.platform import live_attempts
from tasksets.analysis import claims as analysis_claims
from tasksets.analysis.actions import drop_outdated
from tasksets.imports import claims as import_claims
from tasksets.imports import sessions
from web.threads import in_writer

if TYPE_CHECKING:
    from runs.worker import WorkerProcess

logger = logging.getLogger(__name__)
SWEEP_S, SILENT_S, YOUNG_S = 60.0, 30 * 60.0, 60
Held = tuple[uuid.UUID, int] | uuid.UUID


class Sweeper:
    def __init__(self, worker: WorkerProcess) -> None:
        self.worker = worker

    async def after_predecessor(self) -> None:
        """Before the first claim: embedded, no other worker lives (the data folder's lock), so all that is there is left over."""
        if settings.PROCTOR_REDIS_URL:
            return
        await self.worker.ledger.write(workers.free_own, self.worker.id)
        await self.worker.ledger.write(claims.free_claims)
        await self.worker.ledger.write(session_claims.free_sessions)
        await self.worker.ledger.write(import_claims.free_claims)
        await self.worker.ledger.write(analysis_claims.free_claims)
        await self._sweep(young_s=0)

    async def follow(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self._sweep(young_s=YOUNG_S)
                await self.worker.ledger.write(workers.lose_silent_runs, SILENT_S)
                await self.worker.ledger.write(workers.drop_old_rows)
                await in_writer(sessions.drop_expired)
                await in_writer(drop_outdated)
                await in_writer(deploy.drop_old_contexts)
            except Exception:
                logger.exception("sweep failed, trying again")

    async def _sweep(self, *, young_s: int) -> None:
        """`young_s`: containers younger than this are left alone, since their attempt's row may be on its way."""
        engine = self.worker.engine
        if engine is None:
            return
        try:
            containers = await engine.list_ours(settings.PROCTOR_INSTANCE)
        except RolloutFailed as error:
            logger.warning("engine not swept: %s", error)
            return
        if not containers:
            return
        alive: set[Held] = {*await self.worker.ledger.write(live_attempts), *await self.worker.ledger.write(session_claims.live_sessions)}
        stray = [container for container in containers if is_stray(container, alive, young_s)]
        for container in stray:
            logger.warning("stray container removed container=%s run=%s", container.id[:12], container.labels.get("proctor.run"))
        await asyncio.gather(*(engine.remove(container.id) for container in stray))


def is_stray(container: OurContainer, alive: set[Held], young_s: int) -> bool:
    """Past its expiry, or of no attempt or session that is alive. Containers of builds and probes carry only an expiry."""
    now = time.time()
    expiry = container.labels.get("proctor.expiry", "")
    if expiry.isdigit() and int(expiry) < now:
        return True
    if now - container.created < young_s:
        return False
    held = held_of(container)
    return young_s == 0 if held is None else held not in alive


def held_of(container: OurContainer) -> Held | None:
    """The attempt or the session that it serves."""
    labels = container.labels
    try:
        if SESSION_LABEL in labels:
            return uuid.UUID(labels[SESSION_LABEL])
        return uuid.UUID(labels["proctor.run"]), int(labels["proctor.attempt"])
    except (KeyError, ValueError):
        return None
