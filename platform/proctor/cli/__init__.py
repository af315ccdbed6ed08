"""The `proctor` command. Each command imports what it needs when it is called, so that `--help` stays quick (docs/reference/cli.md).

Results go to stdout, in tables or with `--json`; everything else to stderr. Exit codes: 0 done, 1 it failed, 2 wrong usage, 3 some runs
have no grade, 4 the mean is below `--fail-under`, 5 a difference with `diff --exit-code`, 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli import environments, jobs, login, running, runs, tasksets
from proctor.cli.output import FAILED, INTERRUPTED, note
from proctor.errors import ProctorError
from proctor.taskapp.cli import app as task_app

app = typer.Typer(
    help="Proctor: evaluate and train AI agents.", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
app.command("login")(login.login)
app.command("logout")(login.logout)
app.command("whoami")(login.whoami)
app.command("run")(running.run)
app.add_typer(tasksets.app, name="taskset")
app.add_typer(environments.app, name="env")
app.add_typer(jobs.app, name="jobs")
app.add_typer(runs.app, name="runs")
app.add_typer(task_app, name="task-app")


def _version(asked: bool) -> None:
    if asked:
        from proctor import __version__

        typer.echo(f"proctor {__version__}")
        raise typer.Exit


@app.callback()
def proctor(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
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
    """The entry point: errors are a sentence on stderr, never a traceback."""
    try:
        app(prog_name="proctor")
    except ProctorError as error:
        note(f"error: {error}")
        sys.exit(FAILED)
    except BrokenPipeError:  # whoever read our output has enough
        sys.stderr.close()
        sys.exit(FAILED)
    except OSError as error:
        note(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
