"""Jobs and runs: what is asked for, and what came of it."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from .base import RawJson, WireIn, WireOut
from .errors import Problem

RunState = Literal["queued", "provisioning", "running", "grading", "completed", "error", "cancelled"]
JobState = Literal["queued", "running", "cancelled", "completed"]
Counted = Literal["graded", "failed", "cancelled", "pending"]
Blame = Literal["agent", "environment", "grader", "provider", "task", "platform"]


class AgentIn(WireIn):
    type: str = Field(description="`openai_compatible`, HUD's own `claude`, `openai`, `gemini`, `claude_cli`, `codex_cli`, `replay`, `noop`, or `task_app` for tasks of a Task App.")
    config: dict[str, Any] = {}


class JobIn(WireIn):
    """`POST /api/jobs`: every named task times `group`, each in a fresh environment."""

    taskset: str = Field(description="Reference: name or id, optionally `name@3` or `name@sha256:…`.")
    slugs: list[str] | None = Field(default=None, description="Only these tasks; all when absent. Unknown ones are refused, all named.")
    agent: AgentIn
    group: int = Field(default=1, ge=1, le=1000, description="Repeats of each task.")
    max_concurrent: int | None = Field(default=None, ge=1, le=10_000)
    rollout_timeout: float | None = Field(default=None, gt=0, le=86_400, description="Seconds for one run; 3,600 when absent.")
    name: str | None = Field(default=None, max_length=255)
    idempotency_key: str | None = Field(default=None, max_length=200, description="The same key again answers the same job.")


class JobChange(WireIn):
    name: str | None = Field(default=None, min_length=1, max_length=255)
    archived: bool | None = None


class Counts(WireOut):
    """Promise 2: expected = graded + failed + cancelled + pending, always."""

    expected: int
    graded: int
    failed: int
    cancelled: int
    pending: int
    running: int = Field(description="The part of pending that a worker holds.")
    queued: int


class JobOut(WireOut):
    id: str
    name: str
    source: Literal["hosted", "reported"] = Field(description="`reported`: run elsewhere by an SDK and told to us.")
    state: JobState
    counts: Counts
    mean_reward: float | None = Field(description="Over graded runs; null when none is graded.")
    pass_rate: float | None = Field(description="Share of graded runs with reward ≥ 1.")
    taskset: "TasksetRef | None"
    agent_type: str | None
    model: str | None
    agent_config: dict[str, Any] | None = None
    group: int
    task_count: int
    max_concurrent: int | None
    rollout_timeout_s: float | None
    sandbox: str | None = Field(default=None, description="`docker`, `subprocess` (unsandboxed), `remote` (in a Task App) or null for reported jobs and before the first run.")
    created_by: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    archived_at: datetime | None
    cancel_requested_at: datetime | None
    failures: list["FailureGroup"] = []


class TasksetRef(WireOut):
    id: str
    name: str
    version_id: str | None
    version_number: int | None
    digest: str | None
    task_count: int | None = Field(default=None, description="Of that version; a job with fewer tasks ran a part of it.")


class FailureGroup(WireOut):
    """Failed runs of a job merged by class and first line."""

    failure_class: str
    blame: Blame | None
    message: str
    count: int
    example_run_ids: list[str]


class RunRow(WireOut):
    """A run's whole state: a cell of the matrix and a live message alike (`revision` grows with each change)."""

    id: str
    revision: int
    task_index: int | None = Field(description="Row of the matrix, from 0.")
    repeat: int = Field(description="Column of the matrix, from 0.")
    slug: str | None
    group_id: str | None
    state: RunState
    counted: Counted
    reward: float | None
    failure_class: str | None
    blame: Blame | None
    error: str | None = Field(description="First 300 characters.")
    attempt: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    total_tokens: int | None
    cost_usd: float | None
    step_count: int


class TaskResult(RunRow):
    """A run of one task, in any job on its taskset."""

    job_id: str
    job_name: str
    version_number: int | None = Field(description="Of the taskset, as the job pinned it.")
    model: str | None
    agent_type: str | None
    is_same_content: bool | None = Field(description="Whether it ran what the task holds in the version asked for; null when that is not known.")


class MatrixTask(WireOut):
    task_index: int
    slug: str | None
    prompt: str = Field(description="The first 160 characters of the args' text, for people.")


class Matrix(WireOut):
    """`GET /api/jobs/{id}/matrix`: the snapshot that the live job page starts from."""

    job: JobOut
    tasks: list[MatrixTask]
    runs: list[RunRow]
    seq: str = Field(description="Subscribe to `job:<id>` with `after` = this.")


class RunOut(RunRow):
    """`GET /api/runs/{id}`: everything about one run but its steps."""

    job_id: str | None
    job_name: str | None
    source: Literal["hosted", "reported"]
    env: str | None
    task_id: str | None
    args: RawJson | None
    columns: RawJson | None
    model: str | None
    agent_type: str | None
    agent_config: dict[str, Any] | None
    stop_reason: str | None
    evaluation: RawJson | None = Field(description="The grade frame, as the grader gave it.")
    full_error: str | None
    taskset: TasksetRef | None
    content_id: str | None
    environment_id: str | None
    environment_version: int | None
    image: str | None
    image_id: str | None
    sandbox: str | None
    container_id: str | None
    exit_code: int | None
    phase: str | None = Field(description="What the worker is doing: `starting`, `waiting for the model`, …")
    worker: str | None
    heartbeat_at: datetime | None = Field(description="When the worker last renewed its hold on this run.")
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    log_bytes: int
    last_seq: int
    siblings: list[RunRow] = Field(default=[], description="The other repeats of the same task in the job.")


class Step(WireOut):
    """One span as the page shows it; `payload` is the `hud.step.v1` object, text as stored."""

    seq: int
    span_id: str
    attempt: int
    schema_tag: str | None = Field(description="`hud.step.v1`, …; null for plain spans.")
    kind: str = Field(description="task, user, agent, tool, subagent, system, or the span's name.")
    step_id: int | None
    name: str
    started_at: datetime | None
    ended_at: datetime | None
    status: str | None
    error: str | None
    payload: Any = Field(description="The step's object; images over 32 kB are `{\"type\":\"blob\",\"sha256\":…,\"mime_type\":…,\"size_bytes\":…}`, fetched from `/api/blobs/{sha256}`.")


class Steps(WireOut):
    """`GET /api/runs/{id}/steps?after=<seq>&limit=`: in seq order."""

    items: list[Step]
    next_after: int | None
    last_seq: int
    total: int


class JobPlanOut(WireOut):
    """`POST /api/jobs/plan`: what a start would do. With problems a start is refused."""

    runs: int
    tasks: int
    sandbox: str | None = Field(description="`docker`, `subprocess` (unsandboxed; shipped samples only), `remote` (in a Task App), or null while no worker is up.")
    sandbox_note: str = Field(description="The same in a sentence; empty when there is nothing to say.")
    problems: list[Problem]


class WorkerOut(WireOut):
    id: str
    host: str
    slots: int
    busy: int
    heartbeat_at: datetime
    sandbox: str | None
    sandbox_note: str
    hud_version: str | None = Field(description="The release of HUD's package whose agents it can run; null while it can't.")
    hud_note: str = Field(description="Why it can't; empty while that is not known.")


class WorkersOut(WireOut):
    """Workers that were heard of in the last 30 s."""

    items: list[WorkerOut]


class LastJob(WireOut):
    """The newest job of a taskset."""

    taskset_id: str
    id: str
    name: str
    mean_reward: float | None
    created_at: datetime


class LastJobs(WireOut):
    """`GET /api/last-jobs`: one for each taskset that has any."""

    items: list[LastJob]


class CancelOut(WireOut):
    cancelled: int = Field(description="Runs that were not terminal and are now ended or asked to end.")
