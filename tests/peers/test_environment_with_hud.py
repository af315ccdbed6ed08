"""The unmodified HUD SDK, both releases, runs tasks against an environment written with `proctor.environment`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = Path(os.environ.get("PROCTOR_PEERS", ROOT / ".peers"))

pytestmark = pytest.mark.peer


@pytest.fixture
def address():
    command = [sys.executable, "-m", "proctor.environment", str(ROOT / "tests/support/letters_env.py")]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "platform")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        yield "tcp://127.0.0.1:" + process.stdout.readline().strip().partition("HUD_SERVE_PORT=")[2]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("release", ["hud-0.6.21", "hud-0.6.12"])
def test_the_real_hud_client_runs_our_environment(address, release):
    command = [str(PEERS / release / "bin/python"), str(Path(__file__).with_name("hud_drives_environment.py")), address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert [reward for reward, _status in seen["runs"]] == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert {status for _reward, status in seen["runs"]} == {"completed"}
    assert seen["reward"] == pytest.approx(4 / 6)
    assert seen["listed"] == ["count", "nan"]
    assert seen["echoed"] == "ping"
    assert seen["errors"] == [
        [-32602, "unknown task: 'nope'"],
        [-32000, "task 'count': bad args ['zzz']: got an unexpected keyword argument 'zzz'"],
        [-32000, "task 'nan' graded with a non-finite score (nan): yield a finite number"],
    ]
    assert seen["resumed"] == 1.0
