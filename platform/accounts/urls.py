"""Addresses of accounts, native and HUD's."""

from django.urls import path

from accounts import api, hud
from accounts.http import methods

urlpatterns = [
    path("auth/sign-in", api.sign_in),
    path("auth/sign-out", api.sign_out),
    path("api/me", api.me),
    path("api/me/preferences/<str:name>", api.preference),
    path("api/keys", api.keys),
    path("api/keys/<uuid:key_id>/revoke", api.revoke),
    path("v2/auth/me", methods(GET=hud.me)),
    path("v2/projects", methods(GET=hud.list_projects, POST=hud.create_project)),
    path("v2/projects/<str:project_id>", methods(GET=hud.get_project)),
]
