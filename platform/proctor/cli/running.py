"""`proctor run`: a taskset by an agent, here or hosted, with a table that lives while it runs. See docs/reference/cli.md for its exit codes.

A local run keeps a state file until it is complete, so that Ctrl-C, or worse, loses no finished run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.output import BELOW, INTERRUPTED, UNGRADED, AsJson, answer, note, table
from proctor.cli.tasksets import load

if TYPE_CHECKING:
    from proctor.jobs import Job, Plan
    from proctor.tasks import Taskset

STATE_FOLDER = Path(".proctor")


def run(
    source: Annotated[str, typer.Argument(help="A file, a folder, or a taskset of the server (name, name@3, name@tag).")],
    runtime: Annotated[
        list[str] | None, typer.Option("--runtime", "-r", help="hosted, tunnel, docker, docker:IMAGE, tcp://HOST:PORT or a Python file; ENV=… for one environment. Repeatable.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="A chat-completions model.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="noop, replay:COLUMN, or FILE.py:FUNCTION.")] = None,
    config: Annotated[list[str] | None, typer.Option("--config", "-c", help="KEY=JSON for the agent, such as max_steps=3. Repeatable.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Where the model is served (local runs).", envvar="OPENAI_BASE_URL")] = None,
    group: Annotated[int, typer.Option("--group", "-g", min=1, help="Repeats of each task.")] = 1,
    max_concurrent: Annotated[int | None, typer.Option("--max-concurrent", min=1, help="Runs at once.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one run.")] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this task. Repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="Not this task. Repeatable.")] = None,
    env: Annotated[str | None, typer.Option(help="The environment of rows that name none.")] = None,
    template: Annotated[str | None, typer.Option(help="The template of rows that name none.")] = None,
    name: Annotated[str | None, typer.Option(help="The job's name.")] = None,
    state: Annotated[Path | None, typer.Option(help="The state file: one that is there is gone on with.")] = None,
    traces: Annotated[Path | None, typer.Option(help="A folder for the steps of each run.")] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Tell the server, when there is a key.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show where everything would run; run nothing.")] = False,
    fail_under: Annotated[float | None, typer.Option(help="Exit 4 when the mean reward is below this.")] = None,
    allow_errors: Annotated[bool, typer.Option("--allow-errors", help="Exit 0 although some runs have no grade.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run every task, its repeats, by one agent; the job and its runs on stdout."""
    taskset = _part(load(source, env, template), only, exclude)
    place = _runtime(runtime or [])
    if dry_run:
        _show_plan(taskset.plan(place, group=group), as_json)
        return
    hosted = type(place).__name__ == "HostedRuntime"
    kept = state or (None if hosted else STATE_FOLDER / f"{taskset.name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.jsonl")
    options: dict[str, Any] = {
        "runtime": place, "group": group, "max_concurrent": max_concurrent, "rollout_timeout": timeout, "name": name, "state": None if hosted else kept,
        "traces": traces, "report": report,
    }  # fmt: skip
    job = _go(taskset, _agent(model, agent, config or [], base_url), options, kept)
    if state is None and kept is not None and not job.tally.cancelled:
        kept.unlink(missing_ok=True)
    _show_job(job, as_json)
    raise typer.Exit(_exit_code(job, fail_under, allow_errors))


def _part(taskset: Taskset, only: list[str] | None, exclude: list[str] | None) -> Taskset:
    chosen = taskset.filter(only) if only else taskset
    return chosen.exclude(exclude) if exclude else chosen


def _go(taskset: Taskset, agent: Any, options: dict[str, Any], state: Path | None) -> Job:
    """Run it, showing how it goes. Ctrl-C says how to go on, and exits 130."""
    import asyncio

    from proctor.cli.live import showing

    try:
        with showing() as shown:
            return asyncio.run(taskset.run(agent, on_plan=shown.plan, on_change=shown.changed, progress=False, **options))
    except KeyboardInterrupt:
        again = f" Go on with the same command and --state {state}" if state is not None and state.exists() else ""
        note(f"Interrupted; everything is cleaned up.{again}")
        raise typer.Exit(INTERRUPTED) from None
    except ValueError as error:
        from proctor.errors import ProctorError

        if isinstance(error, ProctorError):
            raise
        raise typer.BadParameter(str(error)) from None


def _runtime(given: list[str]) -> Any:
    """One place for all, or one per environment (`letters=env.py`)."""
    if not given:
        return None
    parts = [text.partition("=") for text in given]
    if len(given) == 1 and not parts[0][1]:
        return _place(given[0])
    if any(not mark for _env, mark, _value in parts):
        raise typer.BadParameter("give one for all, or ENV=… for each environment", param_hint="--runtime")
    return {env: _place(value) for env, _mark, value in parts}


def _place(text: str) -> Any:
    from proctor.jobs import DockerRuntime, HostedRuntime, LocalRuntime, Runtime, TunnelRuntime

    if text in ("hosted", "tunnel", "docker"):
        return {"hosted": HostedRuntime, "tunnel": TunnelRuntime, "docker": DockerRuntime}[text]()
    if text.startswith("docker:"):
        return DockerRuntime(text.removeprefix("docker:"))
    if text.startswith("tcp://"):
        return Runtime(text)
    if not Path(text).exists():
        raise typer.BadParameter(f"{text!r} is no file, and none of hosted, tunnel, docker, docker:IMAGE, tcp://HOST:PORT", param_hint="--runtime")
    return LocalRuntime(text)


def _agent(model: str | None, agent: str | None, config: list[str], base_url: str | None) -> Any:
    import proctor

    if (model is None) == (agent is None):
        raise typer.BadParameter("name one: a model by --model, or an agent by --agent", param_hint="--model / --agent")
    if model is not None:
        return proctor.openai_compatible(model, base_url=base_url, **_config(config))
    assert agent is not None
    if config:
        raise typer.BadParameter("goes with --model", param_hint="--config")
    if agent == "noop":
        return proctor.noop()
    kind, _mark, rest = agent.rpartition(":") if ".py:" in agent else agent.partition(":")
    if kind == "replay" and rest:
        return proctor.replay(column=rest)
    if kind.endswith(".py") and rest:
        return _function(Path(kind), rest)
    raise typer.BadParameter("must be noop, replay:COLUMN or FILE.py:FUNCTION", param_hint="--agent")


def _function(file: Path, name: str) -> Any:
    from proctor.tasks.modules import import_file, python_files

    found = getattr(import_file(python_files(file.resolve())[0]), name, None)
    if not callable(found):
        raise typer.BadParameter(f"{file} has no function {name!r}", param_hint="--agent")
    return found


def _config(pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, _mark, text = pair.partition("=")
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found


def _show_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        answer({"taskset": plan.taskset, "tasks": plan.tasks, "group": plan.group, "runs": plan.runs, "environments": [vars(one) for one in plan.placed]})
    else:
        typer.echo(str(plan))


def _show_job(job: Job, as_json: bool) -> None:
    runs = [
        {
            "id": run.id, "slug": run.slug, "repeat": run.repeat, "state": run.state, "counted": run.counted, "reward": run.reward,
            "failure_class": run.failure_class, "blame": run.blame, "error": run.error, "answer": run.answer, "seconds": run.seconds,
        }
        for run in job.runs
    ]  # fmt: skip
    if as_json:
        answer({"id": job.id, "name": job.name, "state": job.state, "counts": job.counts, "reward": job.reward, "taskset": job.taskset, "url": job.url, "runs": runs})
        return
    if not sys.stdout.isatty() or len(runs) <= 200:
        table(("task", "repeat", "state", "reward", "seconds", "error"), [(one["slug"], one["repeat"], one["state"], one["reward"], one["seconds"], str(one["error"] or "")[:80]) for one in runs], "No runs.")
    mean = "no grade" if job.reward is None else f"mean reward {job.reward:.4g}"
    note(f"{job.name}: {job.scope}, {job.state}, {mean}; " + ", ".join(f"{count} {word}" for word, count in job.counts.items() if count))
    if job.url:
        note(job.url)


def _exit_code(job: Job, fail_under: float | None, allow_errors: bool) -> int:
    if job.state != "completed" and not allow_errors:
        return UNGRADED
    if fail_under is not None and (job.reward is None or job.reward < fail_under):
        return BELOW
    return 0
