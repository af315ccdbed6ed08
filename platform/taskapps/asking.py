"""From a Task App's rollout request to a run of ours: the seed chooses the task, the policy becomes an agent, its inference URL the model.

The same request twice is one run, since clients repeat what failed: the run's id is made of the key, the caller's `run_id` and the request.
Only after a cancelled one is there another. Raises AppError 400, 422.
"""

from __future__ import annotations

import hashlib
import itertools
import uuid
from typing import Any

from gateway.addresses import private_refusal
from proctor.addresses import leads_inside
from proctor.taskapp.damage import clean
from proctor.taskapp.inference import normalise_inference_url
from proctor.taskapp.rollouts import RolloutMode, RolloutRequest
from proctor.wire.jobs import AgentIn
from runs.actions.jobs import GivenModel, Submission
from runs.models import Run
from taskapps.models import TaskAppKey
from tasksets.queries import Pinned, VersionTask
from web.errors import AppError, invalid, problem

SAMPLING = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "presence_penalty", "frequency_penalty", "reasoning_effort")
OPS = frozenset({"agent", "env"})
DEFAULT_TURNS, MAX_TURNS, MAX_TIME_S = 10, 1_000, 3_600.0


def submission_of(key: TaskAppKey, pinned: Pinned, task: VersionTask, request: RolloutRequest) -> Submission:
    agent, model = _agent(request), _model(key, request)
    job_id = uuid.uuid5(key.id, f"job:{request.training_session_id or 'calls'}:{pinned.version.digest if pinned.version else ''}")
    return Submission(
        trace_id=run_id_of(key, request), job_id=job_id, group_id=uuid.uuid5(job_id, task.slug).hex, parent_id=None, slug=task.slug, row_text=task.text,
        content_id=task.content_id, agent=agent, model=model, timeout_s=min(request.safety.max_time_s, MAX_TIME_S), of=pinned,
        job_name=clean(f"{pinned.taskset.title} · Task App {request.training_session_id or key.name}"),
    )  # fmt: skip


def run_id_of(key: TaskAppKey, request: RolloutRequest) -> uuid.UUID:
    """The key's id and the caller's, and what was asked, in one; the first that was not cancelled."""
    digest = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
    ids = (uuid.uuid5(key.id, f"run:{number}:{request.run_id}:{digest}") for number in itertools.count())
    return next(one for one in ids if not Run.objects.filter(team_id=key.team_id, wire_id=one, state="cancelled").exists())


def _agent(request: RolloutRequest) -> AgentIn:
    policy, kinds = request.policy.config, request.op_kinds()
    unknown = sorted({kind for kind in kinds if kind not in OPS})
    if unknown:
        raise AppError("unknown_op", 422, f"ops are `agent` and `env`, not {', '.join(map(repr, unknown[:5]))}", ops=unknown[:20])
    model = policy.get("model")
    if not isinstance(model, str) or not 0 < len(model) <= 255 or not model.isprintable():
        raise invalid([problem("policy.config.model", "must name a model, in 1-255 printable characters")])
    sampling: dict[str, Any] = {name: policy[name] for name in SAMPLING if policy.get(name) is not None}
    if request.record.logprobs:
        sampling["logprobs"] = True
    config: dict[str, Any] = {"model": model, "max_steps": _turns(request, kinds), "completion_kwargs": sampling}
    return AgentIn(type="openai_compatible", config=config | ({"system_prompt": policy["system_prompt"]} if isinstance(policy.get("system_prompt"), str) else {}))


def _turns(request: RolloutRequest, kinds: list[str]) -> int:
    """Model calls that the program and the limits leave; an empty program leaves the choice to us."""
    asked = kinds.count("agent") if kinds else DEFAULT_TURNS
    return max(1, min(asked, (request.safety.max_ops + 1) // 2, MAX_TURNS))


def _model(key: TaskAppKey, request: RolloutRequest) -> GivenModel | None:
    """What the caller serves; None for a model of the team's, which training may not use: it must call the very URL it was given."""
    policy = request.policy.config
    given = policy.get("inference_url")
    if not given:
        if request.mode is RolloutMode.RL:
            raise AppError("missing_inference_url", 400, "policy.config.inference_url is required in rl mode")
        return None
    try:
        url = normalise_inference_url(str(given))
    except ValueError as error:
        raise invalid([problem("policy.config.inference_url", str(error))]) from None
    if len(url) > 2000:
        raise invalid([problem("policy.config.inference_url", "must have at most 2,000 characters")])
    if not key.by_instance_admin and leads_inside(url):
        raise private_refusal(url.split("/")[2])
    api_key = policy.get("api_key")
    return GivenModel(url, api_key if isinstance(api_key, str) else "", key.by_instance_admin)
