"""Addresses of share links. What stands below `/api/shared/{token}` belongs to the room that owns the kind."""

from django.urls import path

from shares import api

urlpatterns = [
    path("api/shares", api.shares),
    path("api/shares/<uuid:share_id>/revoke", api.revoke),
    path("api/shared/<str:token>", api.shared),
]
