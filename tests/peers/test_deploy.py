"""`hud deploy`, `hud sync env`, `hud sync tasks` and `hud eval` of the unmodified command line 0.6.21: from a folder to graded hosted runs."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.peers.conftest import LETTERS, NEW, RIGHT, Sdk, base_image
from tests.support.server import KEY, Server, docker, until

pytestmark = [pytest.mark.peer, pytest.mark.server, pytest.mark.docker]


@dataclass(frozen=True)
class Hud:
    """The command line in one folder, with one key."""

    command: Path
    server: Server
    home: Path
    key: str = KEY

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        url = f"http://127.0.0.1:{self.server.port}"
        env = {
            **os.environ, "HOME": str(self.home), "HUD_API_KEY": self.key, "HUD_API_URL": url, "HUD_WEB_URL": url, "HUD_RUNTIME_URL": url,
            "HUD_TELEMETRY_URL": f"{url}/v3/api", "HUD_GATEWAY_URL": f"{url}/gateway", "HUD_SKIP_VERSION_CHECK": "1",
            "HUD_CLI_ANALYTICS_ENABLED": "false", "COLUMNS": "300", "NO_COLOR": "1", "GITHUB_TOKEN": SECRET,
        }  # fmt: skip
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([str(self.command), *arguments], env=env, cwd=self.home / "work", text=True, **pipes)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout, and all that it said."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, out + err

    def deploy(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        code, out, said = self.run("deploy", "--yes", "--json", *arguments)
        return code, json.loads(out) if out.strip() else {}, said


SECRET = f"token-{uuid.uuid4().hex}"


@pytest.fixture
def name() -> str:
    return f"letters-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def hud(peers: Path, server: Server, tmp_path: Path, name: str) -> Hud:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "env.py").write_text(LETTERS.read_text().replace('Environment("letters")', f'Environment("{name}")'))
    (folder / "Dockerfile.hud").write_text(f"FROM {base_image()}\nARG WORD=none\nLABEL word=$WORD\nCOPY env.py /opt/proctor/env.py\n")
    tasks = [{"env": name, "id": "count", "args": {"word": word}, "slug": word} for word in ("strawberry", "mirror")]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return Hud(peers / NEW / "bin" / "hud", server, tmp_path)


def test_a_folder_is_deployed_synced_evaluated_and_driven_through_the_tunnel(hud: Hud, server: Server, sdk: Sdk, name: str) -> None:
    """Issue 4, Show 1, as one story."""
    code, told, said = hud.deploy("--build-arg", "WORD=hello", "--env", "FOO=bar")
    assert code == 0, said
    assert told["success"] and told["status"] == "SUCCEEDED" and told["details"]["version"] == "1"
    assert [task["id"] for task in told["details"]["manifest"]["tasks"]] == ["count", "nan"]
    assert "COPY env.py" in said and "Version 1 is ready" in said, "the log was streamed"
    environment = server.get(f"/api/environments/{name}")
    assert environment["id"] == told["registry_id"] and environment["ready"]["capabilities"] == ["echo"]
    assert docker("inspect", "--format", "{{.Config.Labels.word}}", environment["ready"]["image"]) == ["hello"]
    assert [row["name"] for row in server.get(f"/api/environments/{name}/variables")["items"]] == ["FOO"]

    code, _, said = hud.run("sync", "env", name, "--yes")
    assert code == 0 and "Linked to" in said, said
    code, _, said = hud.run("sync", "tasks", f"set-{name}", "tasks.json", "--yes")
    assert code == 0 and "2 created" in said, said
    code, _, said = hud.run("eval", f"set-{name}", "openai_compatible", "--model", RIGHT, "--all", "--runtime", "hosted", "--yes")
    assert code == 0, said
    jobs = [job for job in server.get("/api/jobs?limit=100")["items"] if name in job["name"]]
    assert [(job["counts"]["expected"], job["counts"]["graded"]) for job in jobs] == [(2, 2)], said

    told = sdk.play("from-api", f"set-{name}", "3")
    assert sorted((run["slug"], run["reward"], run["status"]) for run in told["runs"]) == [("mirror", 1.0, "completed"), ("strawberry", 1.0, "completed")]
    shown = [server.get(f"/api/runs/{run['id']}") for run in told["runs"]]
    assert [(run["counted"], run["reward"]) for run in shown] == [("graded", 1.0)] * 2
    until(lambda: not server.get(f"/api/environments/{name}/sessions")["items"], 30)


def test_the_same_folder_is_built_once_and_again_on_demand(hud: Hud, server: Server, name: str) -> None:
    hud.deploy()
    (hud.home / "work" / "env.py").touch()
    code, told, said = hud.deploy()
    assert code == 0 and told["details"]["version"] == "2" and "Built before from the same content" in said, said
    code, told, said = hud.deploy("--no-cache")
    assert code == 0 and told["details"]["version"] == "3" and "Built before" not in said, said


def test_a_build_secret_reaches_its_step_and_no_log(hud: Hud, server: Server, name: str) -> None:
    program = f"print('{name} got', open('/run/secrets/GITHUB_TOKEN').read())"  # a step of its own: a cached one would print nothing
    uses = f'RUN --mount=type=secret,id=GITHUB_TOKEN ["/usr/local/bin/python3", "-c", "{program}"]\n'
    (hud.home / "work" / "Dockerfile.hud").write_text(f"FROM {base_image()}\nUSER 0\n{uses}COPY env.py /opt/proctor/env.py\n")
    code, told, said = hud.deploy("--secret", "id=GITHUB_TOKEN,env=GITHUB_TOKEN")
    assert code == 0 and told["status"] == "SUCCEEDED", said
    assert f"{name} got [secret]" in said and SECRET not in said
    assert SECRET not in server.http.get(f"/api/environments/{name}/versions/1/log").text
    assert server.query("SELECT count(*) FROM environments_environmentversion WHERE build_secrets_encrypted <> ''") == [(0,)]


def test_a_build_that_fails_says_at_which_step(hud: Hud, server: Server, name: str) -> None:
    (hud.home / "work" / "Dockerfile.hud").write_text(f"FROM {base_image()}\nCOPY nothing.txt /\n")
    code, told, said = hud.deploy()
    assert code == 1 and told["status"] == "FAILED" and "nothing.txt" in told["details"]["error_message"], said
    assert "Build error:" in said and f"FROM {base_image()}" in said
    log = server.get(f"/api/environments/{name}/versions/1")["log"]
    assert "FROM" in log and "nothing.txt" in log


def test_a_build_that_is_cancelled_stops_and_the_command_says_so(hud: Hud, server: Server, name: str) -> None:
    sleeps = 'RUN ["/usr/local/bin/python3", "-c", "import time; print(\'asleep now\', flush=True); time.sleep(600)  # NAME"]\n'
    (hud.home / "work" / "Dockerfile.hud").write_text(f"FROM {base_image()}\n{sleeps.replace('NAME', name)}")
    process = hud.start("deploy", "--yes", "--json")
    until(lambda: "asleep now" in (log_of(server, name) or ""), 120, why=server.log)
    assert steps_running(name)
    server.post(f"/api/environments/{name}/versions/1/cancel")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and json.loads(out)["status"] == "CANCELLED", out + err
    until(lambda: not steps_running(name), 30)


def log_of(server: Server, name: str) -> str | None:
    reply = server.http.get(f"/api/environments/{name}/versions/1")
    return reply.json()["log"] if reply.status_code == 200 else None


def steps_running(name: str) -> list[psutil.Process]:
    """Processes of a build's step that has the name in its program; the engine runs on this machine."""
    found = [process for process in psutil.process_iter(["cmdline"]) if any(f"# {name}" in word for word in process.info["cmdline"] or [])]
    return [process for process in found if process.info["cmdline"][0].endswith("python3")]


def test_another_team_cannot_deploy_into_it_or_read_its_log(hud: Hud, server: Server, other_key: str, name: str) -> None:
    _, told, said = hud.deploy()
    other = Hud(hud.command, server, hud.home, other_key)
    code, _, said = other.run("deploy", "--yes", "--json", "--registry-id", told["registry_id"])
    assert code == 1 and "not_found" in said, said
    code, _, said = other.run("sync", "env", name, "--yes")
    assert code == 1, said
