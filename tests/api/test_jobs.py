"""Native jobs: the plan, the start, all problems at once, idempotency, cancel, change; and the walls between teams."""

import json
import uuid

import pytest

from gateway.actions import endpoint_from_text
from runs.models import Job, Run
from tests.support.jobs import a_job, a_taskset, ready_environment

pytestmark = pytest.mark.django_db


def post(client, path, body):
    return client.post(path, json.dumps(body), content_type="application/json")


def test_a_job_holds_its_tasks_times_its_repeats_in_task_major_order(ada, ada_key, client_for):
    ready_environment(ada)
    a_taskset(ada)
    reply = post(client_for(ada_key), "/api/jobs", {"taskset": "letters", "agent": {"type": "noop"}, "group": 2})
    assert reply.status_code == 201
    body = reply.json()
    assert (body["state"], body["counts"]["expected"], body["counts"]["queued"], body["taskset"]["version_number"]) == ("queued", 6, 6, 1)
    runs = list(Run.objects.order_by("task_index", "repeat"))
    assert [(run.slug, run.repeat) for run in runs] == [("t00", 0), ("t00", 1), ("t01", 0), ("t01", 1), ("t02", 0), ("t02", 1)]
    assert len({run.group_id for run in runs}) == 3
    assert all(run.content_id and run.image_id and run.environment_version_id for run in runs)


def test_a_chosen_subset_keeps_its_link_to_the_version(ada, ada_key, client_for):
    ready_environment(ada)
    a_taskset(ada)
    body = post(client_for(ada_key), "/api/jobs", {"taskset": "letters@1", "slugs": ["t02", "t00"], "agent": {"type": "noop"}}).json()
    assert body["counts"]["expected"] == 2 and body["taskset"]["digest"].startswith("sha256:")


def test_every_problem_is_reported_at_once_environment_first(ada, ada_key, client_for):
    a_taskset(ada, env="nowhere")
    reply = post(client_for(ada_key), "/api/jobs", {"taskset": "letters", "agent": {"type": "openai_compatible", "config": {"model": "gpt-9"}}})
    assert reply.status_code == 422
    assert "nowhere" in reply.json()["detail"] and "gpt-9" in reply.json()["detail"]
    assert [problem["path"] for problem in reply.json()["error"]["details"]["problems"]] == ["env", "agent.config.model"]
    assert not Job.objects.exists()


def test_the_patterns_there_are_stand_in_the_refusal(ada, ada_key, client_for):
    ready_environment(ada)
    a_taskset(ada)
    endpoint_from_text(ada, "gpt-*|http://127.0.0.1:1/v1|secret-key-text")
    body = {"taskset": "letters", "agent": {"type": "openai_compatible", "config": {"model": "claude"}}}
    reply = post(client_for(ada_key), "/api/jobs", body)
    assert reply.status_code == 422 and "gpt-*" in reply.json()["detail"] and "secret-key-text" not in reply.content.decode()
    body["agent"]["config"]["model"] = "gpt-5"
    assert post(client_for(ada_key), "/api/jobs", body).status_code == 201


@pytest.mark.parametrize("config", [{"base_url": "http://x"}, {"api_key": "k"}, {"headers": {"a": "b"}}])
def test_an_agent_config_may_not_say_where_the_model_is(ada, ada_key, client_for, config):
    ready_environment(ada)
    a_taskset(ada)
    reply = post(client_for(ada_key), "/api/jobs", {"taskset": "letters", "agent": {"type": "openai_compatible", "config": {"model": "m", **config}}})
    assert reply.status_code == 422 and next(iter(config)) in reply.json()["detail"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"taskset": "unknown"}, 404), ({"taskset": "letters@9"}, 404), ({"slugs": ["nope"]}, 422), ({"slugs": []}, 422), ({"group": 0}, 422), ({"group": 10_000}, 422),
        ({"agent": {"type": "claude"}}, 422), ({"agent": {"type": "wizard"}}, 422), ({"rollout_timeout": -1}, 422), ({"surprise": 1}, 422), ({"agent": 5}, 422),
    ],
)  # fmt: skip
def test_bad_requests_name_the_place_and_start_nothing(ada, ada_key, client_for, change, status):
    ready_environment(ada)
    a_taskset(ada)
    reply = post(client_for(ada_key), "/api/jobs", {"taskset": "letters", "agent": {"type": "noop"}} | change)
    assert reply.status_code == status and reply.json()["detail"] and not Job.objects.exists()


def test_the_same_idempotency_key_answers_the_same_job(ada, ada_key, client_for):
    ready_environment(ada)
    a_taskset(ada)
    client, body = client_for(ada_key), {"taskset": "letters", "agent": {"type": "noop"}, "idempotency_key": "k1"}
    first, second = post(client, "/api/jobs", body), post(client, "/api/jobs", body)
    assert (first.status_code, second.status_code) == (201, 200) and first.json()["id"] == second.json()["id"]
    assert post(client, "/api/jobs", body | {"group": 3}).status_code == 409
    assert Job.objects.count() == 1 and Run.objects.count() == 3


def test_a_plan_says_how_many_and_where_and_starts_nothing(ada, ada_key, client_for):
    ready_environment(ada)
    a_taskset(ada)
    body = post(client_for(ada_key), "/api/jobs/plan", {"taskset": "letters", "agent": {"type": "noop"}, "group": 4}).json()
    assert (body["runs"], body["tasks"], body["sandbox"], body["problems"]) == (12, 3, None, []) and "worker" in body["sandbox_note"]
    assert not Job.objects.exists()


def test_cancelling_a_queued_job_ends_it_at_once_and_counts_add_up(ada, ada_key, client_for):
    job = a_job(ada)
    client = client_for(ada_key)
    assert client.post(f"/api/jobs/{job.wire_id}/cancel").json() == {"cancelled": 6}
    body = client.get(f"/api/jobs/{job.wire_id}").json()
    assert body["state"] == "cancelled" and body["counts"] | {"expected": 6, "cancelled": 6, "pending": 0} == body["counts"] and body["mean_reward"] is None
    assert client.post(f"/api/jobs/{job.wire_id}/cancel").json() == {"cancelled": 0}


def test_running_again_makes_a_new_job_of_the_same_plan(ada, ada_key, client_for):
    job = a_job(ada)
    body = client_for(ada_key).post(f"/api/jobs/{job.wire_id}/again").json()
    assert body["id"] != str(job.wire_id) and body["counts"]["expected"] == 6 and body["taskset"]["version_number"] == 1


def test_a_job_can_be_renamed_and_archived(ada, ada_key, client_for):
    job = a_job(ada)
    client = client_for(ada_key)
    path = f"/api/jobs/{job.wire_id}"
    assert client.patch(path, json.dumps({"name": "Nightly ✓"}), content_type="application/json").json()["name"] == "Nightly ✓"
    client.patch(path, json.dumps({"archived": True}), content_type="application/json")
    assert client.get("/api/jobs").json()["items"] == [] and len(client.get("/api/jobs?archived=true").json()["items"]) == 1


def test_the_matrix_is_the_snapshot_that_the_page_follows_from(ada, ada_key, client_for):
    job = a_job(ada)
    body = client_for(ada_key).get(f"/api/jobs/{job.wire_id}/matrix").json()
    assert len(body["runs"]) == 6 and [task["slug"] for task in body["tasks"]] == ["t00", "t01", "t02"] and body["tasks"][0]["prompt"] == "strawberry" and body["seq"]


def test_lists_page_by_key_without_gaps_or_repeats(ada, ada_key, client_for):
    job = a_job(ada, count=7, group=3)
    client, seen, cursor = client_for(ada_key), [], ""
    while True:
        page = client.get(f"/api/jobs/{job.wire_id}/runs?limit=4&cursor={cursor}").json()
        seen += [row["id"] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = page["next_cursor"]
    assert len(seen) == 21 == len(set(seen))
    assert client.get(f"/api/jobs/{job.wire_id}/runs?cursor=nonsense").status_code == 422


def test_a_list_of_jobs_costs_the_same_number_of_queries_whatever_its_length(ada, ada_key, client_for, django_assert_max_num_queries):
    for number in range(5):
        a_job(ada, name=f"set-{number}")
    with django_assert_max_num_queries(6):
        assert len(client_for(ada_key).get("/api/jobs").json()["items"]) == 5


def test_jobs_are_found_by_their_state(ada, ada_key, client_for):
    queued, running, done, stopped = (a_job(ada, count=1, group=2, name=f"set-{number}") for number in range(4))
    Run.objects.filter(job=running, repeat=0).update(state="running", started_at="2026-01-01T00:00:00Z")
    Run.objects.filter(job=done).update(state="completed", counted="graded", reward=1.0, started_at="2026-01-01T00:00:00Z")
    client = client_for(ada_key)
    client.post(f"/api/jobs/{stopped.wire_id}/cancel")
    for state, job in (("queued", queued), ("running", running), ("completed", done), ("cancelled", stopped)):
        found = client.get(f"/api/jobs?state={state}").json()["items"]
        assert [(item["id"], item["state"]) for item in found] == [(str(job.wire_id), state)]


def test_each_taskset_tells_its_newest_job(ada, ada_key, cy_key, client_for):
    a_job(ada)
    newest = a_job(ada)
    Run.objects.filter(job=newest).update(state="completed", counted="graded", reward=0.5)
    items = client_for(ada_key).get("/api/last-jobs").json()["items"]
    assert [(item["id"], item["mean_reward"]) for item in items] == [(str(newest.wire_id), 0.5)]
    assert client_for(cy_key).get("/api/last-jobs").json()["items"] == []


def test_another_teams_objects_answer_as_if_they_were_not_there(ada, cy_key, client_for):
    job = a_job(ada)
    run = Run.objects.filter(job=job).first()
    client = client_for(cy_key)
    for path in ("", "/matrix", "/runs"):
        assert client.get(f"/api/jobs/{job.wire_id}{path}").status_code == 404
    for path in ("", "/steps", "/log"):
        assert client.get(f"/api/runs/{run.wire_id}{path}").status_code == 404
    for path in (f"/api/jobs/{job.wire_id}/cancel", f"/api/jobs/{job.wire_id}/again", f"/api/runs/{run.wire_id}/cancel"):
        assert client.post(path).status_code == 404
    assert post(client, "/api/jobs", {"taskset": "letters", "agent": {"type": "noop"}}).status_code == 404
    assert client.get("/api/jobs").json()["items"] == []
    assert client.get(f"/api/jobs/{uuid.uuid4()}").json()["detail"] == client.get(f"/api/jobs/{job.wire_id}").json()["detail"]
    assert not Run.objects.exclude(state="queued").exists()
