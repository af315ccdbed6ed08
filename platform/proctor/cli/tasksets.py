"""`proctor taskset …`: what is on the server, and the way there and back. A source is a file or folder, else a reference (`name@3`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.output import DIFFERENT, AsJson, Limit, answer, facts, note, say, short_time, table

if TYPE_CHECKING:
    from proctor.tasks import Taskset, TasksetDiff

app = typer.Typer(help="Tasksets: list, pull, push, diff, tag.", no_args_is_help=True)
Reference = Annotated[str, typer.Argument(help="name, name@3, name@tag or name@sha256:…")]
Env = Annotated[str | None, typer.Option(help="The environment of rows that name none.")]
Template = Annotated[str | None, typer.Option(help="The template of rows that name none.")]


def load(source: str, env: str | None = None, template: str | None = None) -> Taskset:
    """From a file that is there, else from the server."""
    from proctor.tasks import Taskset

    if Path(source).exists() or source.endswith((".py", ".json", ".jsonl", ".csv", ".parquet")):
        return Taskset.from_file(source, env=env, template=template)
    return Taskset.from_api(source)


@app.command("list")
def list_(q: Annotated[str | None, typer.Option(help="Text in the name or title.")] = None, limit: Limit = 100, as_json: AsJson = False) -> None:
    """The team's tasksets, newest first."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.list_tasksets(q=q, limit=limit)).items
    if as_json:
        answer(found)
        return
    rows = [(one.name, one.head.number if one.head else None, one.head.task_count if one.head else 0, ", ".join(one.environments), short_time(one.changed_at)) for one in found]
    table(("name", "version", "tasks", "environments", "changed"), rows, "No tasksets yet: `proctor taskset push FILE NAME`.")


@app.command()
def show(reference: Reference, as_json: AsJson = False) -> None:
    """A taskset, its versions and tags, and where its environments stand."""
    from proctor.client import Client, calls
    from proctor.tasks import remote

    with Client() as client:
        found = client.send(calls.get_taskset(reference))
        versions = client.send(calls.list_versions(found.id, limit=20)).items
        tags = client.send(calls.list_tags(found.id)).items
        status = client.converse(remote.environment_status(found.environments))
    if as_json:
        answer({"taskset": found.model_dump(mode="json"), "versions": [one.model_dump(mode="json") for one in versions], "tags": [one.model_dump(mode="json") for one in tags], "environments": status})
        return
    facts({"name": found.name, "title": found.title, "id": found.id})
    named = {number: ", ".join(tag.name for tag in tags if tag.version_number == number) for number in [one.number for one in versions]}
    table(("version", "tasks", "tags", "made", "by", "message"), [(one.number, one.task_count, named[one.number], short_time(one.created_at), one.author, one.message) for one in versions], "No version yet.")
    table(("environment", "status"), status.items(), "No environments.")


@app.command()
def pull(
    reference: Reference,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File ending in .jsonl, .json or .csv; default NAME.jsonl, - for stdout.")] = None,
) -> None:
    """Write a taskset to a file, every value as it is stored."""
    from proctor.tasks import Taskset

    taskset = Taskset.from_api(reference)
    if str(output) == "-":
        for task in taskset:
            typer.echo(task.to_json())
        return
    path = taskset.to_file(output or Path(f"{taskset.name}.jsonl"))
    note(f"{len(taskset)} tasks of {taskset.origin.reference if taskset.origin else reference} → {path}")


@app.command()
def push(
    source: Annotated[str, typer.Argument(help="A .py, .json, .jsonl, .csv, .parquet file or a folder.")],
    name: Annotated[str | None, typer.Argument(help="The taskset; the file's name unless given. It is made if need be.")] = None,
    mode: Annotated[str, typer.Option(help="merge: what is not sent stays; replace: it goes; remove: these go.")] = "merge",
    message: Annotated[str, typer.Option("--message", "-m", help="What this version is about.")] = "",
    env: Env = None,
    template: Template = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Upload tasks. A new version is made when something changed."""
    if mode not in ("merge", "replace", "remove"):
        raise typer.BadParameter("must be merge, replace or remove", param_hint="--mode")
    taskset = load(source, env, template)
    if dry_run:
        _show_diff(_against_server(taskset, name or taskset.name, mode), as_json)
        return
    done = taskset.upload(name, mode=mode, message=message)  # type: ignore[arg-type]
    if as_json:
        answer(done)
        return
    at = f"{done.taskset.name}@{done.version.number}" if done.version else done.taskset.name
    note(f"{at}: {done.tasks_created} new, {done.tasks_updated} changed, {done.tasks_removed} removed, {done.tasks_unchanged} as before")


def _against_server(taskset: Taskset, name: str, mode: str) -> TasksetDiff:
    """What an upload would do."""
    from proctor.errors import NotFound
    from proctor.tasks import Taskset as Set

    try:
        there = Set.from_api(name)
    except NotFound:
        there = Set(name)
    if mode == "remove":
        return there.diff(there.exclude([task.slug for task in taskset], missing_ok=True))
    kept = [] if mode == "replace" else [task for task in there if task.slug not in taskset]
    return there.diff(Set(name, [*kept, *taskset]))


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A file, a folder or a reference.")],
    after: Annotated[str, typer.Argument(help="Another one.")],
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 5 when they differ.")] = False,
    env: Env = None,
    template: Template = None,
    as_json: AsJson = False,
) -> None:
    """What changes from one to the other, task by task."""
    found = load(before, env, template).diff(load(after, env, template))
    _show_diff(found, as_json)
    if exit_code and found:
        raise typer.Exit(DIFFERENT)


def _show_diff(found: TasksetDiff, as_json: bool) -> None:
    changed = {change.slug: list(change.fields) for change in found.changed}
    if as_json:
        answer({"added": [task.slug for task in found.added], "removed": [task.slug for task in found.removed], "changed": changed, "unchanged": found.unchanged})
        return
    for mark, slugs in (("+", [task.slug for task in found.added]), ("-", [task.slug for task in found.removed])):
        for slug in slugs:
            say(f"{mark} {slug}")
    for slug, fields in changed.items():
        say(f"~ {slug}: {', '.join(fields)}")
    note(f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed, {found.unchanged} the same")


@app.command()
def tag(
    reference: Reference,
    name: Annotated[str | None, typer.Argument(help="The tag; without it, all are listed.")] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Take the tag off.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name a version (`tag letters@3 stable`), list tags, or take one off."""
    from proctor.client import Client, calls

    with Client() as client:
        found = client.send(calls.get_taskset(reference))
        if name and delete:
            client.send(calls.delete_tag(found.id, name))
            note(f"{found.name}: {name} is no tag any more")
            return
        version = found.pinned or found.head
        if name and version is None:
            raise typer.BadParameter("has no version yet", param_hint="REFERENCE")
        if name and version is not None:
            client.send(calls.set_tag(found.id, name, version.number))
        tags: list[Any] = client.send(calls.list_tags(found.id)).items
    if as_json:
        answer(tags)
        return
    table(("tag", "version", "moved", "by"), [(one.name, one.version_number, short_time(one.moved_at), one.moved_by) for one in tags], "No tags.")
