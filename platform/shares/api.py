"""The native API of share links: the team's list, make, revoke; and what a link shows first, without sign-in."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import signed_in
from proctor.wire.base import Page
from proctor.wire.shares import SharedTaskset, ShareIn, ShareMade, ShareOut
from shares import actions, queries
from shares.http import shared_view
from shares.kinds import get_kind
from shares.models import Share
from shares.render import render_made, render_share
from web.bodies import parse_body
from web.pages import identity, moment, page_body, page_size, read_key

PAGING = [OpenApiParameter("limit", int), OpenApiParameter("cursor", str)]


@extend_schema(methods=["GET"], parameters=PAGING, responses=Page[ShareOut])
@extend_schema(methods=["POST"], request=ShareIn, responses={201: ShareMade})
@api_view(["GET", "POST"])
def shares(request: Request) -> Response:
    caller = signed_in(request, "read")
    if request.method == "POST":
        given = parse_body(request._request, ShareIn)
        made = actions.create_share(caller, kind=given.kind, reference=given.reference, expires_at=given.expires_at)
        return Response(render_made(made).model_dump(mode="json"), status=201)
    after, size = read_key(request._request, moment, identity), page_size(request._request)
    found = queries.find_shares(caller)
    if after:
        found = found.filter(created_at__lte=after[0]).exclude(created_at=after[0], id__gte=after[1])
    rows = list(found[: size + 1])
    items = [render_share(row).model_dump(mode="json") for row in rows[:size]]
    return Response(page_body(items, [rows[size - 1].created_at.isoformat(), rows[size - 1].id] if len(rows) > size else None))


@extend_schema(request=None, responses=ShareOut)
@api_view(["POST"])
def revoke(request: Request, share_id: uuid.UUID) -> Response:
    caller = signed_in(request, "write")
    return Response(render_share(actions.revoke_share(caller, share_id)).model_dump(mode="json"))


@extend_schema(responses=SharedTaskset, auth=[])
@shared_view()
def shared(request: Request, share: Share) -> Response:
    """What the link shows, without names of people. 404 for a wrong, expired or revoked one; 410 when what it showed is gone."""
    return Response(get_kind(share.kind).describe(share).model_dump(mode="json"))
