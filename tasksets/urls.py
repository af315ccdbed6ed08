"""Addresses of tasksets, native and HUD's. Names come percent-decoded once; a HUD name may hold a slash then."""

from django.urls import path

from accounts.http import methods
from tasksets import api, hud

urlpatterns = [
    path("api/tasksets", api.tasksets),
    path("api/tasksets/<str:ref>", api.taskset),
    path("api/tasksets/<str:ref>/versions", api.versions),
    path("api/tasksets/<str:ref>/versions/<int:number>", api.version),
    path("api/tasksets/<str:ref>/tasks", api.tasks),
    path("api/tasksets/<str:ref>/tasks/<path:slug>", api.task),
    path("api/tasksets/<str:ref>/upload", api.upload),
    path("api/tasksets/<str:ref>/export", api.export),
    path("v2/tasksets", methods(POST=hud.create_taskset)),
    path("v2/tasksets/by-name/<path:name>", methods(GET=hud.by_name)),
    path("v2/tasksets/<str:ref>", methods(GET=hud.get_taskset)),
    path("v2/tasksets/<str:ref>/export", hud.export),
    path("v2/tasks/upload", hud.upload),
]
