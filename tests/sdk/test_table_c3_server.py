"""The rows of table C3 that need the whole product: versions, partial jobs, hosted deadlines. See test_table_c3."""

from __future__ import annotations

import pytest

import proctor
from proctor import HostedRuntime, LocalRuntime, Task, Taskset
from proctor.client import Access, Client, calls
from proctor.samples import sample_env_file
from tests.support.fake_model import Reply, fake_model
from tests.support.server import Server, sample_rows, until

pytestmark = pytest.mark.server


def sums(count: int) -> Taskset:
    """For the shipped sample's environment; right answers in the column `says`."""
    return Taskset("sums", [Task.from_row({"env": row["env"]["name"], "id": row["task_id"], "slug": row["name"], "args": row["args"], "columns": row["columns"]}) for row in sample_rows(count)])


def test_from_api(signed_in: Access) -> None:
    first = Taskset("versions", [Task("e", "i", {"n": number}, slug=f"t{number}") for number in range(3)])
    first.upload()
    Taskset("versions", [task.replace(args={"n": 100}) for task in first]).upload(message="all changed")
    pinned, newest = Taskset.from_api("versions@1"), Taskset.from_api("versions")
    assert [task.to_json() for task in pinned] == [task.to_json() for task in first]
    assert [task.args["n"] for task in newest] == [100] * 3
    assert (pinned.origin.reference, newest.origin.reference) == ("versions@1", "versions@2")  # type: ignore[union-attr]
    by_id, by_digest = Taskset.from_api(pinned.origin.version_id), Taskset.from_api(f"versions@{pinned.origin.digest}")  # type: ignore[union-attr]
    assert list(by_id) == list(by_digest) == list(pinned) and by_id.origin == pinned.origin


def test_api_id_and_origin(server: Server, signed_in: Access) -> None:
    sums(10).upload("partial")
    taskset = Taskset.from_api("partial")
    part = taskset.filter(["row-001", "row-004"])
    assert (taskset.is_partial, part.is_partial) == (False, True)
    local = part.run_sync(proctor.replay(column="says"), runtime=LocalRuntime(sample_env_file()))
    hosted = part.run_sync(proctor.replay(column="says"), runtime=HostedRuntime(poll_s=0.2))
    assert local.scope == hosted.scope == "2 of 10 tasks"
    for job in (local, hosted):
        there = server.get(f"/api/jobs/{job.url.rpartition('/')[2]}")  # type: ignore[union-attr]
        assert (there["task_count"], there["taskset"]["task_count"], there["taskset"]["version_number"], there["mean_reward"]) == (2, 10, 1, 1.0)
        assert (there["taskset"]["name"], there["taskset"]["digest"]) == ("partial", taskset.origin.digest)  # type: ignore[union-attr]


def test_environment_names(signed_in: Access) -> None:
    taskset = Taskset("t", [*sums(1), Task("nowhere", "i")])
    assert taskset.environment_status() == {"gsm8k": "deployed", "nowhere": "missing"}


def test_run_concurrency_and_timeout(server: Server, signed_in: Access) -> None:
    with fake_model(lambda body: Reply("", silent=True)) as model:
        server.post("/api/models", {"pattern": "stuck", "base_url": model.base_url, "api_key": "unused"})
        sums(1).upload("stuck")
        job = Taskset.from_api("stuck").run_sync(proctor.openai_compatible("stuck"), runtime=HostedRuntime(poll_s=0.2), rollout_timeout=16.0)
    assert (job.state, [run.counted for run in job.runs]) == ("completed_with_errors", ["failed"])
    assert job.runs[0].failure_class in ("model_timeout", "timeout")


def test_run_gather_job_enter_and_flush(server: Server, signed_in: Access) -> None:
    def agent(context: proctor.AgentContext) -> str:
        if context.slug == "row-002":
            raise RuntimeError("no idea")
        return f"A: {int(context.slug[-3:]) + 1}"

    job = sums(5).run_sync(agent, runtime=LocalRuntime(sample_env_file()))
    there = server.get(f"/api/jobs/{job.id}")
    assert (job.state, there["state"]) == ("completed_with_errors", "completed")
    assert {word: there["counts"][word] for word in ("expected", "graded", "failed", "pending")} == {"expected": 5, "graded": 4, "failed": 1, "pending": 0}
    for run in job.runs:
        steps = server.get(f"/api/runs/{run.id}/steps")["items"]
        assert [step["kind"] for step in steps] == (["task", "user", "system"] if run.slug == "row-002" else ["task", "user", "agent", "task"])


def test_a_killed_client_leaves_nothing_running_for_ever(server: Server, signed_in: Access) -> None:
    """A hosted job goes on without its client, and Ctrl-C of the client cancels it."""
    import asyncio

    sums(2).upload("left-alone")

    async def cut_off() -> None:
        taskset = await Taskset.from_api_async("left-alone")
        with fake_model(lambda body: Reply("", silent=True)) as model:
            server.post("/api/models", {"pattern": "silent", "base_url": model.base_url, "api_key": "unused"})
            running = asyncio.create_task(taskset.run(proctor.openai_compatible("silent"), runtime=HostedRuntime(poll_s=0.1), name="cut off"))
            await asyncio.sleep(2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(cut_off())
    with Client() as client:
        job = next(job for job in client.send(calls.list_jobs()).items if job.name == "cut off")
    until(lambda: server.counts(job.id)["cancelled"] == 2, 30, why=lambda: str(server.counts(job.id)))
