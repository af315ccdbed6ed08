"""What the SDK and the command line ask of the server, each as a `Call`: one place that knows paths, parameters and shapes.

The shapes are those of `proctor.wire` (the native API, docs/reference/api.md), and for reports of local runs HUD's
(docs/reference/hud-routes.md). References may be pinned: `name@3`, `name@tag`, `name@sha256:…`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from pydantic import BaseModel, ValidationError

from proctor.client.request import Call, Reply
from proctor.errors import BadReply
from proctor.wire.accounts import Me
from proctor.wire.base import Page
from proctor.wire.environments import EnvironmentOut, EnvironmentVersionOut, VariableOut
from proctor.wire.jobs import AgentIn, CancelOut, JobIn, JobOut, JobPlanOut, RunOut, RunRow, Steps
from proctor.wire.tasksets import TasksetOut, UploadMode, UploadOut, VersionOut
from proctor.wire.versions import DiffPage, TagOut

Model = TypeVar("Model", bound=BaseModel)
EXPORT_S = UPLOAD_S = 600.0
PAGE_SIZE = 1_000


def _get(path: str, model: type[Model], **params: str | int | None) -> Call[Model]:
    return Call("GET", path, _read(model), {name: value for name, value in params.items() if value is not None})


def _post(path: str, model: type[Model], body: object = None, *, repeatable: bool = False) -> Call[Model]:
    return Call("POST", path, _read(model), body=msgspec.json.encode(body) if body is not None else None, repeatable=repeatable)


def _read(model: type[Model]) -> Any:
    def read(reply: Reply) -> Model:
        try:
            return model.model_validate_json(reply.body or b"{}")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise BadReply(f"The answer is no {model.__name__} ({place}: {first['msg']}).", status=reply.status) from None

    return read


def _nothing(reply: Reply) -> None:
    del reply


def _part(text: str) -> str:
    return quote(text, safe="@:")


def me() -> Call[Me]:
    """Who the key is."""
    return _get("/api/me", Me)


# — tasksets


def list_tasksets(*, q: str | None = None, cursor: str | None = None, limit: int = 100) -> Call[Page[TasksetOut]]:
    """Newest first."""
    return _get("/api/tasksets", Page[TasksetOut], q=q, cursor=cursor, limit=limit)


def get_taskset(ref: str) -> Call[TasksetOut]:
    """`pinned` is the version that the reference names, if it names one."""
    return _get(f"/api/tasksets/{_part(ref)}", TasksetOut)


def create_taskset(name: str, project_id: str | None = None) -> Call[TasksetOut]:
    """409 when the name is taken."""
    return _post("/api/tasksets", TasksetOut, {"name": name, "project_id": project_id})


def export_taskset(ref: str) -> Call[bytes]:
    """`{"name", "tasks": […]}`, as stored."""
    return Call("GET", f"/api/tasksets/{_part(ref)}/export", lambda reply: reply.body, timeout_s=EXPORT_S)


def upload_tasks(ref: str, rows: Sequence[bytes], *, mode: UploadMode = "merge", message: str = "") -> Call[UploadOut]:
    """Rows as JSON texts. The same upload again changes nothing, so it may be repeated."""
    body = b'{"tasks":[' + b",".join(rows) + b"]}"
    params = {"mode": mode, **({"message": message} if message else {})}
    return Call("POST", f"/api/tasksets/{_part(ref)}/upload", _read(UploadOut), params, body=body, repeatable=True, timeout_s=UPLOAD_S)


def list_versions(ref: str, *, cursor: str | None = None, limit: int = 100) -> Call[Page[VersionOut]]:
    """Newest first."""
    return _get(f"/api/tasksets/{_part(ref)}/versions", Page[VersionOut], cursor=cursor, limit=limit)


def diff_versions(ref: str, before: str | None, after: str | None, *, cursor: str | None = None, limit: int = 200) -> Call[DiffPage]:
    """Numbers, tags or digests; the head and its parent unless given."""
    params = {"from": before, "to": after, "cursor": cursor, "limit": limit}
    return _get(f"/api/tasksets/{_part(ref)}/diff", DiffPage, **params)


def list_tags(ref: str) -> Call[Page[TagOut]]:
    """All of the taskset."""
    return _get(f"/api/tasksets/{_part(ref)}/tags", Page[TagOut])


def set_tag(ref: str, tag: str, version: int) -> Call[TagOut]:
    """Puts the tag on that version, wherever it was."""
    body = msgspec.json.encode({"version": version})
    return Call("PUT", f"/api/tasksets/{_part(ref)}/tags/{_part(tag)}", _read(TagOut), body=body)


def delete_tag(ref: str, tag: str) -> Call[None]:
    """Takes the tag off."""
    return Call("DELETE", f"/api/tasksets/{_part(ref)}/tags/{_part(tag)}", _nothing)


# — environments


def list_environments(*, q: str | None = None, cursor: str | None = None, limit: int = 100) -> Call[Page[EnvironmentOut]]:
    """By name."""
    return _get("/api/environments", Page[EnvironmentOut], q=q, cursor=cursor, limit=limit)


def get_environment(ref: str) -> Call[EnvironmentOut]:
    """By name or id."""
    return _get(f"/api/environments/{_part(ref)}", EnvironmentOut)


def get_environment_version(ref: str, number: int) -> Call[EnvironmentVersionOut]:
    """With the end of its build log."""
    return _get(f"/api/environments/{_part(ref)}/versions/{number}", EnvironmentVersionOut)


def get_build_log(ref: str, number: int) -> Call[bytes]:
    """The whole log, as text."""
    return Call("GET", f"/api/environments/{_part(ref)}/versions/{number}/log", lambda reply: reply.body)


def cancel_version(ref: str, number: int) -> Call[EnvironmentVersionOut]:
    """Stops the build; 409 when it has ended."""
    return _post(f"/api/environments/{_part(ref)}/versions/{number}/cancel", EnvironmentVersionOut)


def list_variables(ref: str) -> Call[Page[VariableOut]]:
    """Names; values are never shown."""
    return _get(f"/api/environments/{_part(ref)}/variables", Page[VariableOut])


def set_variables(ref: str, values: Mapping[str, str]) -> Call[Page[VariableOut]]:
    """Adds and replaces."""
    body = msgspec.json.encode({"values": dict(values)})
    return Call("PUT", f"/api/environments/{_part(ref)}/variables", _read(Page[VariableOut]), body=body)


def delete_variable(ref: str, name: str) -> Call[None]:
    """Takes one away."""
    return Call("DELETE", f"/api/environments/{_part(ref)}/variables/{_part(name)}", _nothing)


def deploy_context(
    name: str, archive: Iterable[bytes] | bytes, *, build_args: Mapping[str, str] | None = None, no_cache: bool = False
) -> Call[EnvironmentOut]:
    """A gzipped tar of a folder with a Dockerfile; answered when it is taken in, a worker builds it then. Build arguments stand in the
    address and in the image: no place for secrets."""
    query: dict[str, str | Sequence[str]] = {"name": name, "build_arg": [f"{key}={value}" for key, value in (build_args or {}).items()], **({"no_cache": "1"} if no_cache else {})}
    return Call("POST", "/api/environments", _read(EnvironmentOut), query, body=archive, content_type="application/gzip", timeout_s=UPLOAD_S)


def deploy_image(name: str, image: str) -> Call[EnvironmentOut]:
    """An image that is on the server's engine."""
    return _post("/api/environments", EnvironmentOut, {"name": name, "image": image})


# — jobs and runs


def list_jobs(*, taskset: str | None = None, state: str | None = None, cursor: str | None = None, limit: int = 20) -> Call[Page[JobOut]]:
    """Newest first."""
    return _get("/api/jobs", Page[JobOut], taskset=taskset, state=state, cursor=cursor, limit=limit)


def get_job(job_id: str) -> Call[JobOut]:
    """With its counts and failures."""
    return _get(f"/api/jobs/{_part(job_id)}", JobOut)


def plan_job(job: JobIn) -> Call[JobPlanOut]:
    """What a start would do; starts nothing."""
    return _post("/api/jobs/plan", JobPlanOut, job.model_dump(mode="json", exclude_none=True), repeatable=True)


def start_job(job: JobIn) -> Call[JobOut]:
    """May be repeated: an idempotency key is added unless the job has one."""
    keyed = job if job.idempotency_key else job.model_copy(update={"idempotency_key": uuid.uuid4().hex})
    return _post("/api/jobs", JobOut, keyed.model_dump(mode="json", exclude_none=True), repeatable=True)


def cancel_job(job_id: str) -> Call[CancelOut]:
    """Ends every run that is not over."""
    return _post(f"/api/jobs/{_part(job_id)}/cancel", CancelOut, repeatable=True)


def list_runs(job_id: str, *, cursor: str | None = None, limit: int = PAGE_SIZE) -> Call[Page[RunRow]]:
    """In the job's order."""
    return _get(f"/api/jobs/{_part(job_id)}/runs", Page[RunRow], cursor=cursor, limit=limit)


def get_run(run_id: str) -> Call[RunOut]:
    """Everything about a run but its steps."""
    return _get(f"/api/runs/{_part(run_id)}", RunOut)


def cancel_run(run_id: str) -> Call[CancelOut]:
    """Ends a run."""
    return _post(f"/api/runs/{_part(run_id)}/cancel", CancelOut, repeatable=True)


def list_steps(run_id: str, *, after: int = 0, limit: int = 200) -> Call[Steps]:
    """In order, from behind `after`."""
    return _get(f"/api/runs/{_part(run_id)}/steps", Steps, after=after, limit=limit)


def raw_steps(run_id: str, *, after: int = 0, limit: int = 200) -> Call[bytes]:
    """The same as text, every digit as stored."""
    return Call("GET", f"/api/runs/{_part(run_id)}/steps", lambda reply: reply.body, {"after": after, "limit": limit})


# — reports of runs that this machine executes; every one may be repeated


def enter_job(job_id: str, *, name: str, group: int, taskset_id: str | None) -> Call[None]:
    """`taskset_id`: the taskset's, or a version's own id, to pin the job to it."""
    return _report(f"/v2/trace/job/{job_id}/enter", {"name": name, "group": group, "taskset_id": taskset_id})


def enter_run(run_id: str, *, job_id: str, group_id: str, slug: str, model: str | None) -> Call[None]:
    """A run begins."""
    return _report(f"/v2/trace/{run_id}/enter", {"job_id": job_id, "group_id": group_id, "task_slug": slug, "model": model})


def exit_run(run_id: str, report: Mapping[str, object]) -> Call[None]:
    """`status`, and what there is of `reward`, `error`, `evaluation_result`, `stop_reason`, `metadata`."""
    return _report(f"/v2/trace/{run_id}/exit", report)


def upload_spans(run_id: str, spans: Sequence[bytes]) -> Call[None]:
    """Spans of one run, as JSON texts."""
    return Call(
        "POST", f"/v3/api/trace/{run_id}/telemetry-upload", _nothing, body=b'{"telemetry":[' + b",".join(spans) + b"]}", repeatable=True
    )


def _report(path: str, body: Mapping[str, object]) -> Call[None]:
    text = msgspec.json.encode({name: value for name, value in body.items() if value is not None})
    return Call("POST", path, _nothing, body=text, repeatable=True)


def agent_in(agent_type: str, config: Mapping[str, Any]) -> AgentIn:
    """An agent as a job names it."""
    return AgentIn(type=agent_type, config=dict(config))
