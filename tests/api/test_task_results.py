"""The results of one task in all jobs on its taskset, newest first, each with what it measured."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.callers import Caller
from runs.models import Run
from tasksets.actions import upload
from tests.support.jobs import a_job
from tests.support.tasksets import Api


@pytest.fixture(autouse=True)
def blobs(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def api(ada_key: str) -> Api:
    return Api(ada_key)


def results(api: Api, slug: str = "t00", ref: str = "letters", **query: Any) -> Any:
    more = "".join(f"&{key}={value}" for key, value in query.items())
    return api.get(f"/api/tasksets/{ref}/results?slug={slug}{more}").json()


def change(caller: Caller, slug: str) -> None:
    upload(caller, name="letters", body=json.dumps({"tasks": [{"name": slug, "env": {"name": "letters"}, "task_id": "count", "args": {"word": "kiwi"}}]}).encode())


def test_runs_of_all_jobs_come_newest_first_with_job_and_version(api: Api, ada: Caller) -> None:
    first, second = a_job(ada, count=2, group=2), a_job(ada, count=2, group=1)
    found = results(api)["items"]
    assert [one["job_id"] for one in found] == [str(second.wire_id), *[str(first.wire_id)] * 2]
    assert {(one["slug"], one["version_number"], one["agent_type"], one["is_same_content"]) for one in found} == {("t00", 1, "noop", True)}
    assert all(one["reward"] is None and one["state"] == "queued" and one["job_name"] for one in found)
    assert results(api, "none")["items"] == []


def test_a_result_says_whether_the_task_was_the_same_then(api: Api, ada: Caller) -> None:
    a_job(ada, count=1, group=1)
    change(ada, "t00")
    assert [(one["is_same_content"], one["version_number"]) for one in results(api)["items"]] == [(False, 1)]
    assert results(api, ref="letters@1")["items"][0]["is_same_content"] is True
    api.send("/api/tasksets/letters/upload?mode=remove", {"tasks": [{"name": "t00"}]})
    assert results(api)["items"][0]["is_same_content"] is None


def test_rewards_and_failures_are_told_apart(api: Api, ada: Caller) -> None:
    a_job(ada, count=1, group=2)
    good, bad = Run.objects.order_by("repeat")
    Run.objects.filter(id=good.id).update(state="completed", counted="graded", reward=0.5)
    Run.objects.filter(id=bad.id).update(state="error", counted="failed", failure_class="timeout", blame="agent", error="too slow")
    found = {one["repeat"]: one for one in results(api)["items"]}
    assert (found[0]["reward"], found[0]["counted"], found[1]["reward"], found[1]["blame"], found[1]["error"]) == (0.5, "graded", None, "agent", "too slow")


def test_pages_give_each_run_once_at_a_fixed_price(api: Api, ada: Caller, django_assert_max_num_queries: Any) -> None:
    a_job(ada, count=1, group=7)
    seen, cursor = [], ""
    while cursor is not None:
        with django_assert_max_num_queries(6):
            part = results(api, limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [one["id"] for one in part["items"]]
        cursor = part["next_cursor"]
    assert len(seen) == len(set(seen)) == 7


def test_a_strangers_team_sees_nothing(api: Api, ada: Caller, cy_key: str) -> None:
    a_job(ada, count=1, group=1)
    assert Api(cy_key).get("/api/tasksets/letters/results?slug=t00").status_code == 404
    assert api.get("/api/tasksets/letters/results").status_code == 422
