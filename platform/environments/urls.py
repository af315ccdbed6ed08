"""Addresses of environments, native and HUD's."""

from django.urls import path

from accounts.http import methods
from environments import api, hud

urlpatterns = [
    path("api/environments", api.environments),
    path("api/environments/<str:reference>", api.environment),
    path("api/environments/<str:reference>/versions", api.versions),
    path("api/environments/<str:reference>/versions/<int:number>", api.version),
    path("v2/registry", methods(GET=hud.list_registry)),
    path("v2/registry/<str:registry_id>", methods(GET=hud.get_registry)),
]
