"""The real `hud harbor import`: task folders into a taskset, its report, and the same folders again."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.peers.conftest import NEW
from tests.support.server import KEY, Server, running, until

pytestmark = [pytest.mark.peer, pytest.mark.server]
TOML = 'schema_version = "1.0"\n[metadata]\nlevel = 1.10\n[agent]\ntimeout_sec = 60.0\n[environment]\ncpus = 1\n'


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Imports need no engine."""
    with running(tmp_path_factory.mktemp("harbor") / "data", PROCTOR_SANDBOX="subprocess") as server:
        until(server.ready, 60, why=server.log)
        yield server


@dataclass(frozen=True)
class Hud:
    command: Path
    server: Server
    home: Path

    def run(self, *arguments: str) -> tuple[int, Any, str]:
        """Exit code, the JSON it printed, and all it said."""
        url = f"http://127.0.0.1:{self.server.port}"
        env = {
            **os.environ,
            "HOME": str(self.home),
            "HUD_API_KEY": KEY,
            "HUD_API_URL": url,
            "HUD_WEB_URL": url,
            "HUD_TELEMETRY_URL": url,
            "COLUMNS": "300",
        }
        done = subprocess.run(
            [str(self.command), "harbor", *arguments, "--json"], env=env, cwd=self.home, capture_output=True, text=True, timeout=120
        )
        found = json.loads(done.stdout) if done.stdout.strip() else None
        return done.returncode, found, done.stdout + done.stderr


@pytest.fixture
def hud(peers: Path, plain_server: Server, tmp_path: Path) -> Hud:
    home = tmp_path / "home"
    home.mkdir()
    return Hud(peers / NEW / "bin" / "hud", plain_server, home)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    root = tmp_path / f"set-{uuid.uuid4().hex[:8]}"
    for name in ("hello-world", "second-task"):
        (root / name / "environment").mkdir(parents=True)
        (root / name / "task.toml").write_text(TOML)
        (root / name / "instruction.md").write_text(f"Do {name}.\n")
        (root / name / "environment" / "Dockerfile").write_text("FROM scratch\n")
    return root


def statuses(found: Any) -> dict[str, str]:
    return {task["name"]: task["status"] for task in found["report"]["tasks"]}


def test_task_folders_are_imported_and_reported(hud: Hud, folders: Path, plain_server: Server) -> None:
    code, found, said = hud.run("import", str(folders), "--yes")
    assert code == 0, said
    assert found["import"]["status"] == "completed" and found["report"]["schema_version"] == "harbor_import_report.v5"
    assert statuses(found) == {"hello-world": "imported", "second-task": "imported"}
    assert "can't run that kind yet" in found["report"]["warnings"][0]["reason"]
    taskset = plain_server.get(f"/api/tasksets/{folders.name}")
    assert taskset["head"]["task_count"] == 2 and taskset["environments"] == ["hello-world", "second-task"]
    assert plain_server.get("/api/environments/hello-world")["kind"] == "folder"

    code, again, said = hud.run("import", str(folders), "--yes")
    assert code == 0 and set(statuses(again).values()) == {"unchanged"}, said
    (folders / "hello-world" / "instruction.md").write_text("Do it well.\n")
    (folders / "second-task" / "task.toml").write_text("broken =")
    code, third, said = hud.run("import", str(folders), "--yes")
    assert code == 0 and statuses(third) == {"hello-world": "updated", "second-task": "failed"}, said
    assert plain_server.get(f"/api/tasksets/{folders.name}")["head"]["number"] == 2

    code, listed, said = hud.run("imports", "--taskset", folders.name)
    assert code == 0 and listed["total"] == 3, said
    code, shown, said = hud.run("report", listed["imports"][0]["id"])
    assert code == 0 and shown["report"] == third["report"], said
    code, ended, said = hud.run("cancel", listed["imports"][0]["id"], "--yes")
    assert code == 0 and ended["status"] == "completed", said
