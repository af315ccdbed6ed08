"""What the server is told of runs that happen here: the job, each run's begin and end, and its steps as they come.

Without a key nothing is told and nothing is missing. A server that can't be reached, or refuses, costs a warning, never a run.
"""

from __future__ import annotations

import logging
from typing import Any

from msgspec import Raw

from proctor.client import Access, AsyncClient, Call, calls
from proctor.errors import RequestFailed
from proctor.jobs.job import Job, Run
from proctor.jobs.telemetry import Telemetry

log = logging.getLogger(__name__)

PAUSES_S = (0.5, 1.0)


class ToServer:
    """Tells the server, best effort."""

    def __init__(self, access: Access) -> None:
        self._origin = access.origin
        self._client = AsyncClient(access, pauses_s=PAUSES_S)
        self._telemetry = Telemetry(self._client)
        self._lost = 0
        self._heard = True

    async def enter_job(self, job: Job, taskset_id: str | None) -> None:
        """The job, pinned to the version that its taskset came from. A server that does not take it is told nothing more."""
        self._heard = await self._tell(calls.enter_job(job.id, name=job.name, group=job.group, taskset_id=taskset_id))
        if self._heard:
            job.url = f"{self._origin}/jobs/{job.id}"

    async def enter_run(self, run: Run, model: str | None) -> None:
        """In the job's matrix from now on."""
        await self._tell(calls.enter_run(run.id, job_id=run.job_id, group_id=run.group_id, slug=run.slug, model=model))

    async def steps(self, run: Run, spans: list[bytes]) -> None:
        """On their way; not awaited."""
        if self._heard:
            await self._telemetry.add(run.id, spans)

    async def exit_run(self, run: Run) -> None:
        """With its grade, or why it has none."""
        await self._tell(calls.exit_run(run.id, exit_of(run)))

    async def close(self) -> None:
        """Sends what is left."""
        await self._telemetry.close()
        await self._client.close()

    async def _tell(self, call: Call[None]) -> bool:
        if not self._heard:
            return False
        try:
            await self._client.send(call)
        except RequestFailed as error:
            log.log(logging.DEBUG if self._lost else logging.WARNING, "the server was not told of this run: %s", error)
            self._lost += 1
            return False
        return True


def exit_of(run: Run) -> dict[str, Any]:
    """The body of HUD's exit call. The grade frame goes as text, so that its digits stay."""
    return {
        "status": run.state if run.state in ("completed", "error", "cancelled") else "error", "reward": run.reward,
        "error": run.error, "evaluation_result": Raw(run.evaluation_text.encode()) if run.evaluation_text else None, "stop_reason": run.stop_reason,
    }  # fmt: skip
