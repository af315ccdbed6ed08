"""The native API of getting data out: a version as a file."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request

from accounts.authentication import signed_in
from tasksets import queries
from tasksets.downloads.packing import PACKINGS
from tasksets.downloads.serving import FORMATS, download

DOWNLOAD = [
    OpenApiParameter("format", str, enum=list(FORMATS), default="jsonl"),
    OpenApiParameter("compress", str, enum=list(PACKINGS), description="Of json, jsonl and csv."),
    OpenApiParameter("q", str, description="Only tasks with this text in slug or content; the file has no digest then."),
]
FILE = {(200, "application/octet-stream"): OpenApiTypes.BINARY}


@extend_schema(parameters=DOWNLOAD, responses=FILE)
@api_view(["GET", "HEAD"])
def taskset_download(request: Request, ref: str) -> HttpResponseBase:
    """A version as a file. `Proctor-Digest` is that of the version, which the file gives again when it is imported."""
    return download(request._request, queries.resolve_reference(signed_in(request, "read"), ref))
