"""What a share link of a taskset shows, without sign-in: its tasks, one task whole, a file. The same shapes as the native API."""

from __future__ import annotations

from django.http import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from proctor.wire.base import Page
from proctor.wire.tasksets import TaskOut, TaskRow
from shares.http import count_download, shared_view
from shares.models import Share
from tasksets.api import PAGING, SEARCH, task_response
from tasksets.api_downloads import DOWNLOAD, FILE
from tasksets.api_tables import AT, FILTER, SORT, tasks_response
from tasksets.downloads.serving import download
from tasksets.sharing import KIND, open_shared


@extend_schema(parameters=[SEARCH, SORT, FILTER, AT, *PAGING], responses=Page[TaskRow], auth=[])
@shared_view(KIND)
def shared_tasks(request: Request, share: Share) -> Response:
    return tasks_response(request, open_shared(share), only_this=True)


@extend_schema(responses=TaskOut, auth=[])
@shared_view(KIND)
def shared_task(request: Request, share: Share, slug: str) -> Response:
    return task_response(open_shared(share).version, slug)


@extend_schema(parameters=DOWNLOAD, responses=FILE, auth=[])
@shared_view(KIND)
def shared_download(request: Request, share: Share) -> HttpResponseBase:
    """Ten files in five minutes, then 429."""
    found = open_shared(share)
    if request.method == "GET":
        count_download(share)
    return download(request._request, found)
