"""What SDK tests share: nobody is signed in unless a test says so, a command line in this process, and one real server for those marked so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from proctor import Task, Taskset
from proctor.cli import main
from proctor.client import Access
from tests.support.server import KEY, Server, running, until

LETTERS = Path(__file__).parents[1] / "support" / "letters_env.py"


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture(autouse=True)
def nobody_is_signed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PROCTOR_URL", "PROCTOR_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """`proctor …` in an empty folder."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    def call(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["proctor", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Said(int(ended.value.code or 0), captured.out, captured.err)

    return call


def letters(*words: str) -> Taskset:
    """Count the a's; the right answer stands in the column `says`."""
    return Taskset("letters", [Task("letters", "count", {"word": word, "letter": "a"}, slug=word, columns={"says": str(word.count("a"))}) for word in words])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Runs the shipped sample's environment as plain processes."""
    with running(tmp_path_factory.mktemp("sdk") / "data", PROCTOR_SANDBOX="subprocess") as server:
        until(server.ready, 60, why=server.log)
        until(lambda: any(one["name"] == "gsm8k" and one["ready"] for one in server.get("/api/environments")["items"]), 60, why=server.log)
        yield server


@pytest.fixture
def signed_in(server: Server, monkeypatch: pytest.MonkeyPatch) -> Access:
    """At the real server."""
    access = Access(f"http://127.0.0.1:{server.port}", KEY)
    monkeypatch.setenv("PROCTOR_URL", access.origin)
    monkeypatch.setenv("PROCTOR_API_KEY", access.api_key)
    return access
