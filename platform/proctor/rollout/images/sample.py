"""The image of the shipped sample, made on this machine from whatever base there is.

The first that works: an image with our content tag; `python:3.11-slim`, here already or pulled (20 s, tried once); on Linux
the running interpreter's own tree, imported. Each is tried by running it once. None: the caller has to do without containers.
"""

from __future__ import annotations

import asyncio
import compileall
import hashlib
import logging
import py_compile
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiodocker
from aiodocker.exceptions import DockerError

import proctor.environment
from proctor.rollout.images.build import BuildFailed, BuildOptions, build_image
from proctor.rollout.images.engine import import_image, inspect_image
from proctor.rollout.images.interpreter import LIBRARY_FOLDER, PYTHON, add_interpreter, can_copy_interpreter, interpreter_key, plain
from proctor.samples import sample_env_file

log = logging.getLogger(__name__)

BASE_IMAGE = "python:3.11-slim"
PULL_WITHIN_S = 20.0
SAMPLE_LABEL = "proctor.sample"

_SERVE = ["-S", "-I", "/opt/proctor/environment", "/opt/proctor/env.py", "--host", "0.0.0.0", "--port", "8765"]
_TRIAL = [*_SERVE[:3], "--help"]
_RECIPE = "2"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class SampleImage:
    """`how`: it was there, was built on a pulled or local base, or holds the interpreter of this machine."""

    tag: str
    image_id: str
    how: Literal["present", "built", "imported"]


async def ensure_sample_image(
    docker: aiodocker.Docker, progress: Progress, *, pull_marker: Path | None = None, labels: Mapping[str, str] | None = None
) -> SampleImage | None:
    """The sample's image, made if need be. `pull_marker`: a file that says that pulling was tried here before, and failed.
    `labels` go on the container that tries a new image, so that a sweep finds it if this process is killed meanwhile."""
    tag = await asyncio.to_thread(sample_tag)
    if image_id := await inspect_image(docker, tag):
        return SampleImage(tag, image_id, "present")
    with tempfile.TemporaryDirectory(prefix="proctor-sample-") as folder:
        stage = await asyncio.to_thread(_make_stage, Path(folder))
        if (built := await _build_on_base(docker, stage, tag, progress, pull_marker)) and await _works(docker, built, progress, labels):
            return built
        if (imported := await _import(docker, stage, tag, progress)) and await _works(docker, imported, progress, labels):
            return imported
    return None


def sample_tag() -> str:
    """Changes with the environment folder, the sample, the recipe and the Python that may be copied."""
    digest = hashlib.sha256(f"{_RECIPE}\n{interpreter_key()}\n".encode())
    for name, source in _sources():
        digest.update(f"{name}\n".encode() + hashlib.sha256(source.read_bytes()).digest())
    return f"proctor-sample:{digest.hexdigest()[:16]}"


def _sources() -> Iterator[tuple[str, Path]]:
    """The files of the image under /opt/proctor, and the Dockerfile."""
    package = Path(proctor.environment.__file__).parent
    yield from ((f"environment/{file.name}", file) for file in sorted(package.glob("*.py")))
    yield from ((file.name, file) for file in (sample_env_file(), sample_env_file().with_name("Dockerfile")))


def _make_stage(folder: Path) -> Path:
    """A build context: the sources, compiled so that a container need not."""
    stage = folder / "stage"
    (stage / "environment").mkdir(parents=True)
    for name, source in _sources():
        shutil.copyfile(source, stage / name)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(str(stage / "environment"), quiet=1, invalidation_mode=mode, stripdir=str(stage), prependdir="/opt/proctor")
    return stage


async def _build_on_base(
    docker: aiodocker.Docker, stage: Path, tag: str, progress: Progress, pull_marker: Path | None
) -> SampleImage | None:
    if await inspect_image(docker, BASE_IMAGE) is None and not await _pull_once(docker, progress, pull_marker):
        return None
    progress(f"Building {tag} on {BASE_IMAGE}")
    context = stage.with_name("context.tar")
    await asyncio.to_thread(_write_context, stage, context)
    try:
        image_id = await build_image(context, tag, log.debug, BuildOptions(labels={SAMPLE_LABEL: tag}), timeout_s=120)
    except BuildFailed as error:
        progress(f"The sample's image could not be built on {BASE_IMAGE}: {error}")
        return None
    return SampleImage(tag, image_id, "built")


async def _pull_once(docker: aiodocker.Docker, progress: Progress, marker: Path | None) -> bool:
    if marker is None:
        return await _pull(docker, progress)
    if await asyncio.to_thread(marker.exists):
        return False
    pulled = await _pull(docker, progress)
    if not pulled:
        await asyncio.to_thread(marker.touch)
    return pulled


async def _pull(docker: aiodocker.Docker, progress: Progress) -> bool:
    progress(f"Pulling {BASE_IMAGE} (at most {PULL_WITHIN_S:g} s)")
    try:
        async with asyncio.timeout(PULL_WITHIN_S):
            await docker.images.pull(BASE_IMAGE)
        return True
    except (TimeoutError, DockerError) as error:
        progress(f"{BASE_IMAGE} cannot be pulled: {str(error) or 'no answer in time'}")
        return False


def _write_context(stage: Path, target: Path) -> None:
    with tarfile.open(target, "w") as archive:
        archive.add(stage, ".", filter=plain)


async def _import(docker: aiodocker.Docker, stage: Path, tag: str, progress: Progress) -> SampleImage | None:
    if not can_copy_interpreter():
        return None
    progress(f"Making {tag} from this machine's Python")
    tree = stage.with_name("tree.tar")
    try:
        await asyncio.to_thread(_write_tree, stage, tree)
        image_id = await import_image(docker, tree, tag, _changes(tag))
    except (DockerError, OSError) as error:
        progress(f"The sample's image could not be imported: {error}")
        return None
    return SampleImage(tag, image_id, "imported")


def _write_tree(stage: Path, target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
        add_interpreter(archive)
        archive.add(stage, "opt/proctor", filter=plain)


def _changes(tag: str) -> list[str]:
    command = ", ".join(f'"{word}"' for word in [PYTHON, *_SERVE])
    return [
        f"ENV LD_LIBRARY_PATH={LIBRARY_FOLDER}",
        "ENV PATH=/usr/local/bin",
        "USER 65534:65534",
        "EXPOSE 8765",
        f"LABEL {SAMPLE_LABEL}={tag}",
        f"CMD [{command}]",
    ]


async def _works(docker: aiodocker.Docker, image: SampleImage, progress: Progress, labels: Mapping[str, str] | None) -> bool:
    """Whether the image's Python starts and finds the environment package. An image that does not is removed again."""
    host = {"NetworkMode": "none", "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"], "Memory": 256 * 1024**2}
    config: dict[str, Any] = {"Image": image.image_id, "Cmd": ["python3", *_TRIAL], "HostConfig": host, "Labels": dict(labels or {})}
    container = await docker.containers.create(config)
    try:
        await container.start()
        async with asyncio.timeout(60):
            status = (await container.wait())["StatusCode"]
        if status == 0:
            return True
        output = "".join(await container.log(stdout=True, stderr=True))
        progress(f"The sample's image does not run here (exit code {status}): {output[-500:]}")
    except (DockerError, TimeoutError) as error:
        progress(f"The sample's image does not run here: {error}")
    finally:
        await container.delete(force=True, v=True)
    await docker.images.delete(image.image_id, force=True)
    return False
