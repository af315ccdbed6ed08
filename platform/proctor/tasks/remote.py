"""A taskset's exchanges with the server, each a generator of calls, so that the sync and the async client have the same one."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from proctor.client import AsyncClient, Call, Client, calls
from proctor.errors import BadReply, NotFound
from proctor.tasks.task import Task
from proctor.tasks.taskset import Origin, Taskset
from proctor.wire.tasksets import UploadMode, UploadOut

T = TypeVar("T")
Talk = Generator[Call[Any], Any, T]


def talk_with(client: Client | None, talk: Talk[T]) -> T:
    """By this client, or one of its own."""
    if client is not None:
        return client.converse(talk)
    with Client() as own:
        return own.converse(talk)


async def talk_with_async(client: AsyncClient | None, talk: Talk[T]) -> T:
    """The same."""
    if client is not None:
        return await client.converse(talk)
    async with AsyncClient() as own:
        return await own.converse(talk)


class _Export(msgspec.Struct):
    name: str
    tasks: list[Raw]


def load(reference: str) -> Talk[Taskset]:
    """The version that the reference names, the newest when it names none."""
    found = yield calls.get_taskset(reference)
    version = found.pinned or found.head
    if version is None:
        return Taskset(found.name)
    origin = Origin(found.id, found.name, version.id, version.number, version.digest, version.task_count)
    body = yield calls.export_taskset(version.id)
    try:
        export = msgspec.json.decode(body, type=_Export)
    except msgspec.DecodeError as error:
        raise BadReply(f"The export of {origin.reference} can't be read: {error}.") from None
    return Taskset(found.name, (Task.from_json(bytes(row)) for row in export.tasks), origin=origin)


def upload(taskset: Taskset, name: str, mode: UploadMode, message: str) -> Talk[UploadOut]:
    """Into the taskset of this name; for `merge` and `replace` it is made when it is not there."""
    rows = [task.to_json() for task in taskset]
    try:
        return (yield calls.upload_tasks(name, rows, mode=mode, message=message))  # type: ignore[no-any-return]
    except NotFound:
        if mode == "remove" or "@" in name:
            raise
    made = yield calls.create_taskset(name)
    return (yield calls.upload_tasks(made.id, rows, mode=mode, message=message))  # type: ignore[no-any-return]


def environment_status(names: list[str]) -> Talk[dict[str, str]]:
    """Each name's state on the server."""
    found: dict[str, str] = {}
    for name in names:
        try:
            environment = yield calls.get_environment(name)
        except NotFound:
            found[name] = "missing"
        else:
            found[name] = "deployed" if environment.ready else "not ready"
    return found
