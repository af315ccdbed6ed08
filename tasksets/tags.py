"""Tags: movable names of versions, unique in their taskset, with every move kept. Writes and reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from tasksets.models import Tag, TagMove, Taskset, Version
from web.errors import conflict, invalid, not_found, problem

SHOWN_MOVES = 100
RULE = "must be 1 to 64 of a-z, 0-9, dot, dash and underscore, start with a letter or digit, not be a number, and not start with sha256"
_NAME = re.compile(r"(?!\d+$)(?!sha256)[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Tagged:
    """A tag that names a version, with its newest moves."""

    tag: Tag
    version: Version
    moves: Iterable[TagMove]


def set_tag(caller: Caller, taskset: Taskset, name: str, version: Version) -> Tagged:
    """Puts the tag on the version, wherever it was; a tag that is there already does not move. Raises AppError 403, 409, 422."""
    caller.require("write")
    if not _NAME.fullmatch(name):
        raise invalid([problem("tag", RULE, name)])
    if taskset.archived_at:
        raise conflict(f"Taskset {taskset.name} is archived; restore it first")
    with transaction.atomic():
        Taskset.objects.select_for_update().get(id=taskset.id)
        tag, _made = Tag.objects.get_or_create(taskset=taskset, name=name, defaults={"moved_at": timezone.now()})
        if tag.version_id != version.id:
            _move(caller, tag, version)
    return Tagged(tag, version, tag.moves.order_by("-id")[:SHOWN_MOVES])


def remove_tag(caller: Caller, taskset: Taskset, name: str) -> None:
    """Its history stays and goes on should the tag be set again. Raises AppError 403, 404."""
    caller.require("write")
    with transaction.atomic():
        tag = Tag.objects.select_for_update().filter(taskset=taskset, name=name, version__isnull=False).first()
        if tag is None:
            raise not_found("Tag")
        _move(caller, tag, None)


def _move(caller: Caller, tag: Tag, version: Version | None) -> None:
    tag.version, tag.moved_at, tag.moved_by = version, timezone.now(), caller.label
    tag.save()
    number = version.number if version else None
    TagMove.objects.create(tag=tag, version_number=number, moved_at=tag.moved_at, moved_by=tag.moved_by)
    audit(caller, "taskset.tag", "taskset", tag.taskset_id, tag=tag.name, version=number)


def find_tags(taskset: Taskset, after: str, limit: int) -> list[Tagged]:
    """Those behind the name `after`, by name."""
    newest = Prefetch("moves", TagMove.objects.order_by("-id")[:SHOWN_MOVES], to_attr="newest")
    tags = Tag.objects.select_related("version").filter(taskset=taskset, version__isnull=False, name__gt=after)
    found = tags.prefetch_related(newest).order_by("name")[:limit]
    return [Tagged(tag, tag.version, tag.newest) for tag in found if tag.version]
