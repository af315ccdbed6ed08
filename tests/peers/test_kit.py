"""The acceptance kit, unchanged, against the whole product: the real SDK in both releases and the real CLI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.peers.conftest import KIT, NEW, OLD, RIGHT
from tests.support.server import KEY, Server

pytestmark = [pytest.mark.peer, pytest.mark.server, pytest.mark.docker]
HOSTED = ("letters", "count", '{"word": "strawberry", "letter": "r"}', RIGHT, "1.0")


def passed_all(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].endswith(", 0 failed"), done.stdout


@pytest.mark.parametrize("release", [NEW, OLD])
def test_every_check_of_the_sdk_passes(release: str, peers: Path, server: Server, other_key: str) -> None:
    url = f"http://127.0.0.1:{server.port}"
    passed_all(
        [peers / release / "bin/python", KIT / "hud_client.py", "--url", url, "--key", KEY, "--other-key", other_key, "--hosted", *HOSTED]
    )
    assert server.containers() == []


def test_every_check_of_the_command_line_passes(peers: Path, server: Server) -> None:
    passed_all([KIT / "hud_cli", peers / NEW, f"http://127.0.0.1:{server.port}", KEY])
