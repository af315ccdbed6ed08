"""From a request to what is asked of a table; a wrong question is 422 with each problem."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from django.http import HttpRequest

from tasksets.tables.asking import Asked, BadQuestion, parse, split
from web.errors import invalid


def asked_of(request: HttpRequest) -> Asked:
    """`q`, `sort` and every `f.<column>` of the address. Raises AppError 422."""
    given = {key[2:]: request.GET.getlist(key) for key in request.GET if key.startswith("f.") and len(key) > 2}
    filters = {name: [token for text in texts for token in split(text)] for name, texts in given.items()}
    return asked(request.GET.get("q", ""), request.GET.get("sort", ""), filters)


def mark_of(request: HttpRequest) -> int:
    """A number below 2³¹ that tells one question from another: a cursor made for one does not go on with another."""
    asking = sorted((name, request.GET.getlist(name)) for name in request.GET if name in ("q", "sort") or name.startswith("f."))
    return zlib.crc32(repr([part for part in asking if any(part[1])]).encode()) & 0x7FFFFFFF


def asked(q: str, sort: str, filters: Mapping[str, Sequence[str]]) -> Asked:
    """Raises AppError 422."""
    try:
        return parse(q, sort, filters)
    except BadQuestion as error:
        raise invalid(error.problems) from None
