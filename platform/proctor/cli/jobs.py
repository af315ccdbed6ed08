"""`proctor jobs …`: batches on the server, hosted and reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, Limit, answer, facts, note, say, short_time, table

if TYPE_CHECKING:
    from proctor.wire.jobs import JobOut, RunRow

app = typer.Typer(help="Jobs: list, show, cancel, compare.", no_args_is_help=True)
JobId = Annotated[str, typer.Argument(help="The job's id.")]


@app.command("list")
def list_(
    taskset: Annotated[str | None, typer.Option(help="Only of this taskset.")] = None,
    state: Annotated[str | None, typer.Option(help="queued, running, completed or cancelled.")] = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Newest first."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.list_jobs(taskset=taskset, state=state, limit=limit)).items
    if as_json:
        answer(found)
        return
    rows = [(job.id, job.name, job.state, f"{job.counts.graded}/{job.counts.expected}", job.counts.failed, job.mean_reward, short_time(job.created_at)) for job in found]
    table(("id", "name", "state", "graded", "failed", "mean", "started"), rows, "No jobs yet: `proctor run …`.")


@app.command()
def show(job_id: JobId, as_json: AsJson = False) -> None:
    """A job: its counts, its failures, and its runs."""
    from proctor.client import Client, calls

    with Client() as client:
        job = client.send(calls.get_job(job_id))
        runs = all_runs(client, job_id)
    if as_json:
        answer({**job.model_dump(mode="json"), "runs": [run.model_dump(mode="json") for run in runs]})
        return
    _show_job(job)
    table(("run", "task", "repeat", "state", "reward", "error"), map(_row, runs), "No runs yet.")


def _show_job(job: JobOut) -> None:
    counts = job.counts
    facts(
        {
            "name": job.name, "state": job.state, "taskset": f"{job.taskset.name}@{job.taskset.version_number}" if job.taskset else None,
            "runs": f"{counts.expected} = {counts.graded} graded + {counts.failed} failed + {counts.cancelled} cancelled + {counts.pending} pending",
            "mean reward": job.mean_reward, "pass rate": job.pass_rate,
        }
    )  # fmt: skip
    for group in job.failures:
        say(f"  {group.count} × {group.failure_class} ({group.blame}): {group.message}")


def _row(run: RunRow) -> tuple[object, ...]:
    return (run.id, run.slug, run.repeat, run.state, run.reward, (run.error or "")[:60])


def all_runs(client: object, job_id: str) -> list[RunRow]:
    """Every page of them."""
    from proctor.client import Client, calls

    assert isinstance(client, Client)
    rows: list[RunRow] = []
    cursor: str | None = None
    while True:
        page = client.send(calls.list_runs(job_id, cursor=cursor))
        rows += page.items
        cursor = page.next_cursor
        if cursor is None:
            return rows


@app.command()
def cancel(job_id: JobId, as_json: AsJson = False) -> None:
    """End every run of the job that is not over."""
    from proctor.client import Client, calls

    with Client() as client:
        done = client.send(calls.cancel_job(job_id))
    if as_json:
        answer(done)
    else:
        note(f"{done.cancelled} runs cancelled")


@app.command()
def compare(
    before: Annotated[str, typer.Argument(help="A job's id.")],
    after: Annotated[str, typer.Argument(help="Another one's.")],
    as_json: AsJson = False,
) -> None:
    """Two jobs task by task: the mean reward of each task's graded runs, and what it changed by."""
    from proctor.client import Client

    with Client() as client:
        means = [_means(all_runs(client, job_id)) for job_id in (before, after)]
    slugs = list(dict.fromkeys([*means[0], *means[1]]))
    rows = [(slug, means[0].get(slug), means[1].get(slug)) for slug in slugs]
    if as_json:
        answer([{"slug": slug, "before": old, "after": new, "change": _change(old, new)} for slug, old, new in rows])
        return
    table(("task", "before", "after", "change"), [(slug, old, new, _change(old, new)) for slug, old, new in rows], "Neither has a run.")
    both = [(old, new) for _slug, old, new in rows if old is not None and new is not None]
    better, worse = sum(new > old for old, new in both), sum(new < old for old, new in both)
    note(f"{better} better, {worse} worse, {len(both) - better - worse} equal; {len(rows) - len(both)} without a grade on one side")


def _means(runs: list[RunRow]) -> dict[str, float | None]:
    """Task → mean over its graded runs; None when none is graded."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.slug or "", []).extend([] if run.reward is None else [run.reward])
    return {slug: sum(rewards) / len(rewards) if rewards else None for slug, rewards in found.items()}


def _change(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else new - old
