"""HUD's SDK and ours side by side: the same file gives the same tasks; an environment written with `hud` runs here as it is."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import proctor
from proctor import LocalRuntime, Task, Taskset
from proctor.rollout.plan import SandboxSpec
from tests.support.server import ROOT

pytestmark = pytest.mark.peer
PEERS = Path(os.environ.get("PROCTOR_PEERS") or ROOT / ".peers").resolve()
READ = """
import json, sys
from hud.eval import Taskset
taskset = Taskset.from_file(sys.argv[1])
print(json.dumps({
    "len": len(taskset), "iter": [task.slug for task in taskset], "items": [[slug, task.args] for slug, task in taskset.items()],
    "one": taskset[sys.argv[2]].args, "envs": sorted(taskset.environment_names()),
    "part": [task.slug for task in taskset.filter([sys.argv[2]])], "rest": [task.slug for task in taskset.exclude([sys.argv[2]])],
}))
"""


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_both_read_the_same_file_alike(tmp_path: Path, ending: str) -> None:
    subprocess.run([ROOT / "tests" / "peers" / "kit" / "peers", PEERS, "hud-0.6.21"], check=True)
    made = Taskset("t", [Task("letters", "count", {"word": "bänana", "n": 1.5}), Task("letters", "count"), Task("maths", "solve", {"q": [1, {"a": None}]}, slug="q", verifier=Task("judge", "check"))])
    path = made.to_file(tmp_path / f"tasks.{ending}")
    ours = Taskset.from_file(path)
    first = next(iter(ours)).slug
    answer = subprocess.run([PEERS / "hud-0.6.21" / "bin" / "python", "-c", READ, path, first], check=True, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    assert json.loads(answer.stdout.splitlines()[-1]) == {
        "len": len(ours), "iter": [task.slug for task in ours], "items": [[slug, task.args] for slug, task in ours.items()], "one": ours[first].args,
        "envs": sorted(ours.environment_names()), "part": [first], "rest": [task.slug for task in ours.exclude([first])],
    }  # fmt: skip


class WithHud(LocalRuntime):
    """The same, by the interpreter that has `hud`; a user's own has both."""

    def spec(self, task: Any) -> SandboxSpec:
        made = super().spec(task)
        variables = {name: value for name, value in made.env.items() if name != "PYTHONPATH"}
        return replace(made, command=[str(PEERS / "hud-0.6.21" / "bin" / "python"), *made.command[1:]], env=variables)


async def test_an_environment_written_with_hud_runs_as_it_is(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tests" / "peers" / "kit" / "peers", PEERS, "hud-0.6.21"], check=True)
    (tmp_path / "env.py").write_text(
        "from hud.environment import Environment\nenv = Environment('letters')\n"
        "@env.template()\nasync def count(word: str = 'a', letter: str = 'a'):\n"
        "    answer = yield f'How many {letter} in {word}?'\n    yield 1.0 if answer == str(word.count(letter)) else 0.0\n"
    )
    task = Task("letters", "count", {"word": "banana", "letter": "a"}, columns={"says": "3"})
    job = await task.run(proctor.replay(column="says"), runtime=WithHud(tmp_path / "env.py"))
    assert job.reward == 1.0, (job.runs[0].error, job.runs[0].log_tail[-2000:])
