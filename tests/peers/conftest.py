"""One instance for all peers: a built environment `letters`, a scripted model, and the keys of two teams.

The peers are in `$PROCTOR_PEERS` (default `.peers`); what is missing there is installed by the kit's own script.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proctor.rollout.images import ensure_sample_image
from proctor.rollout.sandbox import docker_client
from tests.support.fake_model import FakeModel, Reply, fake_model, says
from tests.support.server import KEY, ROOT, Server, running, until

HERE = Path(__file__).parent
KIT, LETTERS = HERE / "kit", ROOT / "tests" / "support" / "letters_env.py"
PEERS = Path(os.environ.get("PROCTOR_PEERS") or ROOT / ".peers").resolve()
OLD, NEW = "hud-0.6.12", "hud-0.6.21"
RIGHT, SILENT = "stub-right", "stub-silent"


@pytest.fixture(scope="session")
def peers() -> Path:
    subprocess.run([KIT / "peers", PEERS, OLD, NEW], check=True)
    return PEERS


@pytest.fixture(scope="session")
def model() -> Iterator[FakeModel]:
    """`stub-right` counts three of them; `stub-silent` never answers."""

    def answer(body: dict[str, Any]) -> Reply:
        return Reply("", silent=True) if body["model"] == SILENT else says("3")

    with fake_model(answer) as model:
        yield model


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, model: FakeModel) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("peers") / "data", PROCTOR_MODEL_ENDPOINT=f"stub-*|{model.base_url}|unused") as server:
        until(server.ready, 60, why=server.log)
        build_letters(server)
        yield server


def build_letters(server: Server) -> None:
    """As a team would: a tar of a folder with a Dockerfile, built by the worker."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for name, content in (
            ("Dockerfile", f"FROM {base_image()}\nCOPY env.py /opt/proctor/env.py\n".encode()),
            ("env.py", LETTERS.read_bytes()),
        ):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    server.call("POST", "/api/environments?name=letters", body.getvalue(), headers={"Content-Type": "application/x-tar"})
    newest = until(lambda: finished_version(server), 120, why=server.log)
    assert newest["status"] == "ready", newest


def finished_version(server: Server) -> dict[str, Any] | None:
    newest: dict[str, Any] = server.get("/api/environments/letters/versions")["items"][0]
    return newest if newest["status"] in ("ready", "failed") else None


def base_image() -> str:
    async def make() -> str:
        async with docker_client() as docker:
            image = await ensure_sample_image(docker, print)
        assert image is not None
        return image.tag

    return asyncio.run(make())


@pytest.fixture(scope="session")
def other_key(server: Server) -> str:
    """A second team's, made as an administrator makes it."""
    command = [sys.executable, str(ROOT / "manage.py"), "team", "Cygnus"]
    return subprocess.run(command, env=server.env, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Sdk:
    """Scenarios of `sdk_scenarios.py`, played by the real SDK in a process of its own."""

    python: Path
    url: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, scenario: str, *arguments: str, key: str = KEY) -> subprocess.Popen[str]:
        command = [str(self.python), str(HERE / "sdk_scenarios.py"), self.url, key, scenario, *arguments]
        self.started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.started[-1]

    def play(self, scenario: str, *arguments: str, key: str = KEY) -> Any:
        return self.result(self.start(scenario, *arguments, key=key))

    def result(self, process: subprocess.Popen[str]) -> Any:
        """What the scenario printed last, as JSON."""
        out, err = process.communicate(timeout=180)
        assert process.returncode == 0, err[-3000:]
        return json.loads(out.splitlines()[-1])


@pytest.fixture
def sdk(peers: Path, server: Server) -> Iterator[Sdk]:
    sdk = Sdk(peers / NEW / "bin" / "python", f"http://127.0.0.1:{server.port}")
    yield sdk
    for process in sdk.started:
        process.kill()
        process.communicate()


@pytest.fixture
def run_of(server: Server) -> Callable[[str], dict[str, Any]]:
    """A run by its id, as the native API shows it."""
    return lambda run_id: server.get(f"/api/runs/{run_id}")
