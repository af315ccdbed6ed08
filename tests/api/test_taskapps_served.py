"""Tasksets served as Task Apps: keys, walls, descriptions, and rollouts that wait for their run's end. With the real client and a real
worker: `tests/peers/test_synth.py`."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client
from django.utils import timezone

from accounts import throttle
from accounts.callers import Caller
from accounts.models import Membership
from proctor.rollout.plan import Failure, Outcome
from proctor.taskapp.reading import read_rollout
from proctor.taskapp.tasks import TaskInfo
from runs.actions import execution, workers
from runs.actions.spans import prepare, record_spans
from runs.models import Job, Run, SuppliedModel
from runs.planning import Able, plan_rollout
from runs.spans import parse_spans
from taskapps import keys, waiting
from taskapps.models import TaskAppKey
from tasksets.actions import upload
from tasksets.queries import resolve_reference
from tests.conftest import Person
from tests.support.jobs import a_taskset, ready_environment
from tests.support.tasksets import Api
from web.threads import in_reader, in_writer

MODEL_KEY = "sk-model-0123456789"
REPLY = {"choices": [{"logprobs": {"content": [{"token": "3", "logprob": -0.5}]}}]}
AGENT = {"source": "agent", "content": "3", "tool_calls": [], "done": True, "model": "m-1", "raw": REPLY, "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
CALL = {"id": "c1", "name": "add", "arguments": {"by": 1}}
USED = {"source": "agent", "content": "", "tool_calls": [CALL], "done": False, "model": "m-1"}
TOOL = {"source": "tool", "call": CALL, "result": {"content": [{"type": "text", "text": "count=1"}], "isError": False}}


@pytest.fixture(autouse=True)
def nobody_guessed() -> None:
    throttle._misses.clear()


@pytest.fixture
def served(ada: Caller) -> str:
    """The key of a taskset of 16 tasks in a ready environment."""
    ready_environment(ada)
    a_taskset(ada, "letters", 16)
    return new_key(ada)


def new_key(caller: Caller, taskset: str = "letters") -> str:
    return keys.create_key(caller, resolve_reference(caller, taskset).taskset, name="trainer").secret


def get(path: str, key: str | None, **headers: str) -> Any:
    return Client(headers={**({"X-API-Key": key} if key else {}), **headers}).get(f"/task-apps/{path}")


def request(**changes: Any) -> dict[str, Any]:
    policy = {"config": {"model": "m-1", "inference_url": "http://127.0.0.1:9/v1?cid=trace_1", "temperature": 0.5, "api_key": MODEL_KEY}}
    return {"run_id": "r-1", "mode": "rl", "env": {"seed": 1}, "policy": policy, "ops": ["agent", "env"] * 3, **changes}


# — keys


def test_keys_are_made_for_one_taskset_shown_once_and_revoked(ada: Caller, ada_key: str, served: str) -> None:
    api = Api(ada_key)
    made = api.client.post("/api/tasksets/letters/task-app-keys", {"name": "mine"}, content_type="application/json").json()
    assert made["secret"].startswith("ta_") and made["url"].endswith("/task-apps/letters")
    listed = api.get("/api/tasksets/letters/task-app-keys")
    assert [item["name"] for item in listed.json()["items"]] == ["mine", "trainer"] and made["secret"] not in listed.content.decode()
    assert get("letters/health", made["secret"]).status_code == 200
    revoked = api.client.delete(f"/api/tasksets/letters/task-app-keys/{made['key']['id']}").json()
    assert revoked["revoked_at"] and get("letters/health", made["secret"]).status_code == 401
    assert not TaskAppKey.objects.filter(sha256=made["secret"]).exists()


def test_keys_need_their_scopes_and_their_team(ada_key: str, cy_key: str, served: str) -> None:
    key = TaskAppKey.objects.get()
    cy = Api(cy_key)
    assert cy.get("/api/tasksets/letters/task-app-keys").status_code == 404
    assert cy.client.post("/api/tasksets/letters/task-app-keys", {"name": "x"}, content_type="application/json").status_code == 404
    assert cy.client.delete(f"/api/tasksets/letters/task-app-keys/{key.id}").status_code == 404
    assert Api(ada_key).client.delete(f"/api/tasksets/letters/task-app-keys/{uuid.uuid4()}").status_code == 404


@pytest.mark.parametrize("key", [None, "", "wrong", "a,b"])
def test_without_a_good_key_every_endpoint_but_the_root_is_401(served: str, key: str | None) -> None:
    for path in ("health", "info", "task_info", "task_info?seed=1"):
        reply = get(f"letters/{path}", key)
        assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert Client().post("/task-apps/letters/rollout", request(), content_type="application/json").status_code == 401
    assert get("letters", None).json() == {"status": "ok", "service": "letters"}


def test_guessing_is_slowed_down_and_a_good_key_is_always_let_in(served: str) -> None:
    assert [get("letters/health", "wrong").status_code for _ in range(11)] == [401] * 10 + [429]
    assert get("letters/health", served).status_code == 200


def test_the_root_tells_nothing_of_what_there_is(served: str) -> None:
    assert get("no-such-taskset", None).status_code == get("letters/", None).status_code == 200


def test_any_carrier_and_one_good_key_among_bad_ones_are_enough(served: str) -> None:
    for headers in ({"X-API-Key": f"bad,{served}"}, {"X-API-Keys": f"bad, {served}"}, {"Authorization": f"Bearer {served}"}):
        assert Client(headers=headers).get("/task-apps/letters/health").json() == {"healthy": True, "auth": {"required": True}}


def test_a_key_opens_no_other_taskset_and_no_other_team(ada: Caller, cy: Caller, served: str) -> None:
    a_taskset(ada, "others", 2)
    a_taskset(cy, "letters", 2)
    theirs = new_key(cy)
    assert get("others/info", served).status_code == 404
    assert get("letters/info", theirs).json()["dataset"]["cardinality"] == 2
    assert get("letters/info", served).json()["dataset"]["cardinality"] == 16
    assert Api(served).get("/api/tasksets").status_code == 401  # and it is no key of the API's


def test_a_key_is_worth_what_its_maker_may_still_do(ada_person: Person, served: str) -> None:
    membership = Membership.objects.get(user=ada_person.user)
    Membership.objects.filter(id=membership.id).update(role="viewer")
    assert get("letters/health", served).status_code == 200
    reply = Client(headers={"X-API-Key": served}).post("/task-apps/letters/rollout", request(), content_type="application/json")
    assert (reply.status_code, Run.objects.count()) == (403, 0)
    membership.delete()
    assert get("letters/health", served).status_code == 403


# — descriptions


def test_it_describes_itself_and_its_tasks(served: str) -> None:
    info = get("letters/info", served).json()
    assert (info["service"]["task"]["id"], info["dataset"]["cardinality"], info["rubrics"]) == ("letters", 16, None)
    assert get("letters/task_info", served).json()["taskset"]["size"] == 16
    one = get("letters/task_info?seed=3", served).json()
    assert TaskInfo.model_validate(one).task_metadata == {"seed": 3, "index": 3, "slug": "t03", "template": "count", "wrapped": False}
    many = get("letters/task_info?seeds=1&seeds=2&seed=9", served).json()
    assert [item["task_metadata"]["seed"] for item in many] == [9, 1, 2]
    assert "strawberry" not in json.dumps(many)  # what is asked, and answered, stays here


def test_c1_a_seed_beyond_the_last_wraps_and_says_so(served: str) -> None:
    metadata = get("letters/task_info?seed=37", served).json()["task_metadata"]
    assert (metadata["seed"], metadata["index"], metadata["wrapped"]) == (37, 5, True)


@pytest.mark.parametrize("query", ["seed=abc", "seed=-1", "seed=3.9", "seed=True", "&".join(["seed=1"] * 501), "seed=" + "9" * 400])
def test_bad_seeds_are_422(served: str, query: str) -> None:
    assert get(f"letters/task_info?{query}", served).status_code == 422


def test_more_fields_than_can_be_read_are_400(served: str) -> None:
    assert get("letters/task_info?" + "&".join(["seed=1"] * 1001), served).json()["error"]["code"] == "parse_error"


def test_an_empty_taskset_and_a_pinned_version_are_served_as_they_are(ada: Caller, served: str) -> None:
    upload(ada, name="letters", body=json.dumps({"tasks": [{"slug": "new", "env": {"name": "letters"}, "id": "count", "args": {}}]}).encode())
    assert get("letters@1/info", served).json()["dataset"]["cardinality"] == 16
    assert get("letters@1/task_info?seed=16", served).json()["task_metadata"]["slug"] == "t00"
    assert get("letters/task_info?seed=16", served).json()["task_metadata"]["slug"] == "new"


def test_many_instances_take_few_statements(served: str, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(12):
        assert len(get("letters/task_info?" + "&".join(f"seed={n}" for n in range(100)), served).json()) == 100


# — rollouts


def play(run_id: uuid.UUID, steps: list[dict[str, Any]], outcome: Outcome) -> None:
    """What a worker writes about a run."""
    workers.register("one", host="here", slots=4, version="0")
    Run.objects.filter(id=run_id).update(dispatched_until=timezone.now() + timedelta(seconds=30))
    assert execution.claim(run_id, 0, "one")
    spans = [
        {"span_id": f"{number:016x}", "name": f"step.{step['source']}", "start_time": "2026-11-30T15:00:00Z", "end_time": "2026-11-30T15:00:01Z",
         "attributes": {"hud.schema": "hud.step.v1", "hud.payload": {"step_id": number + 1, **step}}}
        for number, step in enumerate(steps)
    ]  # fmt: skip
    run = Run.objects.get(id=run_id)
    record_spans(run_id, 1, prepare(run.team_id, parse_spans([json.dumps(span).encode() for span in spans], max_span_bytes=100_000).spans), fence=True)
    execution.finish(run_id, 1, outcome)


async def the_run() -> Run:
    """As soon as it is there."""
    while (found := await in_reader(lambda: Run.objects.first())) is None:
        await asyncio.sleep(0.01)
    return found


def tell(story: Callable[[], Awaitable[None]]) -> None:
    """On a loop of its own, which ends with it: the tailer's too."""

    async def within() -> None:
        async with asyncio.timeout(30):
            await story()

    async_to_sync(within)()


def post(key: str, body: Any, path: str = "letters") -> Awaitable[Any]:
    return AsyncClient().post(f"/task-apps/{path}/rollout", body, content_type="application/json", headers={"X-API-Key": key})


GRADED = Outcome("completed", evaluation_text='{"score": 0.75}', stop_reason="done")
transactional = pytest.mark.django_db(transaction=True)


@transactional
@pytest.mark.parametrize("trace_format", ["structured", "full", "compact"])
def test_a_rollout_waits_for_its_run_and_answers_with_reward_steps_and_trace(served: str, trace_format: str) -> None:
    async def story() -> None:
        asked = request(record={"return_trace": True, "trace_format": trace_format, "logprobs": True})
        answer = asyncio.create_task(post(served, asked))  # type: ignore[arg-type]
        run = await the_run()
        assert not answer.done()
        await in_writer(play, run.id, [USED, TOOL, AGENT], GRADED)
        reply = await answer
        body = reply.json()
        assert reply.status_code == 200, body
        assert (body["run_id"], body["metrics"]["mean_return"], body["metrics"]["num_steps"], body["aborted"]) == ("r-1", 0.75, 2, False)
        first, last = body["trajectories"][0]["steps"]
        assert (first["tool_calls"], first["obs"], first["reward"]) == ([{"id": "c1", "tool_name": "add", "arguments": '{"by": 1}'}], {"results": ["count=1"]}, None)
        assert (last["reward"], last["done"], last["obs"]) == (0.75, True, {"answer": "3"})
        assert body["pipeline_metadata"]["inference_url"].endswith("?cid=trace_1") and last["info"]["meta"]["inference_url"].endswith("?cid=trace_1")
        assert body["trace_correlation_id"] == body["pipeline_metadata"]["trace_correlation_id"] == body["trajectories"][0]["trace_correlation_id"] == "trace_1"
        found = read_rollout(reply.content, run_id="r-1", correlation_id="trace_1")
        assert (found.flags, found.score(), found.envelope, len(found.turns)) == ([], 0.75, trace_format, 2)
        sample = body["trajectories"][0]["decision_samples"][1]
        assert (sample["tokens"], sample["logprobs"]) == (["3"], [-0.5])
        assert MODEL_KEY not in reply.content.decode()

    tell(story)


@transactional
def test_the_run_is_a_run_of_ours_at_the_callers_model(served: str, ada_person: Person) -> None:
    async def story() -> None:
        answer = asyncio.create_task(post(served, request(safety={"max_time_s": 30})))  # type: ignore[arg-type]
        run = await the_run()
        await in_reader(check, run.id)
        await in_writer(play, run.id, [AGENT], GRADED)
        assert (await answer).status_code == 200

    def check(run_id: uuid.UUID) -> None:
        _team, plan = plan_rollout(run_id, 1, Able(docker=True))
        assert plan.model is not None
        assert (plan.model.completions_url, plan.model.api_key) == ("http://127.0.0.1:9/v1/chat/completions?cid=trace_1", MODEL_KEY)
        assert plan.agent_config["completion_kwargs"] == {"temperature": 0.5} and plan.agent_config["max_steps"] == 3
        assert plan.deadlines.rollout_s == 30
        run = Run.objects.select_related("job").get(id=run_id)
        assert run.job is not None and run.job.taskset is not None and run.job.version is not None
        assert (run.slug, run.job.taskset.name, run.job.version.number) == ("t01", "letters", 1)
        assert MODEL_KEY not in SuppliedModel.objects.get().api_key_encrypted + str(run.agent_config) + str(run.job.agent_config)

    tell(story)


@transactional
def test_a_repeated_post_is_the_same_run_and_a_session_is_one_job(served: str) -> None:
    async def story() -> None:
        both = [asyncio.create_task(post(served, request(training_session_id="s"))) for _ in range(2)]  # type: ignore[arg-type]
        run = await the_run()
        await in_writer(play, run.id, [AGENT], GRADED)
        assert [(await one).status_code for one in both] == [200, 200]
        again = await post(served, request(training_session_id="s"))
        assert again.json()["metrics"]["details"]["run_id"] == str(run.wire_id)
        other = asyncio.create_task(post(served, request(training_session_id="s", run_id="r-2")))  # type: ignore[arg-type]
        while await in_reader(lambda: Run.objects.count()) < 2:
            await asyncio.sleep(0.01)
        newest = await in_reader(lambda: Run.objects.exclude(id=run.id).get())
        await in_writer(play, newest.id, [AGENT], GRADED)
        assert (await other).status_code == 200
        first, second = await in_reader(lambda: list(Run.objects.all()))
        assert first.group_id == second.group_id and await in_reader(lambda: Job.objects.count()) == 1

    tell(story)


@transactional
def test_a_failed_run_is_an_error_with_class_and_blame_and_no_zero(served: str) -> None:
    async def story() -> None:
        answer = asyncio.create_task(post(served, request()))  # type: ignore[arg-type]
        run = await the_run()
        await in_writer(play, run.id, [], Outcome("error", failure=Failure("model_http", "provider", "The model is down.")))
        reply = await answer
        error = reply.json()["error"]
        assert (reply.status_code, error["code"], error["details"]["failure_class"], error["details"]["blame"]) == (502, "rollout_failed", "model_http", "provider")

    tell(story)


@transactional
def test_a_client_that_goes_cancels_its_run_and_may_ask_again(served: str) -> None:
    async def story() -> None:
        answer = asyncio.create_task(post(served, request()))  # type: ignore[arg-type]
        run = await the_run()
        await asyncio.sleep(0.05)
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
        assert (await in_reader(lambda: Run.objects.get(id=run.id))).state == "cancelled"
        again = asyncio.create_task(post(served, request()))  # type: ignore[arg-type]
        while await in_reader(lambda: Run.objects.exclude(id=run.id).count()) < 1:
            await asyncio.sleep(0.01)
        newest = await in_reader(lambda: Run.objects.exclude(id=run.id).get())
        await in_writer(play, newest.id, [AGENT], GRADED)
        assert (await again).status_code == 200

    tell(story)


@transactional
def test_a_client_that_goes_takes_nothing_from_another_that_waits(served: str) -> None:
    async def story() -> None:
        one, other = (asyncio.create_task(post(served, request())) for _ in range(2))  # type: ignore[arg-type]
        run = await the_run()
        while waiting._waiting[run.id] < 2:
            await asyncio.sleep(0.01)
        one.cancel()
        await asyncio.gather(one, return_exceptions=True)
        await in_writer(play, run.id, [AGENT], GRADED)
        assert (await other).status_code == 200

    tell(story)


@transactional
def test_trajectories_are_left_out_when_not_wanted_and_metrics_stay(served: str) -> None:
    async def story() -> None:
        answer = asyncio.create_task(post(served, request(record={"trajectories": False})))  # type: ignore[arg-type]
        run = await the_run()
        await in_writer(play, run.id, [AGENT], Outcome("error", evaluation_text='{"score": 0.5}', stop_reason="max_steps"))
        body = (await answer).json()
        assert (body["trajectories"], body["trace"], body["metrics"]["mean_return"], body["aborted"]) == ([], None, 0.5, True)

    tell(story)


def test_a_full_house_is_429_and_starts_nothing(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MAX_OPEN", 0)
    reply = Client(headers={"X-API-Key": served}).post("/task-apps/letters/rollout", request(), content_type="application/json")
    assert (reply.status_code, reply.headers["Retry-After"], Run.objects.count()) == (429, "5", 0)


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"mode": None}, 422, "invalid"), ({"policy": {"config": {"model": "a\0b", "inference_url": "http://127.0.0.1:9"}}}, 422, "invalid"), ({"ops": ["teleport"]}, 422, "unknown_op"), ({"ops": ["agent", {"type": "env"}]}, 422, "invalid"),
        ({"safety": {"max_ops": -1}}, 422, "invalid"), ({"safety": {"max_time_s": 0}}, 422, "invalid"), ({"on_done": "explode"}, 422, "invalid"),
        ({"policy": {"config": {}}, "mode": "eval"}, 422, "invalid"), ({"policy": {"config": {"model": "m"}}}, 400, "missing_inference_url"),
        ({"policy": {"config": {"model": "m", "inference_url": "javascript:alert(1)"}}}, 422, "invalid"),
        ({"policy": {"config": {"model": "m", "inference_url": "file:///etc/passwd"}}}, 422, "invalid"), ({"env": {"seed": -3}}, 422, "invalid"),
        ({"policy": {"config": {"model": "none-serves-this"}}, "mode": "eval"}, 422, "invalid"), ({"env": {"seed": 1e30}}, 422, "invalid"),
    ],
)  # fmt: skip
def test_bad_rollouts_are_refused_before_anything_runs(served: str, changes: dict[str, Any], status: int, code: str) -> None:
    reply = Client(headers={"X-API-Key": served}).post("/task-apps/letters/rollout", request(**changes), content_type="application/json")
    assert (reply.status_code, reply.json()["error"]["code"], Run.objects.count()) == (status, code, 0), reply.content


def test_c1_a_rollout_without_a_mode_is_422_and_names_it(served: str) -> None:
    body = {key: value for key, value in request().items() if key != "mode"}
    reply = Client(headers={"X-API-Key": served}).post("/task-apps/letters/rollout", body, content_type="application/json")
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == "mode"


@pytest.mark.parametrize(("body", "status"), [(b"{", 400), (b'{"safety":{"max_time_s":NaN}}', 422), (b"[" * 100_000, 400), (b"\xff", 400), (b'{"run_id":"\\ud800"}', 400)])
def test_bodies_that_are_no_json_are_refused(served: str, body: bytes, status: int) -> None:
    assert Client(headers={"X-API-Key": served}).post("/task-apps/letters/rollout", body, content_type="application/json").status_code == status


def test_a_model_inside_is_for_keys_of_instance_admins(cy: Caller) -> None:
    ready_environment(cy)
    a_taskset(cy, "letters", 2)
    reply = Client(headers={"X-API-Key": new_key(cy)}).post("/task-apps/letters/rollout", request(), content_type="application/json")
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "private_address")


def test_other_methods_are_405_and_unknown_paths_404(served: str) -> None:
    client = Client(headers={"X-API-Key": served})
    assert (client.get("/task-apps/letters/rollout").status_code, client.post("/task-apps/letters/info").status_code) == (405, 405)
    assert client.get("/task-apps/letters/debug/env").status_code == 404
    assert client.head("/task-apps/letters").status_code == 200
    assert client.post("/task-apps/letters/done").json() == {"ok": True, "service": "letters"}
