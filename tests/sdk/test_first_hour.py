"""docs/guide/first-hour.md, read and done by somebody new: a real server, real containers, the real HUD SDK."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.rollout.images import ensure_sample_image
from proctor.rollout.sandbox import docker_client
from tests.support.pages import Reader, blocks_of
from tests.support.server import KEY, ROOT, Server, running, until

pytestmark = [pytest.mark.server, pytest.mark.docker, pytest.mark.peer]
PAGE = ROOT / "docs" / "guide" / "first-hour.md"
PEERS = Path(os.environ.get("PROCTOR_PEERS") or ROOT / ".peers").resolve()


@pytest.fixture
def docker_server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path / "data") as server:
        until(server.ready, 60, why=server.log)
        yield server


def base_image() -> str:
    """The sample's own: there without a registry."""

    async def ensure() -> str:
        async with docker_client() as docker:
            made = await ensure_sample_image(docker, lambda text: None)
        assert made is not None
        return made.tag

    return asyncio.run(ensure())


def test_the_first_hour(docker_server: Server, tmp_path: Path) -> None:
    subprocess.run([ROOT / "tests" / "peers" / "kit" / "peers", PEERS, "hud-0.6.21"], check=True)
    address = f"http://127.0.0.1:{docker_server.port}"
    quiet = {"HUD_SKIP_VERSION_CHECK": "1", "HUD_CLI_ANALYTICS_ENABLED": "false", "HOME": str(tmp_path)}
    reader = Reader(tmp_path / "first-hour", {"SERVER": address, "KEY": KEY, "PROCTOR_BASE_IMAGE": base_image(), **quiet})
    for block in blocks_of(PAGE):
        if "hud-env/bin/pip" in block.body:  # installed once for all tests
            (reader.folder / "hud-env").symlink_to(PEERS / "hud-0.6.21")
        reader.do(block)
    until(lambda: not docker_server.containers(), 30, why=docker_server.log)  # a session is over before its sandbox is removed


def test_only_installing_is_left_to_the_reader() -> None:
    left = [block.body for block in blocks_of(PAGE) if block.kind == "console"]
    assert len(left) == 2 and all("pip install" in body for body in left)
