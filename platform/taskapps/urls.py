"""Addresses of Task Apps: native ones, and each taskset's own."""

from django.urls import path

from taskapps import api, serving

urlpatterns = [
    path("api/task-apps", api.register),
    path("api/task-apps/<str:reference>", api.task_app),
    path("api/task-apps/<str:reference>/probe", api.probe),
    path("api/task-apps/<str:reference>/validate", api.validate),
    path("api/task-apps/<str:reference>/pull", api.pull),
    path("api/tasksets/<str:ref>/task-app-keys", api.taskset_keys),
    path("api/tasksets/<str:ref>/task-app-keys/<uuid:key_id>", api.taskset_key),
    path("task-apps/<str:reference>", serving.root),
    path("task-apps/<str:reference>/", serving.root),
    path("task-apps/<str:reference>/health", serving.health),
    path("task-apps/<str:reference>/info", serving.info),
    path("task-apps/<str:reference>/task_info", serving.task_info),
    path("task-apps/<str:reference>/rollout", serving.rollout),
    path("task-apps/<str:reference>/done", serving.done),
]
