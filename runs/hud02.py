"""HUD 0.2.x over HTTP, the part about runs (contracts: B4): jobs, their trajectories, task runs of remote environments, telemetry.

What a client does in an environment that it opened is told as the steps of an outside run, which `reset` begins and `evaluate` grades.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest

from accounts.callers import Caller
from accounts.http import async_endpoint, endpoint
from environments.hud02 import calling
from environments.hud02.api import text64
from environments.models import RuntimeSession
from environments.sessions import actions as sessions
from proctor.hud02.calls import BadCall, Call, expand_calls
from proctor.hud02.grading import reward_of
from proctor.hud02.returned import blocks_of, observation_of
from proctor.rollout.steps import Recorder, now, text_block
from proctor.wire.base import WireOut
from runs.actions import reports
from runs.actions.spans import prepare, record_spans
from runs.legacy import trajectory_of
from runs.models import TERMINAL, Job, Run
from runs.queries import jobs as job_queries
from runs.queries import runs as run_queries
from runs.queries import steps
from runs.render import name_of
from runs.spans import BadBatch, parse_batch
from web.bodies import parse_body, read_body
from web.errors import AppError, invalid, problem
from web.threads import in_reader, in_writer

MOST_RUNS = 1_000
B = TypeVar("B")


class JobIn(WireOut):
    name: str
    metadata: dict[str, Any] | None = None
    gym_id: str | None = None
    evalset_id: str | None = None


class ResetIn(WireOut):
    task_id: str | None = None
    setup: Any = None
    config: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


@endpoint("POST", scope="run")
def create_job(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    """A client that sends the same `Idempotency-Key` again gets the same job."""
    given = parse_body(request, JobIn)
    key = request.headers.get("Idempotency-Key")
    wire_id = str(uuid.uuid5(caller.team_id, f"hud02.job:{key}") if key else uuid.uuid4())
    job = reports.enter_job(caller, wire_id, name=given.name, group=1, taskset_id=given.evalset_id)
    return _job(job, given.metadata or {})


@endpoint("GET", scope="read")
def get_job(request: HttpRequest, caller: Caller, job_id: str) -> dict[str, Any]:
    return _job(job_queries.get_job(caller, job_id), {})


def _job(job: Job, metadata: Mapping[str, Any]) -> dict[str, Any]:
    status = job_queries.figures(job).state(job)
    return {"id": str(job.wire_id), "name": name_of(job), "metadata": dict(metadata), "created_at": job.created_at, "status": status}


@endpoint("GET", scope="read")
def list_trajectories(request: HttpRequest, caller: Caller, job_id: str) -> list[dict[str, Any]]:
    """Of at most 1,000 runs, as these clients do not page."""
    runs = run_queries.rows_of_job(job_queries.get_job(caller, job_id))[:MOST_RUNS]
    return [_trajectory(run) for run in runs]


def _trajectory(run: Run) -> dict[str, Any]:
    log = run_queries.log_of(run).decode(errors="replace") or None
    return {"id": str(run.wire_id), "reward": run.reward, "logs": log, "error": run.error, "trajectory": trajectory_of(steps.payloads_of(run))}


@async_endpoint("run")
async def reset(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    """Runs the setup and begins a task run. Raises AppError 422 when the setup fails."""
    session, given = await calling.find_open(caller, session_id), await in_reader(parse_body, request, ResetIn)
    asked = given.metadata.get("task_run_id") if given.metadata else None
    run = await in_writer(_begin, caller, session, asked or str(uuid.uuid4()), given.task_id)
    for call in _setup_calls(given):
        await _told(caller, session, run, call)
    return {"id": str(run.wire_id)}


def _setup_calls(given: ResetIn) -> list[Call]:
    """None when the task asks for nothing; a `config` is the one argument of `setup`."""
    try:
        return expand_calls(given.setup, "setup") if given.setup else [Call("setup", (given.config,))] if given.config else []
    except BadCall as error:
        raise invalid([problem("setup", str(error))]) from None


def _begin(caller: Caller, session: RuntimeSession, run_id: str, slug: str | None) -> Run:
    job_id = str(session.job_wire_id) if session.job_wire_id else None
    run = reports.enter_run(caller, run_id, job_id=job_id, slug=slug)
    RuntimeSession.objects.filter(id=session.id).update(run_wire_id=run.wire_id)
    return run


@async_endpoint("run")
async def invoke(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    """A function of the controller; what a task run does is one of its steps, and `evaluate` grades it."""
    session, body = await calling.find_open(caller, session_id), await in_reader(read_body, request)
    call, run = _call(body), await in_reader(_run_of, caller, session)
    done = [await _told(caller, session, run, inner) for inner in _unwrapped(call)]
    result = done[0].result if len(done) == 1 else [one.result for one in done]
    if run is not None and call.function.removeprefix("private_") == "evaluate":
        await in_writer(_grade, caller, run, result)
    stdout, stderr = b"".join(one.stdout for one in done), b"".join(one.stderr for one in done)
    return {"result": result, "stdout": text64(stdout), "stderr": text64(stderr)}


def _call(body: bytes) -> Call:
    try:
        return expand_calls(json.loads(body or b"{}"))[0]
    except (BadCall, ValueError, IndexError) as error:
        raise invalid([problem("function", str(error))]) from None


def _unwrapped(call: Call) -> list[Call]:
    """The client nests a task's calls in `setup` and `evaluate` for remote environments, and makes them as they are in local ones. Here they
    are always made as they are, so that one image serves both."""
    nested = [argument for argument in call.args if isinstance(argument, Mapping) and "function" in argument]
    if call.function not in ("setup", "evaluate") or not nested or len(nested) != len(call.args):
        return [call]
    try:
        return [inner for index, argument in enumerate(nested) for inner in expand_calls(argument, f"args[{index}]")]
    except BadCall as error:
        raise invalid([problem("args", str(error))]) from None


def _run_of(caller: Caller, session: RuntimeSession) -> Run | None:
    return Run.objects.filter(team_id=caller.team_id, wire_id=session.run_wire_id, source="reported").first() if session.run_wire_id else None


async def _told(caller: Caller, session: RuntimeSession, run: Run | None, call: Call) -> calling.Called:
    """The call, and its step when there is a run."""
    started_at, error = now(), None
    result: dict[str, Any] = {"content": [], "isError": True}
    try:
        done = await calling.invoke(session, call)
        result = {"content": _content(done.result), "isError": False}
        return done
    except AppError as failed:
        error = failed.message
        raise
    finally:
        if run is not None:
            recorder = Recorder(str(run.wire_id), _Spans(caller.team_id, run.id))  # type: ignore[arg-type]
            await recorder.record("tool", started_at=started_at, error=error, call=call.to_step(), result=result)


def _content(result: Any) -> list[dict[str, Any]]:
    """An observation as text and image, anything else as its JSON."""
    observation = observation_of(result)
    return [text_block(json.dumps(result, ensure_ascii=False))] if observation is None else blocks_of(observation)


@dataclass(frozen=True)
class _Spans:
    """A rollout's report for the steps of one outside run."""

    team_id: uuid.UUID
    run_id: uuid.UUID

    async def steps(self, spans: list[bytes]) -> None:
        await in_writer(_store, self.team_id, self.run_id, spans)


def _store(team_id: uuid.UUID, run_id: uuid.UUID, spans: list[bytes]) -> int:
    try:
        batch = parse_batch(b'{"telemetry":[' + b",".join(spans) + b"]}", max_span_bytes=settings.PROCTOR_LIMITS["span_bytes"])
    except BadBatch as error:
        raise invalid([problem("telemetry", str(error))]) from None
    return record_spans(run_id, 1, prepare(team_id, batch.spans), fence=False) if batch.spans else 0


def _grade(caller: Caller, run: Run, returned: Any) -> None:
    """No number: the run failed, with no reward."""
    try:
        score, parts = reward_of([returned])
        exit = reports.RunExit("completed", score, evaluation_text=json.dumps({"score": score, "info": {"parts": parts}}))
    except ValueError as error:
        exit = reports.RunExit("error", error=str(error), evaluation_text=json.dumps({"isError": True, "content": str(error)}))
    reports.exit_run(caller, str(run.wire_id), exit)


@endpoint("POST", scope="run")
def close(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    """May be repeated. A task run that was never graded ends with its environment."""
    session = sessions.get_session(caller, session_id)
    sessions.close_session(caller, session)
    run = _run_of(caller, session)
    if run is not None and run.state not in TERMINAL:
        reports.exit_run(caller, str(run.wire_id), reports.RunExit("completed"))
    return {}


class Telemetry(msgspec.Struct):
    metadata: dict[str, Any] = {}
    telemetry: list[msgspec.Raw] = []


@endpoint("POST", scope="run")
def upload_telemetry(request: HttpRequest, caller: Caller, task_run_id: str) -> dict[str, Any]:
    """Of `hud.trace`: each record is a step; the root trace's end ends the run. The same records again add nothing."""
    given = _body(request, Telemetry)
    run, _made = reports.ensure_run(caller, task_run_id)
    if run.source == "hosted":
        return {}
    _store(caller.team_id, run.id, [_span(run, record) for record in given.telemetry])
    if given.metadata.get("is_root") and run.state not in TERMINAL:
        reports.exit_run(caller, task_run_id, reports.RunExit("completed", metadata_text=json.dumps(given.metadata)))
    return {}


def _body(request: HttpRequest, shape: type[B]) -> B:
    try:
        return msgspec.json.decode(read_body(request, "telemetry_bytes") or b"{}", type=shape)
    except msgspec.DecodeError as error:
        raise invalid([problem("", str(error))]) from None


class _Record(msgspec.Struct):
    type: str = "mcp-step"
    start_timestamp: str | None = None
    end_timestamp: str | None = None
    metadata: dict[str, Any] = {}


def _span(run: Run, record: msgspec.Raw) -> bytes:
    """A step in HUD's present shape, known again by its content."""
    try:
        seen = msgspec.json.decode(record, type=_Record)
    except msgspec.ValidationError:  # of another shape: kept whole, with nothing read out of it
        seen = _Record()
    name = str(seen.metadata.get("mcp_method") or seen.type)
    call = {"name": name, "arguments": record, "id": name}
    is_error = bool(seen.metadata.get("mcp_is_error"))
    step = {"source": "tool", "call": call, "result": {"content": [], "isError": is_error}, "started_at": seen.start_timestamp, "ended_at": seen.end_timestamp}
    start = seen.start_timestamp or now()
    return msgspec.json.encode(
        {
            "name": "step.tool", "trace_id": run.wire_id.hex, "span_id": hashlib.sha256(run.wire_id.bytes + bytes(record)).hexdigest()[:16],
            "parent_span_id": None, "kind": "INTERNAL", "start_time": start, "end_time": seen.end_timestamp or start, "status_code": "ERROR" if is_error else "OK",
            "status_message": None, "attributes": {"hud.schema": "hud.step.v1", "hud.task_run_id": str(run.wire_id), "hud.payload": step}, "events": [],
        }
    )  # fmt: skip


class EnvironmentSteps(msgspec.Struct):
    steps: list[msgspec.Raw] = []


class EnvironmentTelemetry(msgspec.Struct):
    results: EnvironmentSteps = msgspec.field(default_factory=EnvironmentSteps)


@endpoint("POST", scope="run")
def upload_steps(request: HttpRequest, caller: Caller, session_id: str) -> dict[str, Any]:
    """What a client tells of an environment after the fact: steps of its run, which begins with them when `reset` did not. Again adds nothing."""
    session, given = sessions.get_session(caller, session_id), _body(request, EnvironmentTelemetry)
    run = _run_of(caller, session) or _begin(caller, session, str(session.id), None)
    _store(caller.team_id, run.id, [_span(run, record) for record in given.results.steps])
    return {}
