"""What a person keeps for the page (columns, their order and widths) by name, as JSON text: the same in every browser and team."""

from __future__ import annotations

import re
import uuid

from django.utils import timezone

from accounts.callers import Caller
from accounts.models import Preference
from proctor import content
from proctor.content import BadContent
from web.errors import AppError, conflict, forbidden, invalid, problem

NAME = re.compile(r"[a-z0-9][a-z0-9._:-]{0,99}")
LONGEST_BYTES = 64 * 1024
MOST = 1_000


def get_preference(caller: Caller, name: str) -> str:
    """Its JSON text, `null` when there is none. Raises AppError 403, 422."""
    text = Preference.objects.filter(user_id=_person(caller), name=_checked(name)).values_list("text", flat=True).first()
    return text or "null"


def set_preference(caller: Caller, name: str, body: bytes) -> None:
    """`null` forgets it. A key needs the scope write; a viewer on the page does not: it is their own. Raises AppError 403, 409, 413, 422."""
    user_id, name, text = _person(caller), _checked(name), _json(body)
    if caller.key_id is not None:
        caller.require("write")
    kept = Preference.objects.filter(user_id=user_id)
    if text == "null":
        kept.filter(name=name).delete()
        return
    if kept.exclude(name=name).count() >= MOST:
        raise conflict(f"A person has at most {MOST:,} preferences; put null to those that are not needed")
    Preference.objects.update_or_create(user_id=user_id, name=name, defaults={"text": text, "changed_at": timezone.now()})


def _person(caller: Caller) -> uuid.UUID:
    if caller.user_id is None:
        raise forbidden("Only a person has preferences")
    return caller.user_id


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise invalid([problem("name", "must be 1 to 100 of a-z, 0-9, dot, dash, colon and underscore, the first a letter or digit", name)])
    return name


def _json(body: bytes) -> str:
    if len(body) > LONGEST_BYTES:
        raise AppError("too_large", 413, f"A preference has at most {LONGEST_BYTES:,} bytes", limit_bytes=LONGEST_BYTES)
    try:
        content.read_exact(body)
        return body.decode().strip()
    except (BadContent, UnicodeDecodeError):
        raise invalid([problem("", "must be JSON")]) from None
