"""The subprocess sandbox: it runs real servers, keeps our secrets from them, and leaves no process behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.plan import Deadlines, SandboxSpec
from proctor.rollout.processes import SubprocessEngine
from tests.support.environments import EXITS, GARBAGE, LINGERS, SAMPLE_ARGS, python, serve_sample
from tests.support.rollouts import Collected, make_plan


def spec(command, **env):
    return SandboxSpec("subprocess", command=command, env=env)


def sample_plan(answer: str, **changes):
    replay = {"agent_type": "replay", "agent_config": {"answers": {"count-1": answer}}}
    return make_plan(task_id="solve", args_text=SAMPLE_ARGS, sandbox=spec(serve_sample()), **(replay | changes))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_gone(pid: int) -> bool:
    return wait_until(lambda: not alive(pid))


def wait_until(condition) -> bool:
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


async def output_of(sandbox, word: str) -> str:
    while word not in (await sandbox.tail()).decode():
        await asyncio.sleep(0.01)
    return (await sandbox.tail()).decode()


@pytest.mark.parametrize(("answer", "score"), [("A: 3", '"score":1.0'), ("A: 4", '"score":0.0'), ("three", '"score":0.0')])
async def test_the_shipped_sample_is_asked_answered_and_graded(answer, score):
    report = Collected()
    outcome = await run_rollout(sample_plan(answer), report)
    assert (outcome.status, outcome.failure) == ("completed", None)
    assert score in outcome.evaluation_text.replace(" ", "")
    assert report.payloads("user")[0]["messages"][0]["content"]["text"] == "What is 1 + 2?"
    assert b"HUD_SERVE_PORT=" in outcome.log_tail


@pytest.mark.parametrize(
    ("program", "startup_s", "failure_class", "words"),
    [
        (EXITS, 60.0, "environment_exit", "exit code 3. Its output ends:\nno licence found"),
        (LINGERS, 2.0, "environment_start", "did not serve within 2 s. Its output ends:\nhere"),
        (GARBAGE.format(port=0), 60.0, "environment_protocol", "HTTP/1.1 400"),
    ],
)
async def test_a_program_that_is_no_environment_is_to_blame_with_its_last_words(program, startup_s, failure_class, words):
    plan = make_plan(sandbox=spec(python(program)), deadlines=Deadlines(startup_s=startup_s))
    outcome = await run_rollout(plan, Collected())
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, "environment")
    assert words in outcome.failure.message


async def test_a_command_that_does_not_exist_is_the_environments_failure():
    outcome = await run_rollout(make_plan(sandbox=spec(["/no/such/program"])), Collected())
    assert outcome.failure.failure_class == "environment_exit"
    assert "cannot start /no/such/program" in outcome.failure.message


async def test_the_process_sees_its_own_variables_and_none_of_ours(monkeypatch):
    monkeypatch.setenv("PROCTOR_SECRET", "do-not-show")
    sandbox = await SubprocessEngine().start(spec(python("import os; print(dict(os.environ), 'end')"), GIVEN="yes"), {})
    shown = await output_of(sandbox, "end")
    assert await sandbox.remove()
    assert "'GIVEN': 'yes'" in shown and "do-not-show" not in shown


async def test_removal_ends_the_whole_group_and_its_folder():
    program = "import os,time; p=os.fork(); print(p, os.getcwd(), 'end', flush=True) if p else None; time.sleep(600)"
    sandbox = await SubprocessEngine().start(spec(python(program)), {})
    pid, folder, _ = (await output_of(sandbox, "end")).split()
    assert await sandbox.remove()
    assert wait_gone(int(pid))
    assert not Path(folder).exists()


async def test_output_is_kept_to_its_last_256_kibibytes():
    sandbox = await SubprocessEngine().start(spec(python("print('x' * 3_000_000); print('end')")), {})
    await output_of(sandbox, "end")
    assert len(await sandbox.tail()) == 256 * 1024
    await sandbox.remove()


KILLED_WORKER = """
import asyncio, sys
from proctor.rollout.processes import SubprocessEngine
from proctor.rollout.plan import SandboxSpec

async def main():
    program = "import os,time; p=os.fork(); os.write(1, b'%d %s\\\\n' % (os.getpid(), os.getcwdb())); time.sleep(600)"
    sandbox = await SubprocessEngine().start(SandboxSpec("subprocess", command=[sys.executable, "-c", program]), {})
    while (await sandbox.tail()).count(b"\\n") < 2:
        await asyncio.sleep(0.01)
    print((await sandbox.tail()).decode(), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_kill_minus_nine_of_the_worker_leaves_no_process_and_no_folder():
    worker = subprocess.Popen([sys.executable, "-c", KILLED_WORKER], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "platform"})
    lines = [worker.stdout.readline().decode().split() for _ in range(2)]
    pids, folder = [int(pid) for pid, _ in lines], Path(lines[0][1])
    assert all(alive(pid) for pid in pids)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    assert all(wait_gone(pid) for pid in pids)
    assert wait_until(lambda: not folder.exists())
