"""Who is told of runs that happen here: nobody, or the server (`server_reports`); and each run's steps in a file, when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from proctor.jobs.job import Job, Run


class Reporting(Protocol):
    """Where a batch tells what happens."""

    async def enter_job(self, job: Job, taskset_id: str | None) -> None:
        """Before its first run. Sets `job.url` when there is a page to look at."""

    async def enter_run(self, run: Run, model: str | None) -> None:
        """The run begins."""

    async def steps(self, run: Run, spans: list[bytes]) -> None:
        """Steps of the run."""

    async def exit_run(self, run: Run) -> None:
        """The run is over."""

    async def close(self) -> None:
        """Nothing more comes."""


class Silent:
    """Tells nobody."""

    async def enter_job(self, job: Job, taskset_id: str | None) -> None:
        """Nothing."""

    async def enter_run(self, run: Run, model: str | None) -> None:
        """Nothing."""

    async def steps(self, run: Run, spans: list[bytes]) -> None:
        """Nothing."""

    async def exit_run(self, run: Run) -> None:
        """Nothing."""

    async def close(self) -> None:
        """Nothing."""


class TraceFiles:
    """Also writes each run's steps to `<folder>/<run id>.jsonl`."""

    def __init__(self, folder: Path, inner: Reporting) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._inner = folder, inner
        self.enter_job, self.enter_run, self.exit_run, self.close = inner.enter_job, inner.enter_run, inner.exit_run, inner.close

    async def steps(self, run: Run, spans: list[bytes]) -> None:
        """To the file, then on."""
        with (self._folder / f"{run.id}.jsonl").open("ab") as file:
            file.writelines(span + b"\n" for span in spans)
        await self._inner.steps(run, spans)
