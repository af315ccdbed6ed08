"""Environments made ready on a real engine: built or looked up, started once, asked, and nothing but the image stays."""

from __future__ import annotations

import io
import json
import tarfile
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from accounts.callers import Caller
from environments import actions, builder, claims, images, probe
from environments.models import EnvironmentVersion
from proctor.rollout.images import built_images, ensure_sample_image, inspect_image
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.sandbox import DockerEngine, docker_client
from tests.support import hud02
from tests.support.environments import EXITS, GARBAGE, LINGERS, log_of

pytestmark = pytest.mark.docker

PYTHON = "/usr/local/bin/python3"


@async_to_sync
async def sample_tag() -> str:
    async with docker_client() as docker:
        image = await ensure_sample_image(docker, print)
    assert image is not None
    return image.tag


@pytest.fixture(autouse=True)
def storage(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}


@pytest.fixture
def process(ada: Caller) -> Iterator[Callable[[EnvironmentVersion], EnvironmentVersion]]:
    """Makes a version ready, or not; then no container of the test's instance is there. Its images go at the end."""
    instance, made = f"test-{uuid.uuid4().hex[:12]}", list[EnvironmentVersion]()

    async def one() -> None:
        async with DockerEngine() as engine:
            assert await builder.process_one("w1", instance, engine=engine) is True
            assert await engine.list_ours(instance) == []
            await engine.remove_network(instance)

    def run(version: EnvironmentVersion) -> EnvironmentVersion:
        made.append(version)
        async_to_sync(one)()
        version.refresh_from_db()
        return version

    yield run
    async_to_sync(remove_images)([version.image for version in made if version.image.startswith("proctor-env:")])


async def remove_images(tags: list[str]) -> None:
    async with docker_client() as docker:
        for tag in tags:
            if await inspect_image(docker, tag):
                await docker.images.delete(tag, force=True)


def context(ada: Caller, dockerfile: str, **files: str) -> EnvironmentVersion:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in {"Dockerfile": dockerfile, **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    buffer.seek(0)
    return actions.register_context(ada, name="letters", body=buffer)


def test_a_hud02_folder_is_built_and_its_controller_imported(ada: Caller, process: Any) -> None:
    body = io.BytesIO(hud02.context(sample_tag()))
    version = process(actions.register_context(ada, name="clicks", body=body, kind="hud02"))
    assert (version.status, version.error) == ("ready", None)
    assert [template["id"] for template in version.manifest["templates"]] == ["task"]


def test_c2_local_docker_client_create_builds_the_same_context_once(ada: Caller, process: Any) -> None:
    context = hud02.context(sample_tag())
    first, second = [process(actions.register_context(ada, name="clicks", body=io.BytesIO(context), kind="hud02")) for _ in range(2)]
    assert (first.image, first.image_id) == (second.image, second.image_id)
    assert "Built before from the same content" in log_of(second)


def test_a_hud02_image_without_a_controller_is_refused_with_the_reason(ada: Caller, process: Any) -> None:
    body = io.BytesIO(hud02.context(sample_tag(), **{"hud_controller/__init__.py": "import no_such_library"}))
    version = process(actions.register_context(ada, name="clicks", body=body, kind="hud02"))
    assert version.status == "failed"
    assert "cannot import hud_controller" in version.error and "No module named 'no_such_library'" in version.error


def program(ada: Caller, text: str) -> EnvironmentVersion:
    return context(ada, f"FROM {sample_tag()}\nCMD {json.dumps([PYTHON, '-S', '-I', '-c', text])}\n")


def test_a_folder_is_built_and_its_templates_are_listed(ada: Caller, process: Any) -> None:
    source = "a note"
    version = process(context(ada, f"FROM {sample_tag()}\nCOPY note.py /opt/note.py\n", **{"note.py": source}))
    assert (version.status, version.error) == ("ready", None), log_of(version)
    assert [template["id"] for template in version.manifest["templates"]] == ["solve"]
    assert version.image.startswith("proctor-env:") and (version.image_id or "").startswith("sha256:")
    assert "COPY note.py" in log_of(version) and "Starting proctor-env:" in log_of(version)


def test_an_image_on_the_engine_is_pinned_to_its_digest(ada: Caller, process: Any) -> None:
    version = process(actions.register_image(ada, name="letters", image=sample_tag()))
    assert version.status == "ready" and version.image == sample_tag() and (version.image_id or "").startswith("sha256:")
    assert version.manifest["env"]["name"] == "gsm8k"


def test_an_image_that_does_not_exist_is_named(ada: Caller, process: Any) -> None:
    version = process(actions.register_image(ada, name="letters", image="no-such/image:1"))
    assert version.status == "failed" and "'no-such/image:1' is not on the Docker engine" in (version.error or "")


def test_a_build_that_fails_names_its_step_and_keeps_its_log(ada: Caller, process: Any) -> None:
    version = process(context(ada, f"FROM {sample_tag()}\nCOPY missing.txt /\n"))
    assert version.status == "failed" and "missing.txt" in (version.error or "")
    assert "FROM proctor-sample" in log_of(version) and log_of(version).count(version.error or "?") == 1


def test_images_that_no_version_needs_are_removed_and_those_of_ready_versions_stay(ada: Caller) -> None:
    instance = f"test-{uuid.uuid4().hex[:12]}"

    async def left(young_s: float) -> tuple[int, set[str]]:
        async with docker_client() as docker:
            return await images.drop_unneeded(instance, young_s=young_s), {image.id for image in await built_images(docker, images.BUILT_FOR, instance)}

    async def build() -> None:
        async with DockerEngine() as engine:
            assert await builder.process_one("w1", instance, engine=engine) is True
            await engine.remove_network(instance)

    ready = context(ada, f"FROM {sample_tag()}\nENV KEPT={instance}\n")
    async_to_sync(build)()
    failed = context(ada, f"FROM {sample_tag()}\nENV FAILED={instance}\nCMD [\"/no-such-program\"]\n")
    assert async_to_sync(left)(0) == (0, {EnvironmentVersion.objects.get(id=ready.id).image_id})  # while one waits, nothing goes
    async_to_sync(build)()
    ready.refresh_from_db()
    failed.refresh_from_db()
    assert (ready.status, failed.status) == ("ready", "failed")
    assert async_to_sync(left)(3600) == (0, {ready.image_id, failed.image_id})
    assert async_to_sync(left)(0) == (1, {ready.image_id})
    EnvironmentVersion.objects.update(status="cancelled")
    assert async_to_sync(left)(0) == (1, set())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EXITS, ["exit code 3", "no licence found"]),
        (LINGERS, ["did not serve within", "here"]),
        (GARBAGE.format(port=8765), ["HTTP/1.1 400"]),
    ],
)
def test_an_image_that_is_no_environment_fails_with_its_last_words(
    text: str, said: list[str], ada: Caller, process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "STARTUP_S", 3.0)
    version = process(program(ada, text))
    assert version.status == "failed"
    for words in said:
        assert words in (version.error or ""), version.error


def test_what_a_killed_worker_left_of_a_probe_goes_before_the_next_try(ada: Caller) -> None:
    tag, instance = sample_tag(), f"test-{uuid.uuid4().hex[:12]}"
    version = actions.register_image(ada, name="letters", image=tag)
    assert claims.claim_next("killed") is not None and claims.free_claims() == 1

    async def story() -> None:
        async with DockerEngine() as engine:
            labels = {"proctor.instance": instance, builder.PROBE_LABEL: str(version.id), "proctor.expiry": "4102444800"}
            await engine.start(SandboxSpec("docker", image=tag), labels)
            assert await builder.process_one("w2", instance, engine=engine) is True
            assert await engine.list_ours(instance) == []
            await engine.remove_network(instance)

    async_to_sync(story)()
    version.refresh_from_db()
    assert version.status == "ready" and version.attempts == 2
