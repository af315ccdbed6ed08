"""What `proctor run` shows on stderr while it runs: on a terminal a table that changes, elsewhere a line for each run that is over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from proctor.cli.output import note

if TYPE_CHECKING:
    from proctor.jobs import Plan, Run

ROWS = 20


def showing() -> Lines:
    """For the stderr that there is."""
    return LiveTable() if sys.stderr.isatty() else Lines()


class Lines:
    """The plan, then a line for each run."""

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def plan(self, plan: Plan) -> None:
        """Before anything starts."""
        note(str(plan))

    def changed(self, run: Run) -> None:
        """A run has another state."""
        if run.is_over:
            note(_line(run))


def _line(run: Run) -> str:
    repeat = f" #{run.repeat}" if run.repeat else ""
    return f"  {run.slug}{repeat}: {run.state}" + (f", reward {run.reward:g}" if run.reward is not None else f", {run.failure_class or 'no grade'}")


class LiveTable(Lines):
    """The runs that go on, and sums over those that are over."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._going: dict[str, Run] = {}
        self._over: dict[str, Run] = {}
        self._total = 0
        self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True, get_renderable=self._render)

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def plan(self, plan: Plan) -> None:
        """Stays above the table."""
        self._total = plan.runs
        self._live.console.print(str(plan), highlight=False, markup=False)

    def changed(self, run: Run) -> None:
        """Moves between the two sums."""
        if run.is_over:
            self._going.pop(run.id, None)
            self._over[run.id] = run
        elif run.state != "queued":
            self._going[run.id] = run

    def _render(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rewards = [run.reward for run in self._over.values() if run.reward is not None]
        failed = sum(run.counted == "failed" for run in self._over.values())
        mean = f"mean {sum(rewards) / len(rewards):.3f}" if rewards else "no grade yet"
        head = Text(f"{len(self._over)} of {self._total} runs over, {mean}, {failed} failed", style="bold")
        shown = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("task", "repeat", "doing"):
            shown.add_column(column)
        for run in list(self._going.values())[:ROWS]:
            shown.add_row(Text(run.slug), str(run.repeat), run.state)
        return Group(head, shown)
