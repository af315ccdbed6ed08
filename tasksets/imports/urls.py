"""Addresses of getting data in, native and HUD's."""

from django.urls import path

from accounts.http import methods
from tasksets.imports import api, hud

urlpatterns = [
    path("api/uploads", api.uploads),
    path("api/uploads/<str:upload_id>", api.upload),
    path("api/imports", api.imports),
    path("api/imports/templates/<str:kind>", api.template),
    path("api/imports/<str:import_id>", api.one_import),
    path("api/imports/<str:import_id>/mapping", api.mapping),
    path("api/imports/<str:import_id>/preview", api.preview),
    path("api/imports/<str:import_id>/errors", api.errors),
    path("api/imports/<str:import_id>/errors.csv", api.errors_csv),
    path("api/imports/<str:import_id>/errors/groups", api.error_groups),
    path("api/imports/<str:import_id>/folders", api.folders),
    path("api/imports/<str:import_id>/rows/<int:line>", api.row),
    path("api/imports/<str:import_id>/commit", api.commit),
    path("api/imports/<str:import_id>/cancel", api.cancel),
    path("api/tasksets/<str:ref>/imports", api.imports_of),
    path("v2/imports/formats", methods(GET=hud.formats)),
    path("v2/imports/uploads", methods(POST=hud.reserve)),
    path("v2/imports", methods(GET=hud.list_imports, POST=hud.start)),
    path("v2/imports/<str:import_id>", methods(GET=hud.get_import)),
    path("v2/imports/<str:import_id>/cancel", methods(POST=hud.cancel)),
    path("v2/imports/<str:import_id>/report", methods(GET=hud.report)),
    path("v2/data/upload/<str:token>", hud.put_data, name="hud-data"),
    path("v2/data/<str:file_id>/complete", methods(POST=hud.complete)),
    path("v2/data/<str:file_id>", methods(DELETE=hud.delete)),
]
