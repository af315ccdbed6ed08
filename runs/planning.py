"""From a claimed run's rows to the engine's plain values (`RolloutPlan`): which sandbox, which model, which deadlines."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass

import msgspec
from django.conf import settings

from accounts.actions import run_token
from accounts.queries import public_url
from environments.models import EnvironmentVersion
from environments.queries import newest_ready
from environments.sandboxes import docker_spec
from environments.task_apps import target_of
from gateway.addresses import refuse_private
from gateway.queries import Route, route_by_id
from proctor.rollout.plan import Failure, ModelRoute, RolloutPlan, SandboxSpec, TaskAppRoute
from proctor.rollout.taskrow import TaskFacts, deadlines_for, read_task
from proctor.taskapp.secrets import put_back
from runs.models import Run, SuppliedModel
from runs.queries.jobs import text_of
from web.crypto import decrypt, decrypt_map
from web.errors import AppError

EXPIRY_MARGIN_S = 900


class CannotRun(Exception):
    """The run fails before it starts; `failure` says why and whose it is."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Able:
    """What this worker can start."""

    docker: bool
    why_no_docker: str = ""


def plan_rollout(run_id: uuid.UUID, attempt: int, able: Able) -> tuple[uuid.UUID, RolloutPlan]:
    """Reads what a claimed run needs: its team and its plan. Raises CannotRun."""
    run = Run.objects.select_related("environment_version__environment", "environment_version__task_app", "content_row", "job", "supplied_model").get(id=run_id)
    text = text_of(run)
    if not text:
        raise CannotRun(Failure("task", "task", "The task's content was purged; there is nothing to run"))
    task = read_task(text)
    deadlines = deadlines_for(task, run.rollout_timeout_s, agent_config(run))
    task_app = task_app_route(run, task, attempt)
    sandbox = SandboxSpec("remote") if task_app else sandbox_of(run.environment_version, run.image, task, able)
    plan = RolloutPlan(
        run_id=str(run.wire_id), attempt=attempt, env=task.env, task_id=task.task_id, args_text=task.args_text, slug=run.slug, columns_text=task.columns_text,
        agent_type=run.agent_type or "noop", agent_config=agent_config(run), sandbox=sandbox, model=None if task_app else model_route(run), task_app=task_app,
        verifier_text=task.verifier_text, verifier_sandbox=verifier_sandbox(run, task, able), deadlines=deadlines,
        labels={
            "proctor.instance": settings.PROCTOR_INSTANCE, "proctor.run": str(run.id), "proctor.attempt": str(attempt),
            "proctor.expiry": str(int(time.time() + deadlines.rollout_s + EXPIRY_MARGIN_S)),
        },
    )  # fmt: skip
    return run.team_id, plan


def agent_config(run: Run) -> dict[str, object]:
    config: dict[str, object] = msgspec.json.decode(run.agent_config or "{}")
    return config


def task_app_route(run: Run, task: TaskFacts, attempt: int) -> TaskAppRoute | None:
    """The Task App of the run's environment, with its key and the policy whole; None for every other kind."""
    version = run.environment_version
    app = getattr(version, "task_app", None) if task.image is None else None
    if app is None:
        return None
    if task.verifier_text is not None:
        raise CannotRun(Failure("task", "task", "A Task App grades its own rollouts: its tasks have no verifier"))
    target = target_of(app)
    secrets = decrypt_map(run.job.secrets_encrypted) if run.job else {}
    config = put_back(agent_config(run), secrets)
    policy = {**({"model": run.model} if run.model else {}), **config.get("policy", {})}
    hidden = [target.key, *secrets.values()]
    if run.model_endpoint_id is not None and "inference_url" not in policy:
        token = run_token(run.team_id, run.id, attempt)
        policy |= {"inference_url": f"{public_url()}/gateway/v1", "api_key": token}
        hidden.append(token)
    return TaskAppRoute(target.url, target.key, target.public_only, policy, [text for text in hidden if text])


def model_route(run: Run) -> ModelRoute | None:
    supplied = getattr(run, "supplied_model", None)
    if supplied is not None and run.model is not None:
        return _supplied_route(supplied, run.model)
    if run.model_endpoint_id is None or run.model is None:
        return None
    route = route_by_id(run.model_endpoint_id, run.model)
    if route is None:
        raise CannotRun(Failure("model_http", "provider", f"The model endpoint that served '{run.model}' was deleted after this run was submitted"))
    if not route.may_lead_inside:
        _refuse_private(route)
    return _as_model_route(route)


def _supplied_route(supplied: SuppliedModel, model: str) -> ModelRoute:
    if not supplied.may_lead_inside:
        _refuse_inside(supplied.url)
    key = decrypt(supplied.api_key_encrypted) if supplied.api_key_encrypted else ""
    return ModelRoute(model=model, base_url=supplied.url, api_key=key, completions_url=supplied.url)


def _refuse_private(route: Route) -> None:
    _refuse_inside(route.base_url)


def _refuse_inside(url: str) -> None:
    """A name may point elsewhere than when the endpoint was made."""
    try:
        refuse_private(url)
    except AppError as error:
        raise CannotRun(Failure("model_http", "provider", error.message)) from None


def _as_model_route(route: Route) -> ModelRoute:
    return ModelRoute(model=route.model, base_url=route.base_url, api_key=route.api_key, headers=dict(route.headers))


def sandbox_of(version: EnvironmentVersion | None, image: str | None, task: TaskFacts, able: Able) -> SandboxSpec:
    """A container whenever there is an engine; a plain process for the shipped sample alone."""
    sample = version is not None and version.environment.is_sample and task.image is None
    if able.docker and image:
        return docker_spec(version, image, task.wanted)
    if sample and version is not None and version.command:
        return SandboxSpec(kind="subprocess", command=tuple(version.command))
    if not able.docker:
        raise CannotRun(Failure("environment_start", "platform", f"There is no Docker engine here, and only shipped samples may run without a container. {able.why_no_docker}".strip()))
    raise CannotRun(Failure("image_missing", "environment", f"Environment '{task.env}' has no image"))


def verifier_sandbox(run: Run, task: TaskFacts, able: Able) -> SandboxSpec | None:
    """None when the verifier shares the run's sandbox: same environment and no runtime config of its own."""
    if task.verifier_text is None:
        return None
    verifier = read_task(task.verifier_text)
    if verifier.env == task.env and verifier.image is None:
        return None
    version = newest_ready(run.team_id, verifier.env) if verifier.image is None else None
    if version is None and verifier.image is None:
        raise CannotRun(Failure("image_missing", "task", f"The verifier's environment '{verifier.env}' is not registered"))
    return sandbox_of(version, verifier.image or (version.image if version else None), verifier, able)


