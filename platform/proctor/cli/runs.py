"""`proctor runs …`: one run and its steps, live or as files."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.output import AsJson, answer, facts, note, say

if TYPE_CHECKING:
    from msgspec import Raw

    from proctor.client import Client
    from proctor.wire.jobs import RunOut

app = typer.Typer(help="Runs: show, follow, export, cancel.", no_args_is_help=True)
RunId = Annotated[str, typer.Argument(help="The run's id.")]
TERMINAL = ("completed", "error", "cancelled")
SHOWN = 2_000
POLL_S = 0.5


@app.command()
def show(run_id: RunId, steps: Annotated[bool, typer.Option(help="Its steps too.")] = True, as_json: AsJson = False) -> None:
    """A run: what it was asked, said and given, and how it ended."""
    from proctor.client import Client, calls

    with Client() as client:
        run = client.send(calls.get_run(run_id))
        told = list(_steps(client, run_id)) if steps else []
    if as_json:
        typer.echo(_line({**run.model_dump(mode="json"), "steps": told}))
        return
    _show_run(run)
    for step in told:
        say(step_text(step))


def _show_run(run: RunOut) -> None:
    facts(
        {
            "task": run.slug, "environment": run.env, "job": run.job_name, "state": run.state, "counted": run.counted, "reward": run.reward, "model": run.model,
            "failure": f"{run.failure_class} ({run.blame})" if run.failure_class else None, "error": run.full_error, "stop reason": run.stop_reason,
        }
    )  # fmt: skip


def _steps(client: Client, run_id: str, after: int = 0) -> Iterator[Raw]:
    """Each step as the server's own text, so that its numbers keep their digits."""
    import msgspec

    from proctor.client import calls

    cursor: int | None = after
    while cursor is not None:
        page = msgspec.json.decode(client.send(calls.raw_steps(run_id, after=cursor)), type=dict[str, msgspec.Raw])
        yield from (msgspec.Raw(bytes(item)) for item in msgspec.json.decode(page["items"], type=list[msgspec.Raw]))
        cursor = msgspec.json.decode(page["next_after"])


def _line(value: Any) -> str:
    """One line of JSON; text inside it as it is."""
    import msgspec

    return msgspec.json.encode(value).decode()


@app.command()
def follow(run_id: RunId, as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False) -> None:
    """Print a run's steps as they come, until it is over."""
    from proctor.client import Client, calls

    seen = 0
    with Client() as client:
        while True:
            run = client.send(calls.get_run(run_id))  # before its steps: none can come after the last look
            for step in _steps(client, run_id, seen):
                seen = json.loads(bytes(step))["seq"]
                typer.echo(bytes(step).decode()) if as_json else say(step_text(step))
            if run.state in TERMINAL:
                break
            time.sleep(POLL_S)
    note(f"{run.state}: {f'reward {run.reward:g}' if run.reward is not None else run.full_error or 'no grade'}")


def step_text(raw: Raw) -> str:
    """A step for people: who, and the text of it."""
    step = json.loads(bytes(raw))
    payload: dict[str, Any] = step["payload"] if isinstance(step.get("payload"), dict) else {}
    said = _said(step["kind"], payload)
    number = step["step_id"] if step.get("step_id") is not None else "-"
    lines = [f"[{number}] {step['kind']}", *([said[:SHOWN]] if said else []), *([f"error: {step['error']}"] if step.get("error") else [])]
    return "\n    ".join(line.replace("\n", "\n    ") for line in lines)


def _said(kind: str, payload: dict[str, Any]) -> str:
    if kind == "agent":
        called = [f"→ {call.get('name')}({json.dumps(call.get('arguments'), ensure_ascii=False)})" for call in payload.get("tool_calls") or []]
        return "\n".join(filter(None, [payload.get("reasoning"), payload.get("content"), *called]))
    if kind == "tool":
        return _texts((payload.get("result") or {}).get("content") or [])
    if kind == "user":
        return _texts([message.get("content") for message in payload.get("messages") or []])
    task_call = payload.get("task_call") or {}
    return f"{task_call.get('phase')} {task_call.get('name')}: {json.dumps(task_call.get('result'), ensure_ascii=False)}" if task_call else ""


def _texts(blocks: list[Any]) -> str:
    return "\n".join(str(block.get("text", f"({block.get('type')})")) for block in blocks if isinstance(block, dict))


@app.command()
def export(
    job_id: Annotated[str, typer.Argument(help="A job's id: all its runs. With --steps a run's id works too.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .jsonl or .csv file; stdout (JSON lines) unless given.")] = None,
    steps: Annotated[bool, typer.Option("--steps", help="The steps of each run, in `steps` (JSON lines only).")] = False,
) -> None:
    """Write a job's runs, one a line."""
    from proctor.client import Client
    from proctor.tasks.writing import replace_file

    if output is not None and output.suffix not in (".jsonl", ".csv"):
        raise typer.BadParameter("must end in .jsonl or .csv", param_hint="--output")
    if output is not None and output.suffix == ".csv" and steps:
        raise typer.BadParameter("a table has no place for steps: write .jsonl", param_hint="--steps")
    with Client() as client:
        rows = _exported(client, job_id, steps)
        if output is None:
            for row in rows:
                sys.stdout.write(_line(row) + "\n")
        elif output.suffix == ".csv":
            _write_csv(output, list(rows))
        else:
            replace_file(output, (_line(row).encode() + b"\n" for row in rows))


def _exported(client: Client, job_id: str, steps: bool) -> Iterator[dict[str, Any]]:
    from proctor.cli.jobs import all_runs

    for run in all_runs(client, job_id):
        row = run.model_dump(mode="json")
        yield {**row, "steps": list(_steps(client, run.id))} if steps else row


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["id"])
        writer.writeheader()
        writer.writerows(rows)


@app.command()
def cancel(run_id: RunId, as_json: AsJson = False) -> None:
    """End a run."""
    from proctor.client import Client, calls

    with Client() as client:
        done = client.send(calls.cancel_run(run_id))
    if as_json:
        answer(done)
    else:
        note("cancelled" if done.cancelled else "it was over already")
