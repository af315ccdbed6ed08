"""`proctor env …`: what tasks run in, on the server."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import FAILED, AsJson, Limit, answer, note, say, short_time, table
from proctor.deploy import BASE_IMAGE

if TYPE_CHECKING:
    from proctor.client import Client
    from proctor.wire.environments import EnvironmentVersionOut

app = typer.Typer(help="Environments: list, deploy, logs, cancel, secrets.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The environment's name.")]
OVER = ("ready", "failed", "cancelled", "stored")
POLL_S = 0.5
PIECE_BYTES = 256 * 1024


@app.command("list")
def list_(limit: Limit = 100, as_json: AsJson = False) -> None:
    """The team's environments, by name."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.list_environments(limit=limit)).items
    if as_json:
        answer(found)
        return
    rows = [
        (one.name, one.kind, one.ready.number if one.ready else None, f"{one.latest.number} {one.latest.status}" if one.latest else None, short_time(one.created_at)) for one in found
    ]
    table(("name", "kind", "ready", "newest", "made"), rows, "No environments yet: `proctor env deploy FOLDER`.")


@app.command()
def deploy(
    folder: Annotated[Path, typer.Argument(help="A folder with env.py or a Dockerfile.")] = Path("."),
    name: Annotated[str | None, typer.Option(help="Its name; what env.py declares unless given.")] = None,
    image: Annotated[str | None, typer.Option(help="An image on the server's engine, instead of a folder.")] = None,
    source: Annotated[str, typer.Option(help="The file that declares the environment, for a folder without a Dockerfile.")] = "env.py",
    base: Annotated[str, typer.Option(help="The image that a folder without a Dockerfile is built on.", envvar="PROCTOR_BASE_IMAGE")] = BASE_IMAGE,
    build_arg: Annotated[list[str] | None, typer.Option(help="A build argument, NAME=value; may be repeated. It stands in the image: no place for secrets.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Build every step anew.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the build; exit 1 when it fails.")] = True,
    as_json: AsJson = False,
) -> None:
    """Send a folder (or name an image); the server builds it, starts it once, and asks what it holds."""
    from proctor.client import Client, calls

    if image is not None and name is None:
        raise typer.BadParameter("an image needs a name", param_hint="--name")
    arguments = _build_args(build_arg or [])
    if image is not None and (arguments or no_cache):
        raise typer.BadParameter("an image is not built", param_hint="--image")
    with Client() as client:
        if image is not None and name is not None:
            made = client.send(calls.deploy_image(name, image))
        else:
            with _packed(folder, base, source) as archive:
                made = client.send(calls.deploy_context(name or _declared_name(folder, source), _pieces(archive), build_args=arguments, no_cache=no_cache))
        assert made.latest is not None
        version = _follow(client, made.name, made.latest.number) if wait else made.latest
    if as_json:
        answer(version)
    elif wait:
        note(f"{made.name} version {version.number}: {version.status}" + (f", templates {', '.join(one.id for one in version.templates)}" if version.templates else ""))
    else:
        note(f"{made.name} version {version.number} is on its way: `proctor env logs {made.name}`")
    raise typer.Exit(FAILED if version.status in ("failed", "cancelled") else 0)


def _build_args(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if any(not name or not mark for name, mark, _value in pairs):
        raise typer.BadParameter("must be NAME=value", param_hint="--build-arg")
    return {name: value for name, _mark, value in pairs}


def _packed(folder: Path, base: str, source: str) -> IO[bytes]:
    from proctor.deploy import context_members, write_context

    members = context_members(folder, base=base, source=source)
    archive = tempfile.TemporaryFile(prefix="proctor-context-")  # noqa: SIM115 - the caller closes it
    write_context(members, archive)
    archive.seek(0)
    return archive


def _pieces(archive: IO[bytes]) -> Iterator[bytes]:
    while piece := archive.read(PIECE_BYTES):
        yield piece


def _declared_name(folder: Path, source: str) -> str:
    from proctor.jobs.sources import declared_in

    names = sorted(declared_in(folder / source).names)
    if len(names) != 1:
        raise typer.BadParameter(f"{folder / source} declares {', '.join(names) or 'no environment by name'}: give --name", param_hint="--name")
    return names[0]


def _follow(client: Client, name: str, number: int) -> EnvironmentVersionOut:
    """Print the log as it grows, until the version is over."""
    from proctor.client import calls

    shown = 0
    while True:
        version = client.send(calls.get_environment_version(name, number))  # before its log: no line can come after the last look
        text = client.send(calls.get_build_log(name, number))
        if len(text) > shown:
            note(text[shown:].decode(errors="replace").rstrip("\n"))
            shown = len(text)
        if version.status in OVER:
            if version.error:
                note(f"error: {version.error}")
            return version
        time.sleep(POLL_S)


@app.command()
def logs(
    name: Name,
    version: Annotated[int | None, typer.Option(help="Its number; the newest unless given.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until the build is over.")] = False,
    as_json: AsJson = False,
) -> None:
    """The build log of a version."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.get_environment(name))
        number = version or (found.latest.number if found.latest else 0)
        shown = _follow(client, name, number) if follow else client.send(calls.get_environment_version(name, number))
        log = client.send(calls.get_build_log(name, number))
    if as_json:
        answer(shown)
    elif not follow:
        say(log.decode(errors="replace").rstrip("\n"))
        note(f"{name} version {shown.number}: {shown.status}" + (f", {shown.error}" if shown.error else ""))


@app.command()
def cancel(
    name: Name,
    version: Annotated[int | None, typer.Option(help="Its number; the newest unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Stop a build that goes on (Ctrl-C of `deploy` only stops watching it)."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.get_environment(name))
        stopped = client.send(calls.cancel_version(name, version or (found.latest.number if found.latest else 0)))
    if as_json:
        answer(stopped)
    else:
        note(f"{name} version {stopped.number}: {'cancelling' if stopped.cancelling else stopped.status}")


@app.command()
def secrets(
    name: Name,
    pairs: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE. Repeatable. Shells keep a history: see --set-stdin.")] = None,
    from_stdin: Annotated[str | None, typer.Option("--set-stdin", help="A name; its value is read from standard input.")] = None,
    delete: Annotated[list[str] | None, typer.Option("--delete", help="A name. Repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Variables that every sandbox of the environment gets: kept encrypted, listed by name, never shown."""
    from proctor.client import Client, calls

    values = _values(pairs or [])
    if from_stdin is not None:
        values[from_stdin] = sys.stdin.readline().rstrip("\n")
    with Client() as client:
        if values:
            client.send(calls.set_variables(name, values))
        for one in delete or []:
            client.send(calls.delete_variable(name, one))
        found = client.send(calls.list_variables(name)).items
    if as_json:
        answer(found)
        return
    table(("name", "set", "by"), [(one.name, short_time(one.updated_at), one.updated_by) for one in found], "No variables.")


def _values(pairs: list[str]) -> dict[str, str]:
    parts = [pair.partition("=") for pair in pairs]
    if any(not mark or not name for name, mark, _value in parts):
        raise typer.BadParameter("must be NAME=VALUE", param_hint="--set")
    return {name: value for name, _mark, value in parts}
