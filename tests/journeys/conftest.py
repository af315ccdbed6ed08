"""Journeys run on both kinds of instance: embedded (SQLite, the worker's own memory) and scaled (PostgreSQL, Redis)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.rollout.images import ensure_sample_image
from proctor.rollout.sandbox import docker_client
from tests.support import services
from tests.support.server import Server, running

SCALED = pytest.param("scaled", marks=pytest.mark.scaled)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with services.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with services.redis() as url:
        yield url


@pytest.fixture(params=["embedded", SCALED])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kind_settings(kind: str, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """What makes an instance embedded or scaled."""
    if kind == "embedded":
        yield {}
        return
    with services.scaled_settings(request.getfixturevalue("postgres_url"), request.getfixturevalue("redis_url")) as settings:
        yield settings


@pytest.fixture(scope="module")
def scaled_instance_settings(postgres_url: str, redis_url: str) -> Iterator[dict[str, str]]:
    """The same, for a server that a module shares."""
    with services.scaled_settings(postgres_url, redis_url) as settings:
        yield settings


@pytest.fixture
def server(tmp_path: Path, kind_settings: dict[str, str]) -> Iterator[Server]:
    """A started instance that runs the shipped sample as plain processes: no engine needed."""
    with running(tmp_path / "data", PROCTOR_SANDBOX="subprocess", PROCTOR_SLOTS="8", **kind_settings) as server:
        yield server


@pytest.fixture
async def sample_image() -> str:
    async with docker_client() as docker:
        image = await ensure_sample_image(docker, print)
    assert image is not None
    return image.tag
