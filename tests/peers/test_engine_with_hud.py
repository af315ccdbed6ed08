"""Our engine against the real HUD environment server: contract 4 from the client's side."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from proctor.rollout.engine import run_rollout
from proctor.rollout.plan import SandboxSpec
from tests.support.rollouts import Collected, make_plan

pytestmark = pytest.mark.peer

ROOT = Path(__file__).parents[2]
PEERS = Path(os.environ.get("PROCTOR_PEERS", ROOT / ".peers"))
ENVIRONMENT = ROOT / "tests/support/hud_letters.py"


@pytest.fixture(params=["hud-0.6.21", "hud-0.6.12"])
def sandbox(request):
    python = PEERS / request.param / "bin" / "python"
    assert python.exists(), f"{request.param} is not installed in PROCTOR_PEERS"
    quiet = {"HUD_TELEMETRY_ENABLED": "false", "HUD_SKIP_VERSION_CHECK": "1"}
    return SandboxSpec("subprocess", command=[str(python.absolute()), "-m", "hud.environment.server", str(ENVIRONMENT)], env=quiet)


def plan(sandbox, answer="3", **changes):
    task = {"task_id": "count", "args_text": '{"word":"strawberry"}', "sandbox": sandbox}
    return make_plan(**(task | {"agent_type": "replay", "agent_config": {"answers": {"count-1": answer}}} | changes))


@pytest.mark.parametrize(("answer", "score"), [("3", 1.0), ("4", 0.0)])
async def test_a_task_of_a_real_hud_environment_is_graded(sandbox, answer, score):
    report = Collected()
    outcome = await run_rollout(plan(sandbox, answer), report)
    assert (outcome.status, outcome.failure) == ("completed", None)
    assert json.loads(outcome.evaluation_text)["score"] == score
    assert report.payloads("user")[0]["messages"][0]["content"]["text"] == "How many r's are in strawberry?"


@pytest.mark.parametrize(
    ("changes", "failure_class", "blame"),
    [
        ({"task_id": "nope"}, "setup", "task"),
        ({"args_text": '{"zzz":1}'}, "setup", "environment"),
        ({"task_id": "breaks", "args_text": "{}"}, "grading", "grader"),
    ],
)
async def test_what_a_real_hud_environment_refuses_is_blamed_on_the_right_party(sandbox, changes, failure_class, blame):
    outcome = await run_rollout(plan(sandbox, **changes), Collected())
    assert (outcome.failure.failure_class, outcome.failure.blame) == (failure_class, blame)
