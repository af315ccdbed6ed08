"""The unmodified hud-python 0.2.10 against `/hud02`, its environments in real containers."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from proctor.client import Access, AsyncClient
from proctor.hud02.environment import Environment, LegacyTask, job
from proctor.hud02.remote_config import create_remote_config
from tests.peers.conftest import HERE, KIT, PEERS, base_image
from tests.support import hud02
from tests.support.server import KEY, Server, docker, until

pytestmark = [pytest.mark.peer, pytest.mark.server, pytest.mark.docker]
LEGACY = "hud-python-0.2.10"
Play = Callable[..., Any]


@pytest.fixture(scope="module")
def play(server: Server) -> Play:
    subprocess.run([KIT / "peers", PEERS, LEGACY], check=True)

    def scenario(name: str, *arguments: str) -> Any:
        command = [PEERS / LEGACY / "bin/python", HERE / "hud02_scenarios.py", f"http://127.0.0.1:{server.port}/hud02", KEY, name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr[-3000:] + server.log()[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return scenario


@pytest.fixture(scope="module")
def image(server: Server) -> Iterator[str]:
    """Registered as `clicks`; also its tag."""
    server.call("POST", "/api/environments?name=clicks&kind=hud02", hud02.context(base_image()), headers={"Content-Type": "application/x-tar"})

    def ready() -> dict[str, Any] | None:
        newest: dict[str, Any] = server.get("/api/environments/clicks/versions")["items"][0]
        return newest if newest["status"] in ("ready", "failed") else None

    version = until(ready, 120, why=server.log)
    assert version["status"] == "ready", version
    yield version["image"]


def none_left(server: Server) -> bool:
    return not docker("ps", "-q", "--filter", f"label=proctor.instance={server.instance}", "--filter", "label=proctor.session")


def test_c2_task_taskset_and_load_taskset(play: Play, image: str) -> None:
    clicks, question = play("taskset", image)

    def call(function: str, *args: object) -> dict[str, object]:
        return {"function": function, "args": list(args), "id": None, "metadata": None}

    assert clicks == {"id": "task-00001", "prompt": "Click twice", "gym": image, "setup": call("setup", 1), "evaluate": call("evaluate", 2), "description": None}
    assert (question["gym"], question["evaluate"], question["description"]) == ("qa", call("response_includes", "Paris"), "easy")


def test_c2_remote_docker_client_executes_moves_archives_and_closes(play: Play, server: Server, image: str) -> None:
    told = play("docker_client", image)
    assert told["status"] == "running" and told["after"] == "completed"
    assert told["execute"] == ["out\n", "err\n", 3]
    assert told["hung_s"] < 10
    assert told["archive"] == "hello"
    assert told["reset"][1] is True and "Click" in told["reset"][0]
    assert (told["step"], told["evaluate"]) == ("2 clicks", {"reward": 1.0})
    until(lambda: none_left(server), 20, why=server.log)


def test_c2_remote_client_and_trajectories(play: Play, server: Server, image: str) -> None:
    told = play("remote_client", "clicks")
    assert (told["text"], told["evaluated"]) == ("2 clicks", {"reward": 1.0})
    assert "RuntimeError: the database of letters is gone" in told["broken"]
    run = server.get(f"/api/runs/{told['run']}")
    assert (run["counted"], run["reward"], run["job_id"]) == ("graded", 1.0, told["job"])
    (trajectory,) = told["trajectories"]
    assert (trajectory["id"], trajectory["reward"]) == (told["run"], 1.0)
    assert [{"type": "click"}] in [step["actions"] for step in trajectory["trajectory"]]
    until(lambda: none_left(server), 20, why=server.log)


def test_c2_telemetry_of_a_trace_is_a_run_with_steps(play: Play, server: Server) -> None:
    run_id = play("trace")["run"]
    steps = until(lambda: server.get(f"/api/runs/{run_id}/steps")["items"] or None, 20, why=server.log)
    assert steps[0]["payload"]["call"]["arguments"]["actions"][0]["custom_data"] == {"foo": "bar"}


def test_c2_evaluators_answer_and_a_failure_is_no_score(play: Play) -> None:
    told = play("scored")
    assert told["good"]["score"] == 1.0
    assert told["slow"]["score"] == -1.0 and "did not end within" in told["slow"]["reason"], "that is the client's own word for an error"


def test_c2_create_remote_config_equals_the_packages(play: Play) -> None:
    @dataclass
    class Task:
        id: str | None = None
        config: dict[str, Any] | None = None
        evaluate: Any = None
        metadata: dict[str, Any] = field(default_factory=dict)

    tasks = [Task(), Task("t1", evaluate=("response_includes", "x")), Task("t2", {"expected": "val"}), Task("t3"), Task()]
    first = create_remote_config(tasks[0], "evaluate", ("response_includes", "Paris"), final_response="Paris")
    ours = [first, *(create_remote_config(task, "evaluate", final_response="Paris") for task in tasks[1:])]
    assert [call.to_json() for (call,) in ours] == play("configs")


async def test_c2_jobs_at_once_in_one_process_keep_their_environments_apart(server: Server, image: str) -> None:
    """Ours, over the same routes."""
    task = LegacyTask(prompt="Click", setup=("setup", 1), evaluate=("evaluate", 2), id="t")

    async def one(client: AsyncClient, name: str) -> tuple[str, str | None]:
        async with job(client, name) as job_id, Environment.remote(client, task, gym="clicks") as env:
            _observation, reward, *_rest = await env.step({"type": "click"})
            assert (reward, await env.evaluate()) == (0.5, {"reward": 1.0})
            return job_id, env.run_id

    async with AsyncClient(Access(f"http://127.0.0.1:{server.port}", KEY)) as client:
        found = await asyncio.gather(one(client, "first"), one(client, "second"))
    runs = [server.get(f"/api/runs/{run_id}") for _job, run_id in found]
    assert [(run["job_id"], run["reward"]) for run in runs] == [(job_id, 1.0) for job_id, _run in found]
    assert runs[0]["job_id"] != runs[1]["job_id"]


def test_a_hosted_job_runs_the_same_image(server: Server, image: str) -> None:
    task = {"slug": "twice", "env": "clicks", "id": "task", "args": {"prompt": "Click", "setup": {"function": "setup", "args": [2]}, "evaluate": {"function": "evaluate", "args": [2]}}}
    server.upload("clicks-hosted", [task])
    job = server.post("/api/jobs", {"taskset": "clicks-hosted", "agent": {"type": "noop", "config": {}}})
    done = until(lambda: found if (found := server.get(f"/api/jobs/{job['id']}"))["state"] == "completed" else None, 60, why=server.log)
    assert done["mean_reward"] == 1.0
