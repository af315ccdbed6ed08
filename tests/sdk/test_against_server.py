"""SDK and command line against the real server: what goes there and comes back, live reports, hosted runs."""

from __future__ import annotations

import io
import json
import uuid
from pathlib import Path

import pytest

import proctor
from proctor import AsyncClient, Client, LocalRuntime, Task, Taskset
from proctor.client import Access, calls
from proctor.errors import Conflict, NotFound, Refused, Unauthorised
from proctor.samples import sample_env_file
from tests.sdk.conftest import Cli
from tests.sdk.test_table_c3_server import sums
from tests.support.server import KEY, Server

pytestmark = pytest.mark.server
ROW = '{"slug":"a","env":"letters","id":"count","args":{"n":1.10,"big":123456789012345678901234567890,"z":1,"a":[1e2]}}'


def test_a_taskset_comes_back_as_it_went_digit_by_digit(signed_in: Access, tmp_path: Path) -> None:
    taskset = Taskset("digits", [Task.from_json(ROW)])
    assert taskset.upload().tasks_created == 1
    back = Taskset.from_api("digits")
    assert next(iter(back)).to_json().decode() == ROW
    assert taskset.upload().tasks_unchanged == 1
    assert back.to_file(tmp_path / "out.jsonl").read_text() == ROW + "\n"
    assert not taskset.diff(back)


async def test_the_async_client_speaks_with_it_too(signed_in: Access) -> None:
    async with AsyncClient() as client:
        assert (await client.send(calls.me())).email == "ada@example.test"
        done = await sums(2).upload_async("by-async", client=client)
        assert len(await Taskset.from_api_async("by-async", client=client)) == done.tasks_created == 2


def test_modes_of_upload(signed_in: Access) -> None:
    sums(3).upload("modes")
    assert sums(1).upload("modes", mode="remove").tasks_removed == 1
    assert [task.slug for task in Taskset.from_api("modes")] == ["row-001", "row-002"]
    assert sums(1).upload("modes", mode="replace").tasks_removed == 2
    assert [task.slug for task in Taskset.from_api("modes")] == ["row-000"]
    with pytest.raises(NotFound):
        sums(1).upload("nowhere", mode="remove")


def test_its_errors_are_ours(signed_in: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client() as client:
        with pytest.raises(NotFound):
            Taskset.from_api("nowhere", client=client)
        with pytest.raises(NotFound, match="the newest are @1"):
            sums(1).upload("pinned", client=client)
            Taskset.from_api("pinned@7", client=client)
        with pytest.raises(Refused) as refused:
            client.send(calls.upload_tasks("pinned", [b'{"slug":"a","env":"","id":"i"}']))
        assert refused.value.problems[0].path == "tasks[0].env"
        with pytest.raises(Conflict):
            client.send(calls.create_taskset("pinned"))
    with Client(Access(signed_in.origin, "pk_nobody_0123456789")) as stranger, pytest.raises(Unauthorised, match="proctor login"):
        stranger.send(calls.me())


def test_a_local_run_is_told_live(server: Server, signed_in: Access) -> None:
    seen: list[str] = []

    def agent(context: proctor.AgentContext) -> str:
        seen.append(server.get(f"/api/runs/{context.run_id}")["state"])
        return "A: 1"

    job = sums(1).run_sync(agent, runtime=LocalRuntime(sample_env_file()))
    assert seen == ["running"] and job.url == f"{signed_in.origin}/jobs/{job.id}"
    there = server.get(f"/api/runs/{job.runs[0].id}")
    assert (there["state"], there["reward"], there["slug"], there["source"]) == ("completed", 1.0, "row-000", "reported")
    assert json.loads(there["evaluation"]) == job.runs[0].evaluation


def test_a_run_that_is_not_to_be_told_is_not(server: Server, signed_in: Access) -> None:
    job = sums(1).run_sync(proctor.replay(column="says"), runtime=LocalRuntime(sample_env_file()), report=False)
    assert job.url is None and job.reward == 1.0
    with Client() as client, pytest.raises(NotFound):
        client.send(calls.get_job(job.id))


def test_the_command_line_from_login_to_export(cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    said = cli("login", "--url", f"http://127.0.0.1:{server.port}", "--key-stdin")
    assert said.code == 0 and KEY not in said.err
    assert json.loads(cli("whoami", "--json").out)["email"] == "ada@example.test"
    sums(3).to_file("sums.jsonl")
    name = f"cli-{uuid.uuid4().hex[:8]}"
    assert "3 new" in cli("taskset", "push", "sums.jsonl", name, "-m", "first").err
    assert json.loads(cli("taskset", "push", "sums.jsonl", name, "--dry-run", "--json").out)["unchanged"] == 3
    assert [tag["name"] for tag in json.loads(cli("taskset", "tag", name, "stable", "--json").out)] == ["stable"]
    assert cli("taskset", "pull", f"{name}@stable", "-o", "back.jsonl").code == 0
    assert Path("back.jsonl").read_bytes() == Path("sums.jsonl").read_bytes()
    assert cli("taskset", "diff", name, "sums.jsonl", "--exit-code").code == 0
    assert name in cli("taskset", "list").out and "deployed" in cli("taskset", "show", name).out
    run = cli("run", f"{name}@stable", "--runtime", "hosted", "--agent", "replay:says", "--only", "row-000", "--only", "row-002", "--json", "--fail-under", "1")
    job = json.loads(run.out)
    assert (run.code, job["state"], job["reward"], job["taskset"]) == (0, "completed", 1.0, f"{name}@1")
    assert job["id"] in cli("jobs", "list").out and "2 graded" in cli("jobs", "show", job["id"]).out
    run_id = job["runs"][0]["id"]
    assert "evaluate solve" in cli("runs", "show", run_id).out
    assert [json.loads(line)["kind"] for line in cli("runs", "follow", run_id, "--json").out.splitlines()] == ["task", "user", "agent", "task"]
    exported = [json.loads(line) for line in cli("runs", "export", job["id"], "--steps").out.splitlines()]
    assert [(row["slug"], row["reward"], len(row["steps"])) for row in exported] == [("row-000", 1.0, 4), ("row-002", 1.0, 4)]
    assert cli("runs", "export", job["id"], "-o", "runs.csv").code == 0 and len(Path("runs.csv").read_text().splitlines()) == 3
    assert cli("taskset", "tag", name, "stable", "--delete").code == 0
    assert cli("logout").code == 0 and cli("whoami").code == 1


def test_variables_of_an_environment_are_set_and_never_shown(cli: Cli, signed_in: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("env", "secrets", "gsm8k", "--set", "JUDGE_KEY=sk-very-secret").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-from-a-pipe\n"))
    said = cli("env", "secrets", "gsm8k", "--set-stdin", "OTHER", "--json")
    assert [one["name"] for one in json.loads(said.out)] == ["JUDGE_KEY", "OTHER"] and "sk-" not in said.out + said.err
    assert [one["name"] for one in json.loads(cli("env", "secrets", "gsm8k", "--delete", "OTHER", "--json").out)] == ["JUDGE_KEY"]
    assert "gsm8k" in cli("env", "list").out


def test_build_arguments_are_sent(cli: Cli, signed_in: Access, server: Server, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    assert cli("env", "deploy", str(tmp_path), "--name", "built", "--no-wait", "--build-arg", "A=1=2", "--build-arg", "B=x&y", "--no-cache").code == 0
    ((args, no_cache),) = server.query("SELECT build_args, no_cache FROM environments_environmentversion v JOIN environments_environment e ON e.id = v.environment_id WHERE e.name = 'built'")
    assert (args if isinstance(args, dict) else json.loads(args), bool(no_cache)) == ({"A": "1=2", "B": "x&y"}, True)
    assert cli("env", "deploy", str(tmp_path), "--name", "built", "--build-arg", "A").code == 2
    assert cli("env", "deploy", "--image", "x:1", "--name", "built", "--no-cache").code == 2


def test_a_build_that_is_over_is_not_cancelled(cli: Cli, signed_in: Access) -> None:
    said = cli("env", "cancel", "gsm8k")
    assert said.code == 1 and said.err.startswith("error: ") and "Traceback" not in said.err
    assert "ready" in cli("env", "logs", "gsm8k").err


def test_reports_of_another_team_are_not_there(signed_in: Access) -> None:
    with Client() as client, pytest.raises(NotFound):
        client.send(calls.get_run(str(uuid.uuid4())))
