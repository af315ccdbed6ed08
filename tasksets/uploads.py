"""The body of an upload, taken apart and checked: the set it is for, and its rows as exact text. No database.

Errors come with the place in the body. What the fast reader refuses is read again by the slow one, only to say where it is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.conf import settings
from msgspec import Raw

from proctor import content
from proctor.content import BadContent, TaskText
from tasksets import versions
from tasksets.versions import Mode
from web.errors import AppError, invalid, problem

NO_CONTENT = "0" * versions.ID_LENGTH


class Envelope(msgspec.Struct, forbid_unknown_fields=True):
    """`taskset_name`, `taskset_id` and `project_id` are HUD's; `name` stands in an exported file and counts for nothing."""

    tasks: list[Raw]
    name: Any = None
    taskset_name: str | None = None
    taskset_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True)
class Upload:
    """`tasks` is by entry line; empty when rows are only to be removed. `lines` are in the order sent."""

    envelope: Envelope
    lines: list[bytes]
    tasks: dict[bytes, TaskText]


_decode = msgspec.json.Decoder(Envelope).decode


def read_upload(body: bytes, mode: Mode) -> Upload:
    """Raises AppError 400 for what is no JSON, 413 for too much of it, 422 with every problem of the rows."""
    envelope = _read_envelope(body)
    _check_limits(envelope.tasks)
    try:
        if mode == "remove":
            slugs = content.parse_slugs(envelope.tasks)
            return Upload(envelope, [versions.entry(NO_CONTENT, slug) for slug in slugs], {})
        tasks = content.parse_tasks(envelope.tasks)
    except BadContent as error:
        raise invalid(error.problems) from None
    envelope.tasks.clear()
    lines = [versions.entry(task.content_id, task.slug) for task in tasks]
    return Upload(envelope, lines, dict(zip(lines, tasks, strict=True)))


def _read_envelope(body: bytes) -> Envelope:
    try:
        return _decode(body)
    except msgspec.ValidationError as error:
        raise invalid([problem("", str(error))]) from None
    except (msgspec.DecodeError, RecursionError) as error:
        _explain(body)
        raise AppError("bad_json", 400, f"The body is not JSON: {error}") from None


def _explain(body: bytes) -> None:
    """Raises AppError 422 with the places, when the body is JSON but for numbers, surrogates or depth."""
    try:
        content.read_exact(body, max_depth=content.MAX_DEPTH + 2)
    except BadContent as error:
        if any(found.path or "deeper" in found.rule for found in error.problems):
            raise invalid(error.problems) from None


def _check_limits(rows: Sequence[Raw]) -> None:
    limits = settings.PROCTOR_LIMITS
    if len(rows) > limits["tasks_per_set"]:
        raise too_many(len(rows))
    for index, row in enumerate(rows):
        if len(memoryview(row)) > limits["task_bytes"]:
            raise AppError(
                "too_large", 413, f"tasks[{index}] is larger than the limit of {limits['task_bytes']:,} bytes", limit="task_bytes"
            )


def too_many(count: int) -> AppError:
    limit = settings.PROCTOR_LIMITS["tasks_per_set"]
    return AppError(
        "too_large", 413, f"A taskset holds at most {limit:,} tasks; this would make {count:,}", limit="tasks_per_set", limit_tasks=limit
    )
