"""Images on a real engine: the sample's own, and builds from uploaded folders that succeed, fail and are cancelled."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import tarfile
import uuid

import psutil
import pytest

from proctor.rollout.images import BuildFailed, BuildOptions, build_image, ensure_sample_image, inspect_image, sample_tag
from proctor.rollout.images import build as build_module
from proctor.rollout.images import sample as sample_module
from proctor.rollout.sandbox import docker_client

pytestmark = pytest.mark.docker

PYTHON = "/usr/local/bin/python3"


@pytest.fixture
async def docker():
    async with docker_client() as docker:
        yield docker


@pytest.fixture
async def new_tag(docker):
    """A tag of this test's own, whose image is gone afterwards."""
    tag = f"proctor-test:{uuid.uuid4().hex[:12]}"
    yield tag
    if await inspect_image(docker, tag):
        await docker.images.delete(tag, force=True)


@pytest.fixture
async def base(docker, sample_image, new_tag, tmp_path):
    """A base image that only this test uses, so that its containers can be told from others'."""
    await build_image(folder(tmp_path / "base.tar", f"FROM {sample_image}\nLABEL test={new_tag}"), new_tag, print)
    yield new_tag
    assert await containers_of(docker, new_tag) == []


async def containers_of(docker, image):
    return [container.id for container in await docker.containers.list(all=True, filters={"ancestor": [image]})]


def folder(path, dockerfile, mode="w", **files):
    with tarfile.open(path, mode) as archive:
        for name, text in {"Dockerfile": dockerfile, **files}.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


async def test_the_samples_image_is_made_once(docker, sample_image):
    said = []
    image = await ensure_sample_image(docker, said.append)
    assert (image.tag, image.how, said) == (sample_image, "present", [])
    assert image.image_id == await inspect_image(docker, sample_tag())


@pytest.mark.parametrize("with_base", [False, True])
async def test_the_samples_image_is_imported_or_built_on_the_base(docker, sample_image, with_base, tmp_path, monkeypatch):
    """Pulling is marked as tried before. The stand-in for the public base is the image that the import made."""
    monkeypatch.setattr(sample_module, "_RECIPE", uuid.uuid4().hex)
    marker, said = tmp_path / "pull-failed", []
    marker.touch()
    had_base = await inspect_image(docker, sample_module.BASE_IMAGE) is not None
    if with_base and not had_base:
        repo, _, tag = sample_module.BASE_IMAGE.partition(":")
        await docker.images.tag(sample_image, repo, tag=tag)
    try:
        image = await ensure_sample_image(docker, said.append, pull_marker=marker)
        shown = await docker.images.inspect(image.tag)
        await docker.images.delete(image.tag, force=True)
    finally:
        if with_base and not had_base:
            await docker.images.delete(sample_module.BASE_IMAGE)
    assert image.how == ("built" if with_base or had_base else "imported")
    assert said == [
        f"Building {image.tag} on python:3.11-slim" if image.how == "built" else f"Making {image.tag} from this machine's Python"
    ]
    assert shown["Config"]["User"] == "65534:65534"
    assert shown["Config"]["Cmd"][-4:] == ["--host", "0.0.0.0", "--port", "8765"]
    assert shown["Size"] < 250 * 1024**2


async def test_a_pull_that_failed_is_not_tried_again(docker, sample_image, tmp_path, monkeypatch):
    monkeypatch.setattr(sample_module, "BASE_IMAGE", "127.0.0.1:1/nowhere:1")
    monkeypatch.setattr(sample_module, "_RECIPE", uuid.uuid4().hex)
    marker, first, second = tmp_path / "pull-failed", [], []
    for said in (first, second):
        image = await ensure_sample_image(docker, said.append, pull_marker=marker)
        await docker.images.delete(image.tag, force=True)
    assert first[0] == "Pulling 127.0.0.1:1/nowhere:1 (at most 20 s)"
    assert first[1].startswith("127.0.0.1:1/nowhere:1 cannot be pulled: ")
    assert second == first[2:]


async def test_an_image_that_does_not_run_is_refused_and_removed(docker, sample_image, tmp_path, monkeypatch):
    monkeypatch.setattr(sample_module, "_RECIPE", uuid.uuid4().hex)
    monkeypatch.setattr(sample_module, "_TRIAL", ["-c", "raise SystemExit('broken')"])
    marker, said = tmp_path / "pull-failed", []
    marker.touch()
    assert await ensure_sample_image(docker, said.append, pull_marker=marker) is None
    assert "does not run here (exit code 1): broken" in said[-1]
    assert await inspect_image(docker, sample_tag()) is None


@pytest.mark.parametrize("mode", ["w", "w:gz"])
async def test_a_folder_is_built_with_its_labels_and_its_log(docker, sample_image, new_tag, tmp_path, mode):
    lines = []
    tar = folder(
        tmp_path / "a.tar", f"FROM {sample_image}\nCOPY a.txt /a.txt\n" + run("print('hello from the build')"), mode, **{"a.txt": "x"}
    )
    image_id = await build_image(tar, new_tag, lines.append, BuildOptions(labels={"proctor.instance": "test"}))
    shown = await docker.images.inspect(new_tag)
    assert shown["Id"] == image_id
    assert shown["Config"]["Labels"]["proctor.instance"] == "test"
    assert "hello from the build" in lines
    assert lines[0].startswith("Step 1/")


def run(program):
    """The sample's image has no shell: RUN in its exec form."""
    return f'RUN ["{PYTHON}", "-c", "{program}"]\n'


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        (run("import sys; print('oh'); sys.exit(3)"), "returned a non-zero code: 3 (at Step 2/"),
        ("COPY missing /x", "missing"),
        ("NONSENSE here", "unknown instruction: NONSENSE"),
    ],
)
async def test_a_build_that_fails_says_why_and_leaves_no_container(docker, base, tmp_path, instructions, message):
    lines, tag = [], f"proctor-test:{uuid.uuid4().hex[:12]}"
    with pytest.raises(BuildFailed) as failed:
        await build_image(folder(tmp_path / "a.tar", f"FROM {base}\n{instructions}"), tag, lines.append)
    assert message in str(failed.value)
    assert lines[-1] == f"ERROR: {failed.value}"
    assert await inspect_image(docker, tag) is None


async def test_a_base_image_that_is_nowhere_fails_the_build(docker, tmp_path):
    with pytest.raises(BuildFailed, match=r"connection refused \(at Step 1/1 : FROM 127\.0\.0\.1:1/nowhere:1\)"):
        await build_image(folder(tmp_path / "a.tar", "FROM 127.0.0.1:1/nowhere:1"), "proctor-test:never", print)


async def test_an_archive_that_is_not_fit_never_reaches_the_engine(tmp_path):
    lines = []
    with pytest.raises(BuildFailed, match=r"\.\./x: name leads out of the archive; archive: no Dockerfile at its root"):
        tar = folder(tmp_path / "a.tar", "FROM scratch", **{"../x": ""})
        with tarfile.open(tar, "w") as archive:
            archive.addfile(tarfile.TarInfo("../x"))
        await build_image(tar, "proctor-test:never", lines.append)
    assert lines == ["ERROR: ../x: name leads out of the archive; archive: no Dockerfile at its root"]


async def test_a_long_log_is_capped_and_the_image_is_built_all_the_same(sample_image, new_tag, tmp_path, monkeypatch):
    monkeypatch.setattr(build_module, "MAX_LINES", 10)
    lines = []
    program = "print('x' * 100000); [print(n) for n in range(5000)]"
    await build_image(folder(tmp_path / "a.tar", f"FROM {sample_image}\n{run(program)}"), new_tag, lines.append)
    assert max(map(len, lines)) == build_module.MAX_LINE_CHARACTERS
    assert lines[10:] == ["(the log goes on; 10 lines are kept)"]


@pytest.mark.parametrize("how", ["cancelled", "too slow"])
async def test_a_build_that_is_cut_off_stops_on_the_engine(docker, base, tmp_path, how):
    running, tag = asyncio.Event(), f"proctor-test:{uuid.uuid4().hex[:12]}"

    def note(line: str) -> None:
        if line == "running":
            running.set()

    program = "import time; print('running', flush=True); time.sleep(600)"
    tar = folder(tmp_path / "a.tar", f"FROM {base}\n{run(program)}")
    building = asyncio.create_task(build_image(tar, tag, note, timeout_s=600 if how == "cancelled" else 5))
    await asyncio.wait_for(running.wait(), 60)
    if how == "cancelled":
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
    else:
        with pytest.raises(BuildFailed, match=r"took longer than 5 s \(at Step 2/2 : RUN"):
            await building
    async with asyncio.timeout(60):
        while await containers_of(docker, base):
            await asyncio.sleep(0.1)
    assert await inspect_image(docker, tag) is None


@pytest.mark.parametrize(
    "name", ["proctor-test:nothing", "sha256:" + "0" * 64, "UPPER CASE", "", "../containers", "a?b", "a%2e", "a//../b"]
)
async def test_an_image_that_is_not_there_is_none(docker, name):
    assert await inspect_image(docker, name) is None


SECRET = "hunter2-" + uuid.uuid4().hex
USES_SECRET = f"RUN --mount=type=secret,id=TOKEN [\"{PYTHON}\", \"-c\", \"import hashlib; t = open('/run/secrets/TOKEN').read(); open('/seen', 'w').write(hashlib.sha256(t.encode()).hexdigest())\"]\n"


async def test_a_build_secret_is_seen_by_its_step_and_is_in_no_layer_and_no_history(docker, sample_image, new_tag, tmp_path):
    lines = []
    tar = folder(tmp_path / "a.tar", f"FROM {sample_image}\nARG GREETING\nLABEL greeting=$GREETING\nUSER 0\n{USES_SECRET}", "w:gz")
    options = BuildOptions({"GREETING": "hello"}, {"TOKEN": SECRET, "OTHER": "x" * 300_000}, no_cache=True, labels={"a": "b"})
    image_id = await build_image(tar, new_tag, lines.append, options)
    shown = await docker.images.inspect(new_tag)
    assert shown["Id"] == image_id and shown["Config"]["Labels"]["greeting"] == "hello" and shown["Config"]["Labels"]["a"] == "b"
    history = await docker.images.history(new_tag)
    exported = await exported_files(docker, new_tag)
    assert exported["seen"] == hashlib.sha256(SECRET.encode()).hexdigest().encode(), "the step had the secret"
    told = [json.dumps(shown), json.dumps(history), "\n".join(lines)]
    assert not [text for text in told if SECRET in text]
    assert not [name for name, content in exported.items() if SECRET.encode() in content or ("run/secrets/TOKEN" in name and content)]
    assert any("RUN --mount=type=secret" in line for line in lines)


async def exported_files(docker, tag):
    """Every file of every layer, manifests and configs too, as `docker save` gives them."""
    found = {}
    async with docker.images.export_image(tag) as response:
        whole = await response.read()
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        for entry in archive:
            if not entry.isfile():
                continue
            content = archive.extractfile(entry).read()
            found[entry.name] = content if not entry.name.endswith("layer.tar") else b""
            if entry.name.endswith("layer.tar"):
                with tarfile.open(fileobj=io.BytesIO(content)) as layer:
                    found.update({inner.name: layer.extractfile(inner).read() for inner in layer if inner.isfile()})
    return found


async def test_a_large_secret_is_handed_over_whole(sample_image, new_tag, tmp_path):
    check = f"RUN --mount=type=secret,id=BIG [\"{PYTHON}\", \"-c\", \"assert len(open('/run/secrets/BIG').read()) == 400000\"]\n"
    await build_image(
        folder(tmp_path / "a.tar", f"FROM {sample_image}\nUSER 0\n{check}"), new_tag, print, BuildOptions(secrets={"BIG": "y" * 400_000}, no_cache=True)
    )


async def test_a_step_that_mounts_a_cache_is_built(sample_image, new_tag, tmp_path):
    lines = []
    mounts = f"RUN --mount=type=cache,target=/cache [\"{PYTHON}\", \"-c\", \"print('cached here')\"]\n"
    await build_image(folder(tmp_path / "a.tar", f"FROM {sample_image}\n{mounts}"), new_tag, lines.append, BuildOptions(no_cache=True))
    assert "cached here" in lines


async def test_a_buildkit_step_that_fails_is_named_with_its_output(docker, base, tmp_path):
    lines, tag = [], f"proctor-test:{uuid.uuid4().hex[:12]}"
    fails = f"RUN --mount=type=secret,id=TOKEN [\"{PYTHON}\", \"-c\", \"import sys; print('oh no'); sys.exit(3)\"]\n"
    with pytest.raises(BuildFailed, match=r"(?s)exit code: 3.*at \[2/2\] RUN --mount=type=secret"):
        await build_image(folder(tmp_path / "a.tar", f"FROM {base}\n{fails}"), tag, lines.append, BuildOptions(secrets={"TOKEN": SECRET}))
    assert "oh no" in lines and lines[-1].startswith("ERROR: ") and SECRET not in "".join(lines)
    assert await inspect_image(docker, tag) is None


async def test_a_buildkit_build_that_is_cancelled_stops_on_the_engine(docker, base, tmp_path):
    running, tag, mark = asyncio.Event(), f"proctor-test:{uuid.uuid4().hex[:12]}", uuid.uuid4().hex
    sleeps = f"RUN --mount=type=cache,target=/c [\"{PYTHON}\", \"-c\", \"import time; print('running', flush=True); time.sleep(600)  # {mark}\"]\n"
    note = lambda line: running.set() if line == "running" else None  # noqa: E731
    building = asyncio.create_task(build_image(folder(tmp_path / "a.tar", f"FROM {base}\n{sleeps}"), tag, note))
    await asyncio.wait_for(running.wait(), 60)
    assert steps_running(mark)
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    async with asyncio.timeout(60):
        while steps_running(mark):
            await asyncio.sleep(0.1)
    assert await inspect_image(docker, tag) is None


def steps_running(mark):
    """Processes with the mark in their program; the engine runs on this machine."""
    return [process for process in psutil.process_iter(["cmdline"]) if any(f"# {mark}" in word for word in process.info["cmdline"] or [])]
