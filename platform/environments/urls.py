"""Addresses of environments, native and HUD's."""

from django.urls import path

from accounts.http import methods
from environments import api, hud, hud_builds
from environments.hud02 import api as hud02
from environments.hud02.builds import put_context
from environments.sessions import hud as sessions

urlpatterns = [
    path("api/environments", api.environments),
    path("api/environments/<str:reference>", api.environment),
    path("api/environments/<str:reference>/versions", api.versions),
    path("api/environments/<str:reference>/versions/<int:number>", api.version),
    path("api/environments/<str:reference>/versions/<int:number>/log", api.version_log),
    path("api/environments/<str:reference>/versions/<int:number>/cancel", api.cancel_version),
    path("api/environments/<str:reference>/variables", api.variables),
    path("api/environments/<str:reference>/variables/<str:name>", api.variable),
    path("api/environments/<str:reference>/sessions", api.sessions),
    path("api/environments/<str:reference>/sessions/<str:session_id>", api.session),
    path("runtime/sessions", methods(POST=sessions.open_session)),
    path("runtime/sessions/<str:session_id>", methods(GET=sessions.get_session, DELETE=sessions.close_session)),
    path("runtime/sessions/<str:session_id>/keepalive", methods(POST=sessions.keep_alive)),
    path("v2/builds/upload-url", methods(POST=hud_builds.reserve)),
    path("v2/builds/context/<str:token>", hud_builds.put_context, name="hud-build-context"),
    path("v2/builds/trigger", methods(POST=hud_builds.trigger)),
    path("v2/builds/<str:build_id>/status", methods(GET=hud_builds.status)),
    path("v2/builds/<str:build_id>/cancel", methods(POST=hud_builds.cancel)),
    path("hud02/v1/gyms/<str:name>", methods(GET=hud02.get_gym)),
    path("hud02/v2/create_environment", methods(POST=hud02.create_environment)),
    path("hud02/v2/environments/<str:session_id>/state", methods(GET=hud02.state)),
    path("hud02/v2/environments/<str:session_id>/execute", methods(POST=hud02.execute)),
    path("hud02/v2/environments/<str:session_id>/get_archive", methods(POST=hud02.get_archive)),
    path("hud02/v2/environments/<str:session_id>/put_archive", methods(POST=hud02.put_archive)),
    path("hud02/v2/builds", methods(POST=hud02.create_build)),
    path("hud02/v2/builds/<str:build_id>/start", methods(POST=hud02.start_build)),
    path("hud02/v2/builds/context/<str:token>", put_context, name="hud02-context"),
    path("hud02/evaluations/evaluate", methods(POST=hud02.evaluate)),
    path("v2/registry", methods(GET=hud.list_registry)),
    path("v2/registry/<str:registry_id>", methods(GET=hud.get_registry)),
]
