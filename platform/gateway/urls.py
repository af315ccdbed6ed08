"""Addresses of the gateway, native and HUD's. Clients add `/chat/completions` to whatever prefix they were given."""

from django.urls import path

from accounts.http import methods
from gateway import api, hud

urlpatterns = [
    path("api/models", api.endpoints),
    path("api/models/<uuid:endpoint_id>", api.endpoint),
    path("v2/models", methods(GET=hud.list_models)),
    path("gateway/chat/completions", methods(POST=hud.chat_completions)),
    path("gateway/v1/chat/completions", methods(POST=hud.chat_completions)),
]
