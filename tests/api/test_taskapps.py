"""Others' Task Apps as environments: registered, asked, validated, pulled from, and run by jobs, with walls between teams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.callers import Caller
from accounts.models import AuditEvent
from environments import task_apps
from environments.models import Environment, TaskApp
from gateway.actions import create_endpoint
from proctor.rollout.engine import run_rollout
from runs.actions import workers
from runs.actions.jobs import run_again
from runs.models import Job, Run
from runs.planning import Able, CannotRun, plan_rollout
from tests.support.fake_task_app import KEY, FakeTaskApp, Says, fake_task_app, recorded, well
from tests.support.jobs import ready_environment
from tests.support.rollouts import Collected

POLICY_KEY = "sk-policy-0123456789"


@pytest.fixture
def peer() -> Iterator[FakeTaskApp]:
    with fake_task_app() as app:
        yield app


def call(key: str, method: str, path: str, body: Any = None) -> Any:
    send = getattr(Client(headers={"Authorization": f"Bearer {key}"}), method.lower())
    return send(path) if body is None else send(path, json.dumps(body), content_type="application/json")


def register(key: str, peer: FakeTaskApp, name: str = "counting", **changes: Any) -> Any:
    return call(key, "POST", "/api/task-apps", {"name": name, "url": peer.url, "api_key": KEY, **changes})


def pull(key: str, taskset: str = "counted", name: str = "counting", **body: Any) -> Any:
    return call(key, "POST", f"/api/task-apps/{name}/pull", {"taskset": taskset, **body})


def start(key: str, taskset: str = "counted", agent: str = "task_app", **config: Any) -> Any:
    return call(key, "POST", "/api/jobs", {"taskset": taskset, "agent": {"type": agent, "config": config}})


# — registering and asking


def test_an_app_is_registered_asked_and_ready(ada_key: str, peer: FakeTaskApp) -> None:
    reply = register(ada_key, peer)
    assert reply.status_code == 201, reply.content
    body = reply.json()
    assert (body["healthy"], len(body["checks"]), body["url"], body["has_key"]) == (True, 5, peer.url, True)
    assert (body["environment"]["kind"], body["environment"]["ready"]["number"], body["environment"]["latest"]["source"]) == ("task_app", 1, "url")
    assert (body["size"], body["splits"], body["default_split"], body["lost"]) == (16, ["train", "test"], "train", ["dataset", "limits"])
    assert body["environment"]["ready"]["templates"][0]["id"] == "counting"
    assert call(ada_key, "GET", "/api/task-apps/counting").json() == body
    assert call(ada_key, "GET", "/api/environments/counting").json()["kind"] == "task_app"


def test_the_key_is_kept_encrypted_and_never_given_back(ada_key: str, peer: FakeTaskApp) -> None:
    told = register(ada_key, peer).content + call(ada_key, "GET", "/api/environments/counting/versions").content
    facts = json.dumps([event.facts for event in AuditEvent.objects.all()])
    assert KEY not in told.decode() + facts and KEY not in TaskApp.objects.get().key_encrypted
    bad = call(ada_key, "POST", "/api/task-apps", {"name": "x", "url": peer.url, "api_key": KEY, "more": KEY})
    assert bad.status_code == 422 and KEY not in bad.content.decode()


def test_an_app_that_refuses_is_registered_with_the_cause_and_ready_once_it_is_well(ada_key: str, peer: FakeTaskApp) -> None:
    body = register(ada_key, peer, api_key="wrong").json()
    assert (body["healthy"], body["environment"]["ready"]) == (False, None)
    assert {check["cause"] for check in body["checks"] if not check["ok"]} == {"auth"}
    assert "auth" in body["environment"]["latest"]["error"]
    peer.key = "wrong"
    again = call(ada_key, "POST", "/api/task-apps/counting/probe").json()
    assert again["healthy"] and again["environment"]["ready"]["number"] == 1 and again["environment"]["ready"]["error"] is None


def test_c1_endpoints_turn_red_within_the_poll_with_the_reason(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    assert async_to_sync(task_apps.watch)() == 0  # not due yet
    peer.replies["GET /info"] = Says({"detail": "down"}, 503)
    TaskApp.objects.update(next_check_at=timezone.now() - timedelta(seconds=1))
    assert async_to_sync(task_apps.watch)() == 1
    body = call(ada_key, "GET", "/api/task-apps/counting").json()
    assert not body["healthy"] and body["environment"]["ready"]["number"] == 1  # runs say themselves what they meet
    assert [(check["endpoint"], check["cause"]) for check in body["checks"] if not check["ok"]] == [("/info", "server_error")]
    assert async_to_sync(task_apps.watch)() == 0  # taken, and due again after the poll


def test_registering_again_makes_the_next_version_and_the_old_is_asked_no_more(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    assert register(ada_key, peer).json()["environment"]["latest"]["number"] == 2
    TaskApp.objects.exclude(next_check_at=None).update(next_check_at=timezone.now() - timedelta(seconds=1))
    assert async_to_sync(task_apps.watch)() == 1


@pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://h", "http://user:pw@h", "http://h/?a=b", "h", "http://h\n"])
def test_what_is_no_base_url_is_refused(ada_key: str, url: str) -> None:
    reply = call(ada_key, "POST", "/api/task-apps", {"name": "x", "url": url})
    assert reply.status_code == 422 and reply.json()["error"]["details"]["problems"][0]["path"] == "url"
    assert Environment.objects.filter(kind="task_app").count() == 0


def test_addresses_inside_are_for_instance_admins(cy_key: str, peer: FakeTaskApp) -> None:
    reply = register(cy_key, peer)
    assert reply.status_code == 422 and "instance admin" in reply.json()["detail"] and peer.requests == []


def test_a_name_of_another_kind_is_a_conflict(ada: Caller, ada_key: str, peer: FakeTaskApp) -> None:
    ready_environment(ada, "letters")
    assert register(ada_key, peer, "letters").status_code == 409
    register(ada_key, peer)
    assert call(ada_key, "POST", "/api/environments", {"name": "counting", "image": "a:1"}).status_code == 409
    assert call(ada_key, "GET", "/api/task-apps/letters").status_code == 409


def test_another_teams_app_answers_404(ada_key: str, cy_key: str, peer: FakeTaskApp) -> None:
    identity = register(ada_key, peer).json()["environment"]["id"]
    for reference in ("counting", identity):
        assert call(cy_key, "GET", f"/api/task-apps/{reference}").status_code == 404
        for verb in ("probe", "validate", "pull"):
            assert call(cy_key, "POST", f"/api/task-apps/{reference}/{verb}", {"taskset": "x"}).status_code == 404


def test_validate_reports_findings_without_a_rollout(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    body = call(ada_key, "POST", "/api/task-apps/counting/validate").json()
    assert (body["errors"], body["warnings"] > 0) == (0, True)
    assert {"damage", "auth"} <= {finding["subject"] for finding in body["findings"]} and peer.posts() == []


# — pulling


def test_tasks_are_pulled_for_every_seed_and_again_only_what_changed(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    first = pull(ada_key).json()
    assert (first["tasks"], first["created"], first["version"], first["damaged"]) == (16, 16, 1, [])
    assert pull(ada_key).json()["version"] == 1
    changed = {**recorded("05-"), "task_metadata": {"seed": 3, "target": 99}}
    old = peer.replies["GET /task_info"]
    peer.replies["GET /task_info"] = lambda request: Says([changed if one["task_metadata"]["seed"] == 3 else one for one in old(request).body])  # type: ignore[operator]
    again = pull(ada_key).json()
    assert (again["version"], again["updated"], again["created"]) == (2, 1, 0)
    task = call(ada_key, "GET", "/api/tasksets/counted/tasks/train-3").json()
    assert json.loads(task["args"])["task_info"]["task_metadata"] == {"seed": 3, "target": 99}


def test_splits_and_seeds_choose_and_digits_survive(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    peer.replies["GET /task_info"] = Says(b'[{"task":{"id":"t","name":"T"},"environment":"e","rate":1.10,"big":123456789012345678901}]')
    assert pull(ada_key, seeds=[7], splits=["train", "test"]).json()["created"] == 2
    args = call(ada_key, "GET", "/api/tasksets/counted/tasks/test-7").json()["args"]
    assert '"rate":1.10' in args and '"big":123456789012345678901' in args


def test_damaged_tasks_are_pulled_and_named(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    peer.replies["GET /task_info"] = Says({**recorded("05-"), "task_metadata": {"seed": 3, "extra": "<circular type=dict>"}})
    assert pull(ada_key, seeds=[3]).json()["damaged"] == ["train-3"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"splits": ["nope"]}, 422), ({"seeds": [-1]}, 422), ({"seeds": []}, 422), ({"count": 10_001}, 422), ({"seeds": ["a"]}, 422), ({"zzz": 1}, 422),
        ({"first": 16}, 422), ({"taskset": "/"}, 422),
    ],
)  # fmt: skip
def test_bad_pulls_are_refused(ada_key: str, peer: FakeTaskApp, body: dict[str, Any], status: int) -> None:
    register(ada_key, peer)
    assert pull(ada_key, **{"taskset": "counted", **body}).status_code == status


def test_a_pull_from_an_app_that_fails_says_why(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    for says, cause in ((Says(b"nonsense"), "bad_reply"), (Says([1, 2]), "bad_reply"), (Says(None, 302, {"Location": "http://h/"}), "redirect"), (Says(die=True), "lost")):
        peer.replies["GET /task_info"] = says
        reply = pull(ada_key, seeds=[1])
        assert (reply.status_code, reply.json()["error"]["code"], reply.json()["error"]["details"]["cause"]) == (502, "task_app_failed", cause)


# — jobs


def execute(run: Run) -> tuple[Any, Collected]:
    """As a worker does: planned from the rows, rolled out."""
    report = Collected()
    _team, plan = plan_rollout(run.id, 1, Able(docker=False))
    return async_to_sync(run_rollout)(plan, report), report


@pytest.fixture
def pulled(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    pull(ada_key, seeds=[0, 3])


def test_a_job_runs_in_the_app_and_is_graded_without_a_sandbox(ada_key: str, peer: FakeTaskApp, pulled: None) -> None:
    made = start(ada_key, mode="eval", policy={"model": "mock-1"}, turns=4).json()
    run = Run.objects.get(job__wire_id=made["id"], slug="train-3")
    outcome, report = execute(run)
    assert (outcome.status, json.loads(outcome.evaluation_text)["score"]) == ("completed", 1.0)
    sent = peer.posts()[0]
    assert (sent["run_id"], sent["env"]["seed"], sent["policy"]["config"]["model"], len(sent["ops"])) == (str(run.wire_id), 3, "mock-1", 8)
    assert report.phases[-1] == "running"


def test_c1_secrets_of_a_policy_reach_the_peer_and_no_row_reply_or_again(ada_key: str, ada: Caller, peer: FakeTaskApp, pulled: None, caplog: pytest.LogCaptureFixture) -> None:
    policy = {"model": "m", "api_key": POLICY_KEY, "headers": {"X-Org": "org-secret-1"}, "nested": {"access_token": "tok-12345"}}
    reply = start(ada_key, policy=policy)
    job = Job.objects.get(wire_id=reply.json()["id"])
    run = job.runs.order_by("task_index").first()
    assert run is not None
    outcome, report = execute(run)
    assert peer.posts()[0]["policy"]["config"] | policy == peer.posts()[0]["policy"]["config"]
    shown = reply.content.decode() + call(ada_key, "GET", f"/api/runs/{run.wire_id}").content.decode() + "".join(report.texts) + repr(outcome) + caplog.text
    with connection.cursor() as cursor:
        for table in ("runs_job", "runs_run", "accounts_auditevent"):
            cursor.execute(f"SELECT * FROM {table}")
            shown += repr(cursor.fetchall())
    assert [secret for secret in (POLICY_KEY, "org-secret-1", "tok-12345", KEY) if secret in shown] == []
    assert "[secret]" in shown
    again = run_again(ada, job)
    second = again.runs.order_by("task_index").first()
    assert second is not None and execute(second)[0].status == "completed"
    assert peer.posts()[1]["policy"]["config"]["api_key"] == POLICY_KEY


def test_a_model_of_the_teams_is_reached_through_our_gateway_with_the_runs_token(ada_key: str, ada: Caller, peer: FakeTaskApp, pulled: None) -> None:
    create_endpoint(ada, pattern="m-1", base_url="http://127.0.0.1:9/v1", api_key="sk-endpoint")
    run = Run.objects.filter(job__wire_id=start(ada_key, mode="rl", model="m-1").json()["id"]).first()
    assert run is not None
    _outcome, report = execute(run)
    policy = peer.posts()[0]["policy"]["config"]
    assert policy["model"] == "m-1" and policy["inference_url"].startswith("http://127.0.0.1:8000/gateway/v1?cid=") and policy["api_key"].startswith("rt_")
    assert "sk-endpoint" not in json.dumps(peer.posts()) and policy["api_key"] not in "".join(report.texts)


def test_a_plan_says_that_nothing_of_ours_is_started(ada_key: str, peer: FakeTaskApp, pulled: None) -> None:
    workers.register("one", host="here", slots=4, version="0")
    workers.describe("one", sandbox="docker", note="")
    plan = call(ada_key, "POST", "/api/jobs/plan", {"taskset": "counted", "agent": {"type": "task_app", "config": {}}}).json()
    assert (plan["runs"], plan["sandbox"], plan["problems"]) == (2, "remote", [])


def test_agents_that_do_not_fit_are_refused_at_the_start(ada: Caller, ada_key: str, peer: FakeTaskApp, pulled: None) -> None:
    refused = start(ada_key, agent="noop")
    assert refused.status_code == 422 and "brings its own policy" in refused.json()["detail"]
    assert start(ada_key, mode="sometimes").status_code == 422
    assert start(ada_key, safety={"max_ops": -1}).status_code == 422
    ready_environment(ada)
    call(ada_key, "POST", "/v2/tasks/upload", {"taskset_name": "letters", "tasks": [{"slug": "a", "env": {"name": "letters"}, "id": "count", "args": {}}]})
    assert "no Task App" in start(ada_key, "letters").json()["detail"]


def test_c1_both_modes_are_kept_on_each_run(ada_key: str, peer: FakeTaskApp, pulled: None) -> None:
    for mode in ("rl", "eval"):
        run = Run.objects.filter(job__wire_id=start(ada_key, mode=mode).json()["id"]).first()
        assert run is not None
        assert call(ada_key, "GET", f"/api/runs/{run.wire_id}").json()["agent_config"]["mode"] == mode


def test_a_verifier_in_a_task_apps_task_is_refused_by_the_plan(ada_key: str, peer: FakeTaskApp) -> None:
    register(ada_key, peer)
    row = {"slug": "a", "env": {"name": "counting"}, "id": "t", "args": {"seed": 1}, "verifier": {"env": "counting", "id": "v", "args": {}}}
    assert call(ada_key, "POST", "/v2/tasks/upload", {"taskset_name": "verified", "tasks": [row]}).status_code == 200
    run = Run.objects.filter(job__wire_id=start(ada_key, "verified").json()["id"]).first()
    assert run is not None
    with pytest.raises(CannotRun) as refused:
        plan_rollout(run.id, 1, Able(docker=False))
    assert refused.value.failure.blame == "task"


def test_an_app_that_was_never_well_starts_no_job(ada_key: str, peer: FakeTaskApp) -> None:
    peer.replies = well(health=Says({"healthy": False}))
    register(ada_key, peer)
    pull(ada_key, seeds=[0])
    assert start(ada_key).status_code == 422
