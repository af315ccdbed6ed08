"""Tasksets as HUD 0.2.x knows them (contracts: B1, B4): rows with prompt, gym, setup and evaluate calls. Served under `/hud02`.

Such a row is stored as a task of the template `task`: the row's own parts are the arguments, an image is the task's
`runtime_config.image`. A task of another template goes out with its arguments as `config`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest

from accounts.callers import Caller
from accounts.http import endpoint
from accounts.names import normalise
from environments.hud02.names import image_handle
from environments.queries import newest_ready_of
from tasksets import actions, queries
from tasksets.queries import VersionTask
from web.bodies import read_body
from web.errors import AppError, invalid, problem

TEMPLATE = "task"
DOCKER = "docker"
MOST = 20_000
PARTS = ("prompt", "setup", "evaluate", "config", "system_prompt", "sensitive_data", "metadata")


class Row(msgspec.Struct):
    """As 0.2.10 uploads it. The calls are JSON as given."""

    prompt: str
    gym: str | None = None
    setup: msgspec.Raw = msgspec.Raw(b"null")
    evaluate: msgspec.Raw = msgspec.Raw(b"null")
    config: msgspec.Raw = msgspec.Raw(b"null")
    image_uri: str | None = None
    description: str | None = None
    id: str | None = None


class TasksetIn(msgspec.Struct):
    name: str
    tasks: list[Row]
    description: str | None = None


class _Stored(msgspec.Struct):
    args: dict[str, msgspec.Raw] = {}
    columns: dict[str, Any] | None = None
    runtime_config: dict[str, Any] | None = None


@endpoint("POST", scope="write")
def create_taskset(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """These clients never change a set: an upload replaces it. Raises AppError 422."""
    try:
        given = msgspec.json.decode(read_body(request, "upload_bytes"), type=TasksetIn)
    except msgspec.DecodeError as error:
        raise invalid([problem("", str(error))]) from None
    body = msgspec.json.encode({"tasks": [_row(index, row) for index, row in enumerate(given.tasks, 1)]})
    done = actions.upload(caller, name=given.name, body=body, mode="replace", message=(given.description or "")[:1000])
    return {"id": str(done.taskset.id), "name": done.taskset.name, "version": done.version.number if done.version else None}


def _row(index: int, row: Row) -> dict[str, Any]:
    if row.gym == DOCKER and not row.image_uri:
        raise invalid([problem(f"tasks[{index - 1}].image_uri", "must name the image of a docker gym")])
    args = {name: part for name in ("setup", "evaluate", "config") if bytes(part := getattr(row, name)) != b"null"}
    shown = {name: value for name, value in (("gym", row.gym), ("description", row.description)) if value}
    made: dict[str, Any] = {"slug": row.id or f"task-{index:05}", "env": _environment(row), "id": TEMPLATE, "args": {"prompt": row.prompt, **args}, "columns": shown}
    return made | ({"runtime_config": {"image": row.image_uri}} if row.image_uri else {})


def _environment(row: Row) -> str:
    """The gym, or for an image its last word."""
    return image_handle(row.image_uri) if row.image_uri else row.gym or "qa"


@endpoint("GET", scope="read")
def list_tasks(request: HttpRequest, caller: Caller, ref: str) -> dict[str, Any]:
    """All of them at once, as these clients want it. Raises AppError 404, 413."""
    found = queries.resolve_reference(caller, ref)
    if found.version is None:
        return {"evalset": []}
    if found.version.task_count > MOST:
        raise AppError("too_large", 413, f"HUD 0.2.x reads a taskset in one reply: at most {MOST:,} tasks, this has {found.version.task_count:,}")
    images = {name: version.image for name, version in newest_ready_of(caller.team_id, found.version.environments).items() if version.environment.kind == "hud02"}
    return {"evalset": [_legacy(task, images) for task in queries.iter_version_tasks(found.version)]}


def _legacy(task: VersionTask, images: dict[str, str]) -> dict[str, Any]:
    stored = msgspec.json.decode(task.text, type=_Stored)
    columns = stored.columns or {}
    image = (stored.runtime_config or {}).get("image") or images.get(normalise(task.env))
    gym = DOCKER if image else columns.get("gym") or task.env
    row: dict[str, Any] = {"id": task.slug, "gym": gym, "description": columns.get("description"), "prompt": "", "setup": None, "evaluate": None, "config": None}
    if task.task_id == TEMPLATE:
        row |= {name: part for name, part in stored.args.items() if name in PARTS}
    else:
        row |= {"config": {"function": task.task_id, "args": [stored.args]}, "prompt": stored.args.get("prompt", "")}
    return row | ({"image_uri": image} if image else {})
