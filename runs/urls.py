"""Addresses of runs, native and HUD's."""

from django.urls import path

from accounts.http import methods
from runs import api, api_results, hud, hud02

urlpatterns = [
    path("api/jobs", api.jobs),
    path("api/jobs/plan", api.plan),
    path("api/jobs/<str:job_id>", api.job),
    path("api/jobs/<str:job_id>/cancel", api.cancel_job),
    path("api/jobs/<str:job_id>/again", api.again),
    path("api/jobs/<str:job_id>/matrix", api.matrix),
    path("api/jobs/<str:job_id>/runs", api.job_runs),
    path("api/tasksets/<str:ref>/results", api_results.task_results),
    path("api/runs/<str:run_id>", api.run),
    path("api/runs/<str:run_id>/cancel", api.cancel_run),
    path("api/runs/<str:run_id>/steps", api.run_steps),
    path("api/runs/<str:run_id>/log", api.run_log),
    path("api/blobs/<str:sha256>", api.blob),
    path("api/ws-ticket", api.ws_ticket),
    path("api/last-jobs", api.last_jobs),
    path("api/workers", api.workers),
    path("hud02/v2/jobs", methods(POST=hud02.create_job)),
    path("hud02/v2/jobs/<str:job_id>", methods(GET=hud02.get_job)),
    path("hud02/v2/jobs/<str:job_id>/trajectories", methods(GET=hud02.list_trajectories)),
    path("hud02/v1/environments/<str:session_id>/reset", methods(POST=hud02.reset)),
    path("hud02/v2/environments/<str:session_id>/invoke", methods(POST=hud02.invoke)),
    path("hud02/v2/environments/<str:session_id>/close", methods(POST=hud02.close)),
    path("hud02/v2/environments/<str:session_id>/telemetry-upload", methods(POST=hud02.upload_steps)),
    path("hud02/v2/task_runs/<str:task_run_id>/telemetry-upload", methods(POST=hud02.upload_telemetry)),
    path("v2/trace/job/<str:job_id>/enter", methods(POST=hud.enter_job)),
    path("v2/trace/<str:trace_id>/enter", methods(POST=hud.enter_run)),
    path("v2/trace/<str:trace_id>/exit", methods(POST=hud.exit_run)),
    path("v2/trace/<str:trace_id>/events", methods(GET=hud.get_events)),
    path("v2/trace/<str:trace_id>", methods(GET=hud.get_trace)),
    path("v2/jobs", methods(GET=hud.list_jobs)),
    path("v2/jobs/<str:job_id>/traces", methods(GET=hud.list_traces)),
    path("v2/rollouts/submit", methods(POST=hud.submit)),
    path("v2/rollouts/cancel", methods(POST=hud.cancel)),
    path("v2/rollouts/cancel_job", methods(POST=hud.cancel_job)),
    path("v2/rollouts/cancel_user_jobs", methods(POST=hud.cancel_user_jobs)),
    path("v3/api/trace/<str:trace_id>/telemetry-upload", methods(POST=hud.upload_telemetry)),
]
