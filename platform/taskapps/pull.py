"""A Task App's tasks as a version of a taskset: each seed of each split is a row, with what the app says of it inside, digits and all.

Pulled again, what changed makes the next version and what did not makes none. Raises AppError 422, and 502 when the app cannot be asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from accounts.callers import Caller
from environments.models import TaskApp
from environments.task_apps import target_of
from proctor.taskapp.client import Instance, TaskAppClient
from proctor.taskapp.transport import CallFailed
from proctor.wire.task_apps import PullIn
from tasksets.actions import upload
from tasksets.commits import Uploaded
from web.errors import AppError, invalid, problem
from web.threads import in_reader, in_writer

MOST = 10_000
COLUMNS, COLUMN_CHARACTERS = 20, 200


@dataclass(frozen=True)
class Pulled:
    """`damaged`: slugs of tasks of which the app lost something."""

    uploaded: Uploaded
    tasks: int
    damaged: list[str]


async def pull(caller: Caller, app: TaskApp, given: PullIn) -> Pulled:
    """Asks for every seed once and uploads the rows."""
    caller.require("write")
    seeds, splits = wanted(app, given)
    target = await in_reader(target_of, app)
    try:
        instances = await TaskAppClient(target.url, target.key, public_only=target.public_only).task_info(seeds)
    except CallFailed as error:
        raise AppError("task_app_failed", 502, f"The Task App could not give its tasks: {error.message}", cause=error.cause) from None
    env = app.version.environment.name
    rows = list(rows_of(env, seeds, splits, instances))
    body = f'{{"tasks":[{",".join(text for _slug, text, _damaged in rows)}]}}'.encode()
    done = await in_writer(upload, caller, name=given.taskset, body=body, mode=given.mode, message=f"Pulled from {env}")
    return Pulled(done, len(rows), [slug for slug, _text, damaged in rows if damaged])


def wanted(app: TaskApp, given: PullIn) -> tuple[list[int], list[str | None]]:
    """Seeds and splits. Raises AppError 422 when the app does not say how many there are, or there are too many."""
    about = app.version.manifest.get("task_app", {})
    splits: list[str | None] = list(dict.fromkeys(given.splits)) if given.splits else [about.get("default_split")]
    unknown = [split for split in splits if split is not None and about.get("splits") and split not in about["splits"]]
    if unknown:
        raise invalid([problem("splits", f"the app has the splits {', '.join(about['splits'])}", split) for split in unknown])
    seeds = list(dict.fromkeys(given.seeds)) if given.seeds is not None else _range(about.get("size"), given)
    if any(seed < 0 for seed in seeds):
        raise invalid([problem("seeds", "a seed is not negative")])
    if not 0 < len(seeds) * len(splits) <= MOST:
        raise invalid([problem("seeds", f"one pull brings 1 to {MOST:,} tasks; this would be {len(seeds) * len(splits):,}")])
    return seeds, splits


def _range(size: int | None, given: PullIn) -> list[int]:
    count = given.count if given.count is not None else None if size is None else max(0, size - given.first)
    if count is None:
        raise invalid([problem("count", "must be given, since the app does not say how many tasks it has")])
    return list(range(given.first, given.first + min(count, MOST + 1)))


def rows_of(env: str, seeds: Sequence[int], splits: Sequence[str | None], instances: Sequence[Instance]) -> Iterator[tuple[str, str, bool]]:
    """(slug, row as JSON text, damaged). The instance's own text stands in the row as it came."""
    for split in splits:
        for seed, one in zip(seeds, instances, strict=True):
            slug = f"{split}-{seed}" if split else f"seed-{seed}"
            known = {"seed": seed} | ({"split": split} if split else {})
            args = f'{json.dumps(known)[:-1]},"task_info":{one.text}}}'
            fields = {"slug": slug, "env": {"name": env}, "id": one.info.task.id[:255], "columns": _columns(known, one.info.task_metadata)}
            yield slug, f'{json.dumps(fields, ensure_ascii=False)[:-1]},"args":{args}}}', bool(one.marks)


def _columns(known: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """What a table can show and filter by."""
    scalars = {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool) and len(str(value)) <= COLUMN_CHARACTERS}
    return dict(list({**scalars, **known}.items())[-COLUMNS:])
