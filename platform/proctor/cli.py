"""The `proctor` command. Each command imports what it needs when it is called, so that `--help` stays quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.taskapp.cli import app as task_app

app = typer.Typer(help="Proctor: evaluate and train AI agents.", no_args_is_help=True, add_completion=False)
app.add_typer(task_app, name="task-app")


@app.callback()
def proctor() -> None:
    """Proctor: evaluate and train AI agents."""


@app.command()
def serve(
    path: Annotated[Path, typer.Argument(help="A Python file that declares an Environment, or a folder with env.py.")],
    env: Annotated[str | None, typer.Option(help="Which one, when the file declares several.")] = None,
    host: Annotated[str, typer.Option(help="Interface to bind (0.0.0.0 in a container).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to bind (0: any free one, printed).")] = 0,
) -> None:
    """Serve an environment on the HUD control channel."""
    from proctor.environment import command

    name = ["--env", env] if env else []
    raise typer.Exit(command.main([str(path), *name, "--host", host, "--port", str(port)]))


def main() -> None:
    app()
