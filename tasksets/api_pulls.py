"""The native API of pulling a taskset from another Proctor."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.tasksets import TasksetPullIn, UploadOut
from tasksets import api
from tasksets.pulls import actions
from tasksets.render import render_upload
from web.bodies import parse_body


@extend_schema(methods=["GET", "PATCH"], exclude=True)
@extend_schema(methods=["POST"], request=TasksetPullIn, responses=UploadOut)
@api_view(["GET", "PATCH", "POST"])
def pull(request: Request) -> Any:
    """Answers when the version is made. Its import (`id`) shows the progress. Without POST this is the taskset that is called `pull`."""
    if request.method != "POST":
        return api.taskset(request._request, ref="pull")
    caller = signed_in(request, "write")
    given = parse_body(request._request, TasksetPullIn)
    done = actions.pull(caller, url=given.url, reference=given.reference, key=given.key, name=given.name, pull_id=given.id)
    return Response(render_upload(done).model_dump(mode="json"))
