"""`proctor task-app …`: commands about others' Task Apps. Mounted by `proctor.cli`; imports what it needs when it is called."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(help="Task Apps: check one before you rely on it.", no_args_is_help=True)
MARKS = {"ok": "ok     ", "warning": "warning", "error": "error  "}


@app.callback()
def task_app() -> None:
    """Task Apps: check one before you rely on it."""


@app.command()
def validate(
    url: Annotated[str, typer.Argument(help="Where the Task App serves, such as http://127.0.0.1:8001.")],
    key: Annotated[str, typer.Option(envvar="ENVIRONMENT_API_KEY", help="Its key; read from the environment unless given.", show_envvar=True)] = "",
    seeds: Annotated[str, typer.Option(help="Seeds to ask /task_info for, behind commas.")] = "0,1",
    least: Annotated[int, typer.Option(help="So many instances must be there.")] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds for each call.")] = 10.0,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array of findings.")] = False,
) -> None:
    """Ask a Task App all that can be asked without a rollout. Exit 0: usable; 1: an error, or with --strict a warning; 2: wrong usage."""
    import asyncio

    from proctor.addresses import url_problem
    from proctor.taskapp.client import Target
    from proctor.taskapp.validate import validate as ask

    problem = url_problem(url)
    if problem:
        raise typer.BadParameter(problem, param_hint="URL")
    findings = asyncio.run(ask(Target(url.rstrip("/"), key, public_only=False), seeds=_numbers(seeds), least=least, within_s=timeout))
    if as_json:
        typer.echo(json.dumps([finding.as_dict() for finding in findings]))
    else:
        for finding in findings:
            typer.echo(f"{MARKS[finding.level]} {finding.subject}: {finding.message}")
    bad = {"error", "warning"} if strict else {"error"}
    raise typer.Exit(1 if any(finding.level in bad for finding in findings) else 0)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise typer.BadParameter("must be whole numbers behind commas", param_hint="--seeds") from None
