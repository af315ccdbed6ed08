"""Any taskset as a Task App under `/task-apps/{taskset}`: five endpoints, async, for the taskset's own keys.

`POST /rollout` submits a run and waits for its end; a client that goes cancels it. Parse, call, render; the rest is in `describing`, `asking`,
`answering` and `waiting`.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from pydantic import ValidationError

from accounts import throttle
from accounts.callers import Caller
from proctor.rollout.patience import finish
from proctor.taskapp.auth import given_keys
from proctor.taskapp.encode import to_json
from proctor.taskapp.rollouts import RolloutRequest
from runs.actions.jobs import cancel_runs, submit_run
from runs.models import Run
from taskapps import describing
from taskapps.answering import response_of
from taskapps.asking import submission_of
from taskapps.keys import caller_of_key, key_among
from taskapps.models import TaskAppKey
from taskapps.waiting import is_awaited, room, until_ended
from tasksets.queries import Pinned, resolve_reference
from web.bodies import read_body
from web.errors import AppError, invalid, not_found, path_text, problem, unauthorized
from web.threads import in_reader, in_writer


@dataclass(frozen=True)
class Entered:
    """A request that showed a good key of this taskset."""

    key: TaskAppKey
    caller: Caller
    pinned: Pinned


def enter(request: HttpRequest, reference: str) -> Entered:
    """Raises AppError 403 when the key's maker has left the team, 401 without a good key (429 after ten of one address; a good one is always let in), 404 when the key is for another taskset."""
    key = key_among(given_keys({name.lower(): value for name, value in request.headers.items()}))
    if key is None:
        guesser = f"task-app:{request.META.get('REMOTE_ADDR')}"
        throttle.check(guesser)
        throttle.miss(guesser)
        raise unauthorized("The API key is missing, wrong or revoked: send a key of this taskset as X-API-Key")
    caller = caller_of_key(key)
    caller.require("read")
    pinned = resolve_reference(caller, reference)
    if pinned.taskset.id != key.taskset_id:
        raise not_found("Taskset")
    return Entered(key, caller, pinned)


def reading(view: Callable[[HttpRequest, Entered], Any]) -> Callable[..., Any]:
    """A GET whose work is in a reader's thread."""

    def work(request: HttpRequest, reference: str) -> HttpResponseBase:
        return _json(view(request, enter(request, reference)))

    async def answer(request: HttpRequest, reference: str) -> HttpResponseBase:
        _only(request, "GET", "HEAD")
        return await in_reader(work, request, reference)

    return answer


async def root(request: HttpRequest, reference: str) -> HttpResponseBase:
    """Without a key: says that somebody serves, the same for every name, so that it tells nothing of what there is."""
    _only(request, "GET", "HEAD")
    return _json({"status": "ok", "service": reference})


@reading
def health(request: HttpRequest, entered: Entered) -> Any:
    return {"healthy": True, "auth": {"required": True}}


@reading
def info(request: HttpRequest, entered: Entered) -> Any:
    return describing.info(entered.pinned)


@reading
def task_info(request: HttpRequest, entered: Entered) -> Any:
    seeds = describing.seeds_of([*request.GET.getlist("seed"), *request.GET.getlist("seeds")])
    if not seeds:
        return {"taskset": describing.taskset_of(entered.pinned)}
    found = describing.instances(entered.pinned, seeds)
    return found[0] if len(found) == 1 else found


@csrf_exempt
async def done(request: HttpRequest, reference: str) -> HttpResponseBase:
    """A signal that there is nothing to do for."""
    _only(request, "POST")
    entered = await in_reader(enter, request, reference)
    return _json({"ok": True, "service": entered.pinned.taskset.name})


@csrf_exempt
async def rollout(request: HttpRequest, reference: str) -> HttpResponseBase:
    _only(request, "POST")
    entered, asked = await in_reader(_read, request, reference)
    with room():
        run_id = await in_writer(_submit, entered, asked)
        try:
            await until_ended(run_id)
        except asyncio.CancelledError:
            if not is_awaited(run_id):
                await finish(in_writer(cancel_runs, entered.caller, Q(id=run_id)))
            raise
        return _json(await in_reader(_answer, run_id, asked))


def _read(request: HttpRequest, reference: str) -> tuple[Entered, RolloutRequest]:
    entered = enter(request, reference)
    try:
        value = json.loads(read_body(request, "telemetry_bytes"), parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
        return entered, RolloutRequest.model_validate(value)
    except ValidationError as error:
        raise invalid([problem(path_text(item["loc"]), item["msg"]) for item in error.errors(include_url=False, include_input=False)]) from None
    except (ValueError, RecursionError) as error:
        raise AppError("bad_json", 400, f"The body is not JSON: {error}") from None


def _refuse(name: str) -> None:
    raise invalid([problem("", f"{name} is no number that JSON has")])


def _submit(entered: Entered, asked: RolloutRequest) -> uuid.UUID:
    task = describing.task_of(entered.pinned, asked.env.seed)
    return submit_run(entered.caller, submission_of(entered.key, entered.pinned, task, asked)).id


def _answer(run_id: uuid.UUID, asked: RolloutRequest) -> dict[str, Any]:
    return response_of(Run.objects.select_related("job").get(id=run_id), asked)


def _only(request: HttpRequest, *methods: str) -> None:
    if request.method not in methods:
        raise AppError("method_not_allowed", 405, f"{request.method} is not served here", headers={"Allow": ", ".join(methods)})


def _json(value: Any) -> HttpResponse:
    return HttpResponse(to_json(value), content_type="application/json")
