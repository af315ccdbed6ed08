"""Websocket addresses; an unknown one is closed with 4404."""

from __future__ import annotations

from typing import Any

from channels.routing import URLRouter
from django.urls import path, re_path

from environments.consumers import BuildLog
from environments.sessions.tunnels import tunnel
from runs.consumers import LiveConsumer


async def nowhere(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.close", "code": 4404})


everywhere_else: Any = nowhere  # Django's stubs know views only
tunnels: Any = tunnel
websocket_application = URLRouter(
    [
        path("ws", LiveConsumer.as_asgi()),
        path("v2/builds/<str:build_id>/logs", BuildLog.as_asgi()),
        path("runtime/tunnels/<str:session_id>", tunnels),
        re_path(r"^.*$", everywhere_else),
    ]
)
