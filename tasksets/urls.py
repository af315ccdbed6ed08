"""Addresses of tasksets, native and HUD's. Names come percent-decoded once; a HUD name may hold a slash then."""

from django.urls import include, path

from accounts.http import methods
from tasksets import api, api_downloads, api_drafts, api_pulls, api_shared, api_tables, api_versions, hud, hud02

urlpatterns = [
    path("", include("tasksets.imports.urls")),
    path("", include("tasksets.analysis.urls")),
    path("api/tasksets", api.tasksets),
    path("api/tasksets/pull", api_pulls.pull),
    path("api/tasksets/<str:ref>", api.taskset),
    path("api/tasksets/<str:ref>/versions", api.versions),
    path("api/tasksets/<str:ref>/versions/<int:number>", api.version),
    path("api/tasksets/<str:ref>/tasks", api_tables.tasks),
    path("api/tasksets/<str:ref>/facets", api_tables.facets),
    path("api/tasksets/<str:ref>/tags", api_versions.taskset_tags),
    path("api/tasksets/<str:ref>/tags/<str:tag>", api_versions.taskset_tag),
    path("api/tasksets/<str:ref>/diff", api_versions.taskset_diff),
    path("api/tasksets/<str:ref>/diff/task", api_versions.taskset_diff_task),
    path("api/tasksets/<str:ref>/restore", api_versions.taskset_restore),
    path("api/tasksets/<str:ref>/undo", api_versions.taskset_undo),
    path("api/tasksets/<str:ref>/draft", api_drafts.draft),
    path("api/tasksets/<str:ref>/draft/bulk", api_drafts.draft_bulk),
    path("api/tasksets/<str:ref>/draft/commit", api_drafts.draft_commit),
    path("api/tasksets/<str:ref>/purge", api_versions.taskset_purge),
    path("api/tasksets/<str:ref>/redact", api_versions.taskset_redact),
    path("api/tasksets/<str:ref>/tasks/history", api_versions.task_history),
    path("api/tasksets/<str:ref>/tasks/<path:slug>", api.task),
    path("api/tasksets/<str:ref>/upload", api.upload),
    path("api/tasksets/<str:ref>/export", api.export),
    path("api/tasksets/<str:ref>/download", api_downloads.taskset_download),
    path("api/shared/<str:token>/tasks", api_shared.shared_tasks),
    path("api/shared/<str:token>/tasks/<path:slug>", api_shared.shared_task),
    path("api/shared/<str:token>/download", api_shared.shared_download),
    path("hud02/v2/tasksets", methods(POST=hud02.create_taskset)),
    path("hud02/v2/tasksets/<str:ref>/tasks", methods(GET=hud02.list_tasks)),
    path("v2/tasksets", methods(POST=hud.create_taskset)),
    path("v2/tasksets/by-name/<path:name>", methods(GET=hud.by_name)),
    path("v2/tasksets/<str:ref>", methods(GET=hud.get_taskset)),
    path("v2/tasksets/<str:ref>/export", hud.export),
    path("v2/tasks/upload", hud.upload),
]
