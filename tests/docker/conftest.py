"""What Docker tests share: the sample's image, and an engine under an instance label of its own that must end up empty."""

from __future__ import annotations

import uuid

import pytest

from proctor.rollout.images import ensure_sample_image
from proctor.rollout.sandbox import DockerEngine, docker_client


@pytest.fixture
async def sample_image():
    async with docker_client() as docker:
        image = await ensure_sample_image(docker, print)
    assert image is not None, "neither a base image nor this machine's interpreter gave the sample's image"
    return image.tag


@pytest.fixture
def instance():
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def labels(instance):
    return {"proctor.instance": instance, "proctor.run": uuid.uuid4().hex, "proctor.attempt": "1", "proctor.expiry": "4102444800"}


@pytest.fixture
async def engine(instance):
    """After every test, whatever it did, no container of its instance may be there."""
    async with DockerEngine() as engine:
        yield engine
        left = await engine.list_ours(instance)
        for container in left:
            await engine.remove(container.id)
        await engine.remove_network(instance)
    assert left == []
