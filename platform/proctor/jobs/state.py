"""The state file of a batch: what was asked for, and how each run ended, so that an interrupted batch goes on where it stopped.

JSON lines: one head, then `began` and `ended` lines as they happen, each written through at once; a line cut off by a crash is passed
over. Only the same tasks, in the same order, with the same group may go on: the head holds their content ids. One process at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from proctor.errors import StateMismatch
from proctor.jobs.job import Job, Run
from proctor.tasks.task import Task

FORMAT = "proctor-job-1"
KEPT = (
    "state", "counted", "reward", "failure_class", "blame", "error", "answer", "stop_reason", "evaluation_text", "prompt_tokens",
    "completion_tokens", "cost_usd",
)  # fmt: skip


class StateFile:
    """Held while the batch runs. `job_id` is the interrupted job's, None for a new batch."""

    def __init__(self, path: Path, tasks: list[Task], group: int, agent: str) -> None:
        """Raises StateMismatch for another batch's file, or one that another process holds."""
        self.path = path
        self.job_id: str | None = None
        self._ended: dict[int, dict[str, Any]] = {}
        self._begun: dict[int, str] = {}
        self._head = {"format": FORMAT, "group": group, "agent": agent, "tasks": [[task.slug, task.content_id] for task in tasks]}
        self._groups: dict[str, str] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] | None = path.open("a", encoding="utf-8")
        try:
            _hold(self._file, path)
            if path.stat().st_size:
                self._recall()
        except BaseException:
            self.close()
            raise

    def open(self, job: Job) -> None:
        """Begin to write; the head first, in a new file."""
        if self.job_id is None:
            self._write({**self._head, "job": job.id, "name": job.name})

    def recall(self, run: Run) -> bool:
        """Fill in a run that ended with a grade or a failure before; cancelled ones are done again."""
        ended = self._ended.get(run.index)
        if ended is None or ended["counted"] == "cancelled":
            return False
        run.id, run.group_id, run.recalled = ended["id"], ended["group_id"], True
        for name in KEPT:
            setattr(run, name, ended[name])
        run.started_at, run.ended_at = _moment(ended["started_at"]), _moment(ended["ended_at"])
        return True

    def group_id(self, task: Task, made: str) -> str:
        """The group of a task whose other repeats ended before."""
        return self._groups.get(task.slug, made)

    def left_open(self) -> Iterator[str]:
        """Ids of runs that had begun when the batch was interrupted; their next tries have ids of their own."""
        yield from (run_id for index, run_id in self._begun.items() if index not in self._ended)

    def began(self, run: Run) -> None:
        """Note it."""
        self._write({"began": run.index, "id": run.id})

    def ended(self, run: Run) -> None:
        """Note how."""
        facts = {name: getattr(run, name) for name in KEPT}
        times = {"started_at": _text(run.started_at), "ended_at": _text(run.ended_at)}
        self._write({"ended": run.index, "id": run.id, "slug": run.slug, "group_id": run.group_id, **facts, **times})

    def close(self) -> None:
        """May be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def _recall(self) -> None:
        lines = list(_lines(self.path))
        head = lines[0] if lines else {}
        if head.get("format") != FORMAT:
            raise StateMismatch(f"{self.path} is no state file of a batch; name another one.")
        differing = [name for name in ("tasks", "group", "agent") if head.get(name) != self._head[name]]
        if differing:
            raise StateMismatch(f"{self.path} belongs to another batch: {' and '.join(differing)} differ. Remove it, or name another one.")
        self.job_id = str(head["job"])
        for line in lines[1:]:
            if "began" in line:
                self._begun[line["began"]] = line["id"]
                self._ended.pop(line["began"], None)
            elif "ended" in line:
                self._ended[line["ended"]] = line
                self._groups[line["slug"]] = line["group_id"]
        self._mend()

    def _mend(self) -> None:
        """A crash may have cut the last line off: what follows must begin on a line of its own."""
        with self.path.open("rb+") as file:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")


def _hold(file: IO[str], path: Path) -> None:
    """Ours until it is closed, however this process ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock: there two batches must not share a file
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise StateMismatch(f"{path} is in use: another process runs this batch.") from None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
