"""The hot path: a version's export over HTTP, from the stored bytes, for both surfaces. No set is ever in memory.

ETag = digest, name revision and encoding; a matching If-None-Match costs three small queries and no body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import parse_etags
from django.views.decorators.csrf import csrf_exempt

from accounts.authentication import caller_of
from accounts.callers import Caller
from tasksets import exports, versions
from tasksets.exports import Opened
from tasksets.queries import Pinned
from web.errors import AppError
from web.threads import in_reader

Find = Callable[[Caller, str], Pinned]
EMPTY_DIGEST = versions.digest([])


@dataclass(frozen=True)
class Reply:
    """What to send: a stored export, or `body`; nothing of either when the client has it."""

    headers: dict[str, str]
    opened: Opened | None = None
    body: bytes | None = None


def export_view(find: Find) -> Callable[..., HttpResponseBase]:
    """`find` turns the address's reference into what to export; it raises AppError 404."""

    @csrf_exempt
    async def view(request: HttpRequest, ref: str) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": "GET, HEAD"})
        reply = await in_reader(_prepare, request, find, ref)
        return _respond(reply, head_only=request.method == "HEAD")

    return view  # type: ignore[return-value]


def _prepare(request: HttpRequest, find: Find, ref: str) -> Reply:
    caller = caller_of(request)
    caller.require("read")
    pinned = find(caller, ref)
    encoding = accepted(request.META.get("HTTP_ACCEPT_ENCODING", ""))
    headers = _headers(pinned, encoding)
    if _has_it(request, headers["ETag"]):
        return Reply(headers)
    if pinned.version is None:
        return Reply(headers, body=b'{"name":%s,"tasks":[]}' % msgspec.json.encode(pinned.taskset.name))
    opened = exports.open_export(pinned.version, pinned.taskset.name, encoding)
    headers["Content-Length"] = str(opened.export.size_bytes if encoding else opened.export.plain_bytes)
    if encoding:
        headers["Content-Encoding"] = encoding
    return Reply(headers, opened)


def accepted(header: str) -> str | None:
    """`zstd` or `gzip`, when the client takes it; None for the plain JSON."""
    given: dict[str, float] = {}
    for part in header.lower().split(","):
        name, _, quality = part.strip().partition(";")
        given[name.strip()] = _quality(quality)
    return next((encoding for encoding in exports.ENCODINGS if given.get(encoding, 0) > 0), None)


def _quality(text: str) -> float:
    try:
        return float(text.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0


def _headers(pinned: Pinned, encoding: str | None) -> dict[str, str]:
    digest = (pinned.version.digest if pinned.version else EMPTY_DIGEST).removeprefix("sha256:")
    etag = f'"{digest}-{pinned.taskset.name_revision}-{(encoding if pinned.version else None) or "plain"}"'
    return {"ETag": etag, "Vary": "Accept-Encoding, Authorization, Cookie", "Cache-Control": "private, no-cache"}


def _has_it(request: HttpRequest, etag: str) -> bool:
    known = parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))
    return known == ["*"] or etag in [one.removeprefix("W/") for one in known]


def _respond(reply: Reply, *, head_only: bool) -> HttpResponseBase:
    if reply.opened is None and reply.body is None:
        return HttpResponse(status=304, headers=reply.headers)
    if reply.opened and not head_only:
        return StreamingHttpResponse(exports.stream(reply.opened), content_type="application/json", headers=reply.headers)
    if reply.opened:
        reply.opened.file.close()
    return HttpResponse(b"" if head_only else reply.body, content_type="application/json", headers=reply.headers)
