"""Starting, submitting, changing and cancelling: what people and clients ask of hosted jobs and runs."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.audit import audit
from accounts.callers import Caller
from environments.models import EnvironmentVersion
from environments.queries import find_names, newest_ready
from gateway.queries import Route, find_patterns, resolve_model
from proctor.rollout.agents import HUD_AGENTS, MODEL_AGENTS, validate_agent
from proctor.rollout.taskrow import TaskFacts, read_task
from proctor.taskapp.secrets import take_out
from proctor.wire.errors import Problem
from proctor.wire.jobs import AgentIn, JobIn
from runs.actions.reports import ensure_job, place_in_job
from runs.models import ACTIVE, TERMINAL, Job, Run, SuppliedModel
from runs.queries.platform import why_no_hud_agents
from tasksets.queries import Pinned, VersionTask, iter_version_tasks, missing_slugs, resolve_reference
from web.crypto import decrypt_map, encrypt, encrypt_map
from web.errors import conflict, invalid, problem
from web.live import hint_after_commit

RUNS_A_BATCH = 500


@dataclass(frozen=True)
class JobPlan:
    """What a start would do. `tasks` are in the taskset's order; problems, when any, are all there are."""

    pinned: Pinned
    tasks: Sequence[VersionTask]
    facts: Sequence[TaskFacts]
    environments: dict[str, EnvironmentVersion]
    route: Route | None
    problems: Sequence[Problem] = field(default_factory=list)

    @property
    def is_remote(self) -> bool:
        """Every run is in a Task App: nothing of ours is started."""
        apps = [version.environment.kind == "task_app" for version in self.environments.values()]
        return bool(apps) and all(apps) and all(fact.image is None for fact in self.facts)

    def run_count(self, group: int) -> int:
        return len(self.tasks) * group


def plan_job(caller: Caller, given: JobIn) -> JobPlan:
    """Reads only. Raises AppError 404 for an unknown taskset; all else comes back as problems."""
    caller.require("run")
    pinned = resolve_reference(caller, given.taskset)
    if pinned.version is None:
        return JobPlan(pinned, [], [], {}, None, [problem("taskset", "has no tasks yet; upload some first", given.taskset)])
    unknown = missing_slugs(pinned.version, given.slugs) if given.slugs is not None else []
    problems = [problem("slugs", "is no task of this taskset", slug) for slug in unknown]
    tasks = list(iter_version_tasks(pinned.version, given.slugs)) if not unknown else []
    facts = [read_task(task.text) for task in tasks]
    environments, missing = _environments(caller.team_id, facts)
    problems += missing
    if not tasks and not problems:
        problems.append(problem("slugs", "names no task: a job needs at least one"))
    if len(tasks) * given.group > settings.PROCTOR_LIMITS["job_runs"]:
        problems.append(problem("group", f"a job has at most {settings.PROCTOR_LIMITS['job_runs']:,} runs; this would be {len(tasks) * given.group:,}"))
    route, more = _agent(caller.team_id, given.agent)
    return JobPlan(pinned, tasks, facts, environments, route, [*problems, *more, *_misfits(given.agent.type, environments)])


def _misfits(agent_type: str, environments: Mapping[str, EnvironmentVersion]) -> list[Problem]:
    """A Task App brings its policy along, so it takes that agent and no other."""
    wrong = [name for name, version in environments.items() if (version.environment.kind == "task_app") != (agent_type == "task_app")]
    rule = "is no Task App, so the agent task_app cannot work in it" if agent_type == "task_app" else "is a Task App, which brings its own policy: choose the agent task_app"
    return [problem("agent.type", f"environment '{name}' {rule}", agent_type) for name in wrong]


def _environments(team_id: uuid.UUID, facts: Iterable[TaskFacts]) -> tuple[dict[str, EnvironmentVersion], list[Problem]]:
    """The newest ready version per environment name that needs one; a task with its own image needs none."""
    found: dict[str, EnvironmentVersion] = {}
    missing: list[str] = []
    for name in dict.fromkeys(fact.env for fact in facts if fact.image is None):
        version = newest_ready(team_id, name)
        if version is None:
            missing.append(name)
        else:
            found[name] = version
    return found, [_unknown_environment(team_id, name) for name in missing]


def _unknown_environment(team_id: uuid.UUID, name: str) -> Problem:
    known = ", ".join(find_names(team_id)[:20]) or "none yet"
    return problem("env", f"there is no ready environment named '{name}' (ready ones: {known}); register it under Environments, or give the task runtime_config.image", name)


def _agent_problems(agent: AgentIn) -> list[Problem]:
    return [problem("agent", rule) for rule in validate_agent(agent.type, agent.config)]


def _agent(team_id: uuid.UUID, agent: AgentIn) -> tuple[Route | None, list[Problem]]:
    problems = _agent_problems(agent)
    model = agent.config.get("model")
    if not problems and agent.type == "task_app" and isinstance(model, str):
        return resolve_model(team_id, model), []
    if problems or agent.type not in MODEL_AGENTS:
        return None, problems
    if agent.type in HUD_AGENTS and (why := why_no_hud_agents()) is not None:
        return None, [problem("agent.type", why, agent.type)]
    if not isinstance(model, str) or not model:
        return None, [problem("agent.config.model", "must name a model", model)]
    route = resolve_model(team_id, model)
    if route is None:
        patterns = ", ".join(find_patterns(team_id)[:20]) or "none yet"
        return None, [problem("agent.config.model", f"no model endpoint serves '{model}' (patterns there are: {patterns}); add one under Models", model)]
    return route, []


def start_job(caller: Caller, given: JobIn, *, secrets: Mapping[str, str] | None = None) -> tuple[Job, bool]:
    """The job and its queued runs in one transaction; True when it was made now. Raises AppError 422 with every problem, 409 when the
    idempotency key was used for something else. Secrets of a policy are taken out of the config and kept encrypted; `secrets` are those of
    a config that was masked before."""
    digest = hashlib.sha256(given.model_dump_json().encode()).hexdigest()
    before = _made_before(caller, given.idempotency_key, digest)
    if before is not None:
        return before, False
    plan = plan_job(caller, given)
    if plan.problems:
        raise invalid(plan.problems)
    given, found = _without_secrets(given)
    job = _job_of(caller, given, plan, digest)
    job.secrets_encrypted = encrypt_map({**(secrets or {}), **found}) if secrets or found else ""
    try:
        with transaction.atomic():
            job.save(force_insert=True)
            for batch in _batches(_runs_of(job, plan, given)):
                Run.objects.bulk_create(batch)
            audit(caller, "job.start", "job", job.wire_id, taskset=plan.pinned.taskset.name, runs=plan.run_count(given.group))
            hint_after_commit()
    except IntegrityError:
        made = _made_before(caller, given.idempotency_key, digest)
        if made is None:
            raise
        return made, False
    return job, True


def _without_secrets(given: JobIn) -> tuple[JobIn, dict[str, str]]:
    if given.agent.type != "task_app":
        return given, {}
    config, found = take_out(given.agent.config)
    return given.model_copy(update={"agent": AgentIn(type="task_app", config=config)}), found


def _made_before(caller: Caller, idempotency_key: str | None, digest: str) -> Job | None:
    job = Job.objects.filter(team_id=caller.team_id, idempotency_key=idempotency_key).first() if idempotency_key else None
    if job is not None and job.plan_digest != digest:
        raise conflict(f"The idempotency key '{idempotency_key}' was used for another job", job_id=str(job.wire_id))
    return job


def _job_of(caller: Caller, given: JobIn, plan: JobPlan, digest: str) -> Job:
    model = given.agent.config.get("model")
    return Job(
        team_id=caller.team_id, project_id=plan.pinned.taskset.project_id, source="hosted", taskset=plan.pinned.taskset, version=plan.pinned.version,
        name=given.name or f"{plan.pinned.taskset.title} · {model or given.agent.type}"[:255], agent_type=given.agent.type,
        agent_config=json.dumps(given.agent.config), model=model if isinstance(model, str) else None, group=given.group, task_count=len(plan.tasks),
        max_concurrent=given.max_concurrent, rollout_timeout_s=given.rollout_timeout, idempotency_key=given.idempotency_key, plan_digest=digest,
        created_by=caller.label, user_id=caller.user_id, may_have_queued=True,
    )  # fmt: skip


def _runs_of(job: Job, plan: JobPlan, given: JobIn) -> Iterable[Run]:
    """Task-major, one group id per task."""
    now = timezone.now()
    for index, (task, fact) in enumerate(zip(plan.tasks, plan.facts, strict=True)):
        group_id = uuid.uuid4().hex
        version = plan.environments.get(fact.env) if fact.image is None else None
        config = json.dumps({**given.agent.config, **fact.agent_config})
        for repeat in range(given.group):
            yield Run(
                team_id=job.team_id, job=job, source="hosted", group_id=group_id, task_index=index, repeat=repeat, slug=task.slug, env=fact.env, task_id=fact.task_id,
                content_id=task.content_id, content_row_id=task.content_pk, environment_version=version, image=fact.image or (version.image if version else None),
                image_id=version.image_id if version else None, agent_type=given.agent.type, agent_config=config, model=job.model,
                model_endpoint_id=plan.route.endpoint_id if plan.route else None, rollout_timeout_s=given.rollout_timeout, changed_at=now,
            )  # fmt: skip


def _batches(runs: Iterable[Run]) -> Iterable[list[Run]]:
    batch: list[Run] = []
    for run in runs:
        batch.append(run)
        if len(batch) == RUNS_A_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


@dataclass(frozen=True)
class GivenModel:
    """A model that the caller serves: the whole address of chat completions, its key, and whether it may be inside."""

    url: str
    api_key: str = field(default="", repr=False)
    may_lead_inside: bool = False


@dataclass(frozen=True)
class Submission:
    """One hosted rollout as the HUD client submits it; `row_text` is the task as our content text."""

    trace_id: uuid.UUID
    job_id: uuid.UUID
    group_id: str | None
    parent_id: uuid.UUID | None
    slug: str | None
    row_text: str
    content_id: str
    agent: AgentIn
    model: GivenModel | None = None
    timeout_s: float | None = None
    of: Pinned | None = None
    """The taskset, when the server knows it."""
    job_name: str | None = None


def submit_run(caller: Caller, given: Submission) -> Run:
    """Idempotent on the trace id. Raises AppError 422 with every problem, environment first."""
    caller.require("run")
    before = Run.objects.filter(team_id=caller.team_id, wire_id=given.trace_id).first()
    if before is not None:
        return before
    fact = read_task(given.row_text)
    environments, problems = _environments(caller.team_id, [fact])
    config = {**given.agent.config, **fact.agent_config}
    agent = AgentIn(type=given.agent.type, config=config)
    route, more = (None, _agent_problems(agent)) if given.model else _agent(caller.team_id, agent)
    problems += [*more, *_misfits(agent.type, environments), *_open_secrets(agent)]
    if problems:
        raise invalid(problems)
    version = environments.get(fact.env)
    with transaction.atomic():
        job = _hosted_job(caller, given)
        run = Run(
            team_id=caller.team_id, job=job, wire_id=given.trace_id, source="hosted", group_id=given.group_id, parent_wire_id=given.parent_id, slug=given.slug or fact.task_id,
            env=fact.env, task_id=fact.task_id, task_text=given.row_text, content_id=given.content_id, environment_version=version,
            image=fact.image or (version.image if version else None), image_id=version.image_id if version else None, agent_type=given.agent.type,
            agent_config=json.dumps(config), model=route.model if route else (config.get("model") if given.model else None),
            model_endpoint_id=route.endpoint_id if route else None, rollout_timeout_s=_shortest(fact.wanted.run_timeout_s, given.timeout_s), changed_at=timezone.now(),
        )  # fmt: skip
        place_in_job(run, job)
        Run.objects.bulk_create([run], ignore_conflicts=True)
        if given.model is not None and Run.objects.filter(id=run.id).exists():
            _keep_model(run, given.model)
        hint_after_commit()
    return Run.objects.get(team_id=caller.team_id, wire_id=given.trace_id)


def _keep_model(run: Run, given: GivenModel) -> None:
    key = encrypt(given.api_key) if given.api_key else ""
    SuppliedModel.objects.create(run=run, url=given.url, api_key_encrypted=key, may_lead_inside=given.may_lead_inside)


def _shortest(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _open_secrets(agent: AgentIn) -> list[Problem]:
    """Only a job can keep secrets; its runs share them."""
    found = take_out(agent.config)[1] if agent.type == "task_app" else {}
    return [problem(f"agent.config.{path}", "is a secret: start a job of a taskset, which keeps it encrypted") for path in (key.replace("\0", ".") for key in found)]


def _hosted_job(caller: Caller, given: Submission) -> Job:
    facts: dict[str, Any] = {"name": (given.job_name or given.slug or "job")[:255]}
    if given.of is not None:
        facts |= {"taskset": given.of.taskset, "version": given.of.version}
    job = ensure_job(caller, given.job_id, facts, source="hosted")
    model = given.agent.config.get("model")
    agent = {"agent_type": given.agent.type, "agent_config": json.dumps(given.agent.config), "model": model if isinstance(model, str) else None}
    Job.objects.filter(id=job.id).update(source="hosted", may_have_queued=True, **agent)
    return job


def cancel_runs(caller: Caller, runs: Q) -> int:
    """Ends what is not terminal: queued and outside runs at once; what a worker holds is asked to stop (seen within 1 s). Asking comes
    first, so that a run which changes hands meanwhile is cancelled by whoever lets go of it."""
    caller.require("run")
    now = timezone.now()
    mine = Run.objects.filter(runs, team_id=caller.team_id).exclude(state__in=TERMINAL)
    changed = {"revision": F("revision") + 1, "changed_at": now}
    with transaction.atomic():
        asked = mine.update(cancel_requested_at=Coalesce("cancel_requested_at", now), **changed)
        mine.filter(Q(state="queued") | Q(source="reported")).update(state="cancelled", counted="cancelled", reward=None, ended_at=now, dispatched_until=None)
        hint_after_commit()
    return asked


def cancel_run(caller: Caller, run: Run) -> int:
    with transaction.atomic():
        cancelled = cancel_runs(caller, Q(id=run.id))
        if cancelled:
            audit(caller, "run.cancel", "run", run.wire_id)
    return cancelled


def cancel_job(caller: Caller, job: Job) -> int:
    with transaction.atomic():
        cancelled = cancel_runs(caller, Q(job_id=job.id))
        if cancelled:
            Job.objects.filter(id=job.id, cancel_requested_at=None).update(cancel_requested_at=timezone.now())
            audit(caller, "job.cancel", "job", job.wire_id, runs=cancelled)
    return cancelled


def cancel_team_jobs(caller: Caller) -> list[tuple[Job, int]]:
    """The caller's own jobs with open runs, each with how many runs it ended."""
    open_jobs = Job.objects.filter(team_id=caller.team_id, user_id=caller.user_id, runs__state__in=["queued", *ACTIVE]).distinct()
    return [(job, cancelled) for job in open_jobs if (cancelled := cancel_job(caller, job))]


def change_job(caller: Caller, job: Job, *, name: str | None, archived: bool | None) -> Job:
    caller.require("run")
    with transaction.atomic():
        if name is not None:
            job.name = name
        if archived is not None:
            job.archived_at = timezone.now() if archived else None
        job.save(update_fields=["name", "archived_at"])
        audit(caller, "job.change", "job", job.wire_id, name=name, archived=archived)
        hint_after_commit()
    return job


def run_again(caller: Caller, job: Job) -> Job:
    """A new job of the same plan: version, tasks, agent, repeats, limits. Raises AppError 409 for outside jobs and loose tasks."""
    if job.source != "hosted" or job.version is None or job.taskset is None or job.agent_type is None:
        raise conflict("Only a job started from a taskset here can be run again")
    slugs = list(dict.fromkeys(Run.objects.filter(job=job).order_by("task_index", "repeat").values_list("slug", flat=True)))
    given = JobIn(
        taskset=f"{job.taskset_id}@{job.version.number}", slugs=[slug for slug in slugs if slug] if len(slugs) < job.version.task_count else None,
        agent=AgentIn(type=job.agent_type, config=json.loads(job.agent_config or "{}")), group=job.group, max_concurrent=job.max_concurrent,
        rollout_timeout=job.rollout_timeout_s, name=job.name,
    )  # fmt: skip
    return start_job(caller, given, secrets=decrypt_map(job.secrets_encrypted))[0]


