"""Journeys run on both kinds of instance: embedded (SQLite, the worker's own memory) and scaled (PostgreSQL, Redis)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import services
from tests.support.server import Server, running, until


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with services.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with services.redis() as url:
        yield url


@pytest.fixture(scope="module", params=["embedded", pytest.param("scaled", marks=pytest.mark.scaled)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kind_settings(kind: str, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """What makes an instance embedded or scaled."""
    if kind == "embedded":
        yield {}
        return
    with services.scaled_settings(request.getfixturevalue("postgres_url"), request.getfixturevalue("redis_url")) as settings:
        yield settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Path:
    """The data folder of the module's server."""
    return tmp_path_factory.mktemp(kind) / "data"


@pytest.fixture(scope="module")
def server(folder: Path, kind_settings: dict[str, str]) -> Iterator[Server]:
    """A started instance that runs the shipped sample as plain processes: no engine needed. One for the tests of a module."""
    with running(folder, PROCTOR_SANDBOX="subprocess", PROCTOR_SLOTS="8", **kind_settings) as server:
        until(server.ready, 60, why=server.log)
        yield server
