"""Showing how a batch goes: a bar on stderr (rich, loaded when there is one), and the caller's own function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from proctor.jobs.job import Run

Changed = Callable[[Run], None]


class Watcher(Protocol):
    """Is told of every change, between its `with` begin and end."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...

    def changed(self, run: Run) -> None:
        """The run has another state."""


def watching(progress: bool | None, on_change: Changed | None, total: int) -> Watcher:
    """A bar when asked for, or when stderr is a terminal and nobody else shows anything."""
    wanted = progress if progress is not None else on_change is None and sys.stderr.isatty()
    return _Bar(total, on_change) if wanted else _Quiet(on_change)


class _Quiet:
    def __init__(self, on_change: Changed | None) -> None:
        self._on_change = on_change

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def changed(self, run: Run) -> None:
        if self._on_change is not None:
            self._on_change(run)


class _Bar(_Quiet):
    """Runs that are over, of all; the mean so far; failures."""

    def __init__(self, total: int, on_change: Changed | None) -> None:
        super().__init__(on_change)
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._bar = self._progress.add_task("runs", total=total)
        self._rewards: list[float] = []
        self._failed = 0

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def changed(self, run: Run) -> None:
        super().changed(run)
        if not run.is_over:
            return
        self._failed += run.counted == "failed"
        self._rewards += [] if run.reward is None else [run.reward]
        mean = f"mean {sum(self._rewards) / len(self._rewards):.3f}" if self._rewards else "runs"
        self._progress.update(self._bar, advance=1, description=f"{mean}, {self._failed} failed" if self._failed else mean)
