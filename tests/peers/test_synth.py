"""The real synth-ai 0.2.23.dev3: its server driven by us, its TaskAppClient driving us, its models judging what we write.

The server is `synth/counting_task_app.py` (the package's routing, keys, validation and serialisation under an executor of ours) with a mock
model; both run in the peer's own environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.taskapp.client import Target, TaskAppClient
from proctor.taskapp.correlation import echo
from proctor.taskapp.inference import normalise_inference_url
from proctor.taskapp.probe import probe
from proctor.taskapp.rollouts import RolloutRequest, RolloutResponse, alternating
from proctor.taskapp.validate import validate
from tests.support.fake_model import FakeModel, Reply, fake_model, says
from tests.support.fake_task_app import recorded
from tests.support.server import ROOT, Server, free_port, running, until

pytestmark = [pytest.mark.peer, pytest.mark.server]

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("PROCTOR_PEERS") or ROOT / ".peers").resolve()
SYNTH, PEER_KEY = "synth-0.2.23.dev3", "test-key-main-0123456789"
SAMPLES = ROOT / "platform" / "proctor" / "samples" / "gsm8k" / "tasks.jsonl"


@pytest.fixture(scope="module")
def python() -> str:
    """The peer's own, installed by the kit when it is missing."""
    subprocess.run([HERE / "kit" / "peers", PEERS, SYNTH], check=True)
    return str(PEERS / SYNTH / "bin" / "python")


@contextlib.contextmanager
def serving(python: str, script: str, path: str, **variables: str) -> Iterator[str]:
    """One of the scripts as a server; its URL, once it answers."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = {**os.environ, "PORT": str(port), "SYNTH_TUI_DISABLED": "1", **variables}
    process = subprocess.Popen([python, str(HERE / "synth" / script)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:

        def answers() -> bool:
            assert process.poll() is None, f"{script} ended with {process.returncode}"
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(url + path, timeout=5).status_code < 500
            return False

        until(answers, 90)
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def llm(python: str) -> Iterator[str]:
    with serving(python, "mock_llm.py", "/seen") as url:
        yield url


@pytest.fixture(scope="module")
def counting(python: str) -> Iterator[str]:
    with serving(python, "counting_task_app.py", "/", ENVIRONMENT_API_KEY=PEER_KEY, ENVIRONMENT_API_KEY_ALIASES="alias-a,alias-b") as url:
        yield url


@pytest.fixture(scope="module")
def model() -> Iterator[FakeModel]:
    answers = {json.loads(line)["args"]["question"]: json.loads(line)["args"]["answer"] for line in SAMPLES.read_text().splitlines()}

    def solve(body: dict[str, Any]) -> Any:
        asked = json.dumps(body["messages"], ensure_ascii=False)
        return says(next((f"A: {answer}" for question, answer in answers.items() if json.dumps(question, ensure_ascii=False)[1:-1] in asked), "A: 0"))

    with fake_model(solve) as model:
        yield model


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: FakeModel) -> Iterator[Server]:
    """Without containers: the shipped sample as a plain process, and Task Apps."""
    variables = {"PROCTOR_SANDBOX": "subprocess", "PROCTOR_MODEL_ENDPOINT": f"stub-*|{model.base_url}|unused", "PROCTOR_TASK_APP_POLL": "1"}
    with running(tmp_path_factory.mktemp("synth") / "data", **variables) as server:
        until(server.ready, 60, why=server.log)
        rows = [json.loads(line) for line in SAMPLES.read_text().splitlines()[:4]]
        server.post("/v2/tasks/upload", {"taskset_name": "sums", "tasks": rows})
        until(lambda: server.get("/api/environments")["items"], 60, why=server.log)
        yield server


# — their server, driven by us


async def test_c1_the_real_server_is_read_probed_and_damaged_as_recorded(counting: str) -> None:
    client = TaskAppClient(counting, "alias-b")
    info, marks = await client.info()
    assert info.service is not None and "dataset" in [mark.path for mark in marks]
    assert [one.info.task_metadata["index"] for one in await client.task_info([0, 1, 37])] == [0, 1, 5]
    assert await client.taskset() == {"id": "counting", "name": "Counting", "splits": ["train", "test"], "size": 16}
    assert all(check.ok for check in await probe(Target(counting, PEER_KEY, False)))
    assert {check.cause for check in await probe(Target(counting, "wrong", False)) if check.endpoint not in ("/", "/rollout")} == {"auth"}


async def test_c1_every_trace_format_of_the_real_server_yields_the_same_turns(counting: str, llm: str) -> None:
    client = TaskAppClient(counting, PEER_KEY)
    seen = []
    for trace_format in ("structured", "full", "compact"):
        policy = {"config": {"model": "mock-1", "inference_url": f"{llm}/v1?cid=trace_x"}}
        record = {"return_trace": True, "trace_format": trace_format, "logprobs": True}
        body = {"run_id": "r", "mode": "rl", "env": {"seed": 1, "env_name": "counting"}, "policy": policy, "ops": alternating(4), "record": record}
        found = await client.rollout(RolloutRequest.model_validate(body), within_s=30, correlation_id="trace_x")
        assert (found.envelope, found.flags, found.correlation_id) == (trace_format, [], "trace_x")
        assert all(turn.sample and turn.sample["logprobs"] == [-0.1] for turn in found.turns)
        seen.append([(turn.reward, [(call.name, call.arguments) for call in turn.tool_calls]) for turn in found.turns])
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) == 4


async def test_c1_validate_names_what_the_real_server_leaks_and_loses(counting: str) -> None:
    findings = await validate(Target(counting, PEER_KEY, False))
    assert {one.subject for one in findings if one.level == "warning"} == {"auth", "auth_leak", "cors", "damage"}
    assert [one for one in findings if one.level == "error"] == []


def test_the_real_server_is_an_environment_of_ours(server: Server, counting: str, llm: str) -> None:
    made = server.post("/api/task-apps", {"name": "counting", "url": counting, "api_key": PEER_KEY})
    assert made["healthy"] and made["size"] == 16
    assert server.post("/api/task-apps/counting/pull", {"taskset": "counted", "seeds": [0, 1, 2], "splits": ["train"]})["created"] == 3
    config = {"mode": "rl", "turns": 4, "policy": {"model": "mock-1", "inference_url": f"{llm}/v1", "api_key": "sk-policy-secret"}}
    job = server.post("/api/jobs", {"taskset": "counted", "agent": {"type": "task_app", "config": config}, "group": 2})
    ended = until(lambda: (found := server.get(f"/api/jobs/{job['id']}"))["state"] == "completed" and found, 60, why=server.log)
    assert (ended["counts"]["graded"], ended["mean_reward"]) == (6, 1.0)
    run = server.get(f"/api/jobs/{job['id']}/runs")["items"][1]
    steps = server.get(f"/api/runs/{run['id']}/steps")["items"]
    assert {step["kind"] for step in steps} == {"task", "user", "agent", "tool", "system"}
    samples = [step["payload"]["extra"]["decision_sample"] for step in steps if step["kind"] == "agent"]
    assert samples and all(sample["tokens"] == ["add"] for sample in samples)
    assert "sk-policy-secret" not in json.dumps(steps) + server.log() and PEER_KEY not in json.dumps(steps) + server.log()
    called = [call["cid"] for call in httpx.get(f"{llm}/seen").json()]
    assert run["id"].replace("-", "") in called


def test_c1_a_real_server_that_is_killed_turns_red_and_its_run_is_lost_after_one_post(server: Server, python: str) -> None:
    with fake_model(Reply("", silent=True)) as silent, serving(python, "counting_task_app.py", "/", ENVIRONMENT_API_KEY=PEER_KEY) as url:
        server.post("/api/task-apps", {"name": "dying", "url": url, "api_key": PEER_KEY})
        server.post("/api/task-apps/dying/pull", {"taskset": "dying", "seeds": [0], "splits": ["train"]})
        config = {"policy": {"model": "m", "inference_url": silent.base_url}}
        job = server.post("/api/jobs", {"taskset": "dying", "agent": {"type": "task_app", "config": config}})
        until(lambda: silent.requests, 30, why=server.log)
    run = until(lambda: (found := server.get(f"/api/jobs/{job['id']}/runs")["items"][0])["state"] == "error" and found, 30, why=server.log)
    assert (run["failure_class"], run["blame"], run["reward"], run["attempt"], len(silent.requests)) == ("peer_lost", "environment", None, 1, 1)
    body = until(lambda: not (found := server.get("/api/task-apps/dying"))["healthy"] and found, 20, why=server.log)
    assert {check["cause"] for check in body["checks"]} == {"refused"}


# — their client, driving us


def test_c1_the_real_client_drives_a_taskset_of_ours_unchanged(server: Server, python: str, model: FakeModel) -> None:
    key = server.post("/api/tasksets/sums/task-app-keys", {"name": "synth"})["secret"]
    command = [python, str(HERE / "synth" / "client_scenarios.py"), "client", f"http://127.0.0.1:{server.port}/task-apps/sums", key, model.base_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env={**os.environ, "ENVIRONMENT_API_KEY_ALIASES": ""})
    assert done.returncode == 0, done.stderr[-3000:] + server.log()
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["health"]["healthy"] is True and [task["task_metadata"]["index"] for task in told["tasks"]] == [0, 1]
    for name in ("eval", "rl"):
        assert told[name]["metrics"]["mean_return"] == 1.0, told[name]
    assert (told["rl_issues"], told["cid_ok"]) == ([], True)
    assert told["rl"]["trace_correlation_id"] == "trace_abc" and told["rl"]["trace"]["session_trace"]["event_history"]
    assert any(path.endswith("/chat/completions?cid=trace_abc") for path in model.paths)
    jobs = [job for job in server.get("/api/jobs")["items"] if "Task App" in job["name"]]
    assert sum(job["counts"]["graded"] for job in jobs) == 2  # the repeated training request was the same run


# — their models, judging what we write


def judged(python: str, items: list[dict[str, Any]]) -> int:
    lines = "\n".join(json.dumps(item) for item in items)
    done = subprocess.run([python, str(HERE / "synth" / "client_scenarios.py"), "check"], input=lines, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(json.loads(done.stdout.splitlines()[-1])["validated"])


values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
configs = st.dictionaries(st.text(max_size=10), values, max_size=4)
requests = st.builds(
    lambda run, mode, seed, config, ops, record: {"run_id": run, "mode": mode, "env": {"seed": seed, "config": config}, "policy": {"config": config}, "ops": ops, "record": record},
    st.text(max_size=20), st.sampled_from(["rl", "eval"]), st.none() | st.integers(0, 10**9), configs,
    st.lists(st.sampled_from(["agent", "env"]), max_size=6) | st.lists(st.fixed_dictionaries({"type": st.just("agent")}), min_size=1, max_size=3),
    st.fixed_dictionaries({"logprobs": st.booleans(), "trace_format": st.sampled_from(["compact", "full", "structured"])}),
)  # fmt: skip


def test_c1_two_hundred_requests_of_ours_and_a_response_are_valid_for_the_package(python: str) -> None:
    made: list[dict[str, Any]] = []

    @settings(max_examples=200, database=None, suppress_health_check=list(HealthCheck))
    @given(requests)
    def make(body: dict[str, Any]) -> None:
        made.append({"kind": "request", "body": json.loads(RolloutRequest.model_validate(body).model_dump_json())})

    make()
    response = echo(json.loads(RolloutResponse.model_validate(recorded("10-")).model_dump_json()), "trace")
    urls = [{"kind": "url", "body": [given, normalise_inference_url(given)]} for given in ("http://h/v1", "http://h:8001/v1/chat", "http://h/v1?cid=t")]
    assert len(made) >= 200 and judged(python, [*made, {"kind": "response", "body": response}, *urls]) == len(made) + 4


def test_the_command_line_judges_the_real_server(counting: str) -> None:
    command = [sys.executable, "-c", "from proctor.cli import main; main()", "task-app", "validate", counting, "--key", PEER_KEY]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    plain, strict = (subprocess.run([*command, *more], capture_output=True, text=True, env=env, timeout=60) for more in ([], ["--strict"]))
    assert (plain.returncode, strict.returncode) == (0, 1), plain.stdout + plain.stderr
    assert "auth_leak" in plain.stdout and "cors" in plain.stdout and PEER_KEY not in plain.stdout


def test_loops_do_not_share_connections(counting: str) -> None:
    """Each loop has a client of its own, so that commands and threads may come and go."""
    for _ in range(2):
        assert asyncio.run(TaskAppClient(counting, PEER_KEY).health())["healthy"] is True
