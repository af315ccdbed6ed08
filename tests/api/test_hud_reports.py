"""What outside runs tell, in any order and any number of times (promises 3, 5, 6, 8; contracts of HUD 2.3, 2.4, 3.1)."""

import json
import uuid

import pytest

from runs.models import Job, Run, SpanIndex
from tests.support.jobs import a_job

pytestmark = pytest.mark.django_db


class Hud:
    """The wire as the SDK speaks it."""

    def __init__(self, client):
        self.client = client

    def post(self, path, body):
        return self.client.post(path, body if isinstance(body, str | bytes) else json.dumps(body), content_type="application/json")

    def enter(self, trace, **body):
        return self.post(f"/v2/trace/{trace}/enter", body)

    def exit(self, trace, **body):
        return self.post(f"/v2/trace/{trace}/exit", body)

    def state(self, trace):
        return self.client.get(f"/v2/trace/{trace}").json()

    def spans(self, trace, *numbers, **usage):
        spans = [
            {"name": "step.agent", "span_id": f"{n:016x}", "start_time": f"2026-01-02T03:04:{n:02}Z", "end_time": "2026-01-02T03:05:00Z", "attributes": {
                "hud.task_run_id": trace, "hud.schema": "hud.step.v1", "hud.payload": {"step_id": n, "source": "agent", "content": f"s{n}", "usage": usage or None}}}
            for n in numbers
        ]  # fmt: skip
        return self.post(f"/v3/api/trace/{trace}/telemetry-upload", {"telemetry": spans})


@pytest.fixture
def hud(ada_key, client_for):
    return Hud(client_for(ada_key))


def test_both_spellings_of_an_id_are_one_run(hud):
    trace = uuid.uuid4()
    hud.enter(trace.hex, job_id=uuid.uuid4().hex, task_slug="a")
    assert hud.exit(str(trace), status="completed", reward=1.0, evaluation_result={"score": 1.0}).status_code == 200
    assert Run.objects.count() == 1 and hud.state(trace.hex)["reward"] == 1.0 == hud.state(trace)["reward"] and hud.state(trace)["id"] == str(trace)


def test_an_id_that_is_no_uuid_works_everywhere(hud):
    hud.enter("my-run-7", job_id="my-job", task_slug="a")
    hud.spans("my-run-7", 1)
    hud.exit("my-run-7", status="completed", reward=0.5, evaluation_result={"score": 0.5})
    assert hud.state("my-run-7")["reward"] == 0.5 and Run.objects.get().alias == "my-run-7"
    assert [event["text"] for event in hud.client.get("/v2/trace/my-run-7/events").json()["events"]] == ["s1"]


def test_entering_again_reopens_nothing(hud):
    trace = uuid.uuid4().hex
    hud.exit(trace, status="completed", reward=1.0, evaluation_result={"score": 1.0})
    hud.enter(trace, job_id=uuid.uuid4().hex, task_slug="late")
    assert hud.state(trace)["status"] == "completed" and Run.objects.get().slug == "late"


def test_the_last_exit_wins_also_over_a_cancel_mark_and_repeats_change_nothing(hud):
    trace = uuid.uuid4().hex
    hud.enter(trace, job_id=uuid.uuid4().hex, task_slug="a")
    assert hud.post("/v2/rollouts/cancel", {"trace_id": trace}).json() == {"status": "accepted"}
    assert hud.state(trace)["status"] == "cancelled"
    for _ in range(2):
        hud.exit(trace, status="completed", reward=0.25, evaluation_result={"score": 0.25})
    run = Run.objects.get()
    assert (run.counted, run.reward) == ("graded", 0.25)
    revision = run.revision
    hud.exit(trace, status="completed", reward=0.25, evaluation_result={"score": 0.25})
    assert Run.objects.get().revision == revision


def test_a_run_without_a_grade_has_no_reward(hud):
    trace = uuid.uuid4().hex
    hud.exit(trace, status="error", reward=0.0, error="[starting task] boom")
    state = hud.state(trace)
    assert state["status"] == "error" and state["reward"] is None and "boom" in state["error"] and state["evaluation_result"] is None


def test_a_grade_frame_keeps_its_digits(hud):
    trace = uuid.uuid4().hex
    hud.post(f"/v2/trace/{trace}/exit", '{"status": "completed", "reward": 0.1, "evaluation_result": {"score": 0.10, "info": {"n": 12345678901234567890123}}}')
    assert '"score": 0.10' in Run.objects.get().evaluation and b"12345678901234567890123" in hud.client.get(f"/v2/trace/{trace}").content


def test_repeats_of_a_task_share_a_row_of_the_matrix(hud):
    job, group = uuid.uuid4().hex, uuid.uuid4().hex
    hud.post(f"/v2/trace/job/{job}/enter", {"name": "demo", "group": 2})
    for slug, group_id in (("a", group), ("a", group), ("b", uuid.uuid4().hex)):
        hud.enter(uuid.uuid4().hex, job_id=job, group_id=group_id, task_slug=slug)
    assert sorted(Run.objects.values_list("slug", "task_index", "repeat")) == [("a", 0, 0), ("a", 0, 1), ("b", 1, 0)]
    assert Job.objects.get().task_count == 2


def test_a_repeated_batch_moves_no_total(hud):
    trace = uuid.uuid4().hex
    for _ in range(3):
        assert hud.spans(trace, 1, 2, prompt_tokens=10, completion_tokens=5).status_code == 200
    hud.spans(trace, 2, 3, prompt_tokens=10, completion_tokens=5)
    run = Run.objects.get()
    assert (run.prompt_tokens, run.completion_tokens, run.last_seq, run.step_count) == (30, 15, 3, 3)
    assert list(SpanIndex.objects.order_by("seq").values_list("seq", "step_id")) == [(1, 1), (2, 2), (3, 3)]


def test_steps_are_paged_in_order_of_arrival_and_read_to_the_end(hud):
    trace = uuid.uuid4().hex
    for start in range(0, 300, 100):
        hud.spans(trace, *range(start, start + 100))
    seen, after = [], 0
    while after is not None:
        page = hud.client.get(f"/api/runs/{trace}/steps?after={after}&limit=70").json()
        seen += [step["seq"] for step in page["items"]]
        after = page["next_after"]
    assert seen == list(range(1, 301)) and page["total"] == 300


def test_a_key_of_the_team_cannot_write_to_a_run_that_we_execute(hud, ada):
    job = a_job(ada)
    run = Run.objects.filter(job=job).first()
    for reply in (hud.enter(run.wire_id, task_slug="x"), hud.exit(run.wire_id, status="completed", reward=1.0, evaluation_result={"score": 1.0}), hud.spans(str(run.wire_id), 1)):
        assert reply.status_code == 200
    run.refresh_from_db()
    assert (run.state, run.reward, run.last_seq) == ("queued", None, 0)


def test_the_same_client_ids_in_two_teams_are_two_runs(hud, cy_key, client_for):
    trace, other = uuid.uuid4().hex, Hud(client_for(cy_key))
    hud.exit(trace, status="completed", reward=1.0, evaluation_result={"score": 1.0})
    assert other.client.get(f"/v2/trace/{trace}").status_code == 404
    other.exit(trace, status="completed", reward=0.0, evaluation_result={"score": 0.0})
    assert (hud.state(trace)["reward"], other.state(trace)["reward"]) == (1.0, 0.0)


@pytest.mark.parametrize("body", ["", "[]", '{"status": "done"}', '{"status": 5}', '{"status": "completed", "reward": NaN}', "{", "\x00", '"x"'])
def test_a_bad_exit_is_refused_with_an_object(hud, body):
    reply = hud.post(f"/v2/trace/{uuid.uuid4().hex}/exit", body)
    assert reply.status_code in (400, 422) and reply.json()["detail"] and not Run.objects.exists()


def test_a_nul_in_an_error_text_does_not_lose_the_exit(hud):
    trace = uuid.uuid4().hex
    assert hud.exit(trace, status="error", error="a\x00b", reward=0.0).status_code == 200
    assert hud.state(trace)["status"] == "error"


@pytest.mark.parametrize(("method", "path"), [("get", "/v2/nowhere"), ("get", "/api/nowhere"), ("post", "/v3/api/x"), ("get", "/hud02/x"), ("get", "/runtime/sessions"), ("get", "/rl/x"), ("delete", "/v2/jobs")])
def test_unknown_paths_of_the_api_are_json(hud, method, path):
    reply = getattr(hud.client, method)(path)
    assert reply.status_code in (404, 405) and reply.json()["detail"]


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wrong", "Basic abc", "Bearer rt_forged", "Bearer \udcff"])
def test_a_missing_or_wrong_key_is_401_with_a_challenge(client, header, db):
    headers = {"HTTP_AUTHORIZATION": header} if header else {}
    for path in ("/v2/auth/me", "/v2/jobs", "/api/jobs", "/api/me"):
        reply = client.get(path, **headers)
        assert reply.status_code == 401 and reply.json()["detail"] and reply["WWW-Authenticate"] == "Bearer", path


def test_the_three_cancels(hud, ada):
    job = a_job(ada)
    run = Run.objects.filter(job=job).first()
    assert hud.post("/v2/rollouts/cancel", {"trace_id": str(run.wire_id), "job_id": "x"}).json() == {"status": "accepted"}
    assert hud.post("/v2/rollouts/cancel", {"trace_id": str(run.wire_id)}).json() == {"status": "not_found"}
    assert hud.post("/v2/rollouts/cancel", {"trace_id": "what"}).json() == {"status": "not_found"}
    assert hud.post("/v2/rollouts/cancel_job", {"job_id": str(uuid.uuid4())}).json() == {"cancelled": 0}
    body = hud.post("/v2/rollouts/cancel_user_jobs", {}).json()
    assert (body["jobs_cancelled"], body["total_tasks_cancelled"]) == (1, 5) and body["job_details"] == [{"job_id": str(job.wire_id), "cancelled": 5}]
