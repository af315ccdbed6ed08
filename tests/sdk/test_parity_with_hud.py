"""The same file, read by HUD's Taskset and by ours: the same tasks in the same order, by the same slugs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from proctor import Task, Taskset
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
