"""What may be a build context: each refusal names its place."""

import gzip
import io
import tarfile

import pytest

from proctor.rollout.images import ContextProblem, check_build_context
from proctor.rollout.images import context as rules


def entry(name, *, kind=tarfile.REGTYPE, link="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


def write(path, *entries, dockerfile=True):
    with tarfile.open(path, "w") as archive:
        for info in [*([entry("Dockerfile")] if dockerfile else []), *entries]:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return path


def test_a_plain_folder_passes_packed_or_not(tmp_path):
    folder = [entry("./src", kind=tarfile.DIRTYPE), entry("./src/a.py", size=3), entry("src/b", kind=tarfile.SYMTYPE, link="../Dockerfile")]
    tar = write(tmp_path / "a.tar", *folder)
    packed = tmp_path / "a.tar.gz"
    packed.write_bytes(gzip.compress(tar.read_bytes()))
    assert check_build_context(tar) == check_build_context(packed) == []


@pytest.mark.parametrize("name", ["Dockerfile", "./Dockerfile"])
def test_the_dockerfile_may_be_spelled_either_way(tmp_path, name):
    assert check_build_context(write(tmp_path / "a.tar", entry(name), dockerfile=False)) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (entry("/etc/passwd"), "absolute name"),
        (entry("../x"), "name leads out of the archive"),
        (entry("a/../../x"), "name leads out of the archive"),
        (entry("l", kind=tarfile.SYMTYPE, link="/etc"), "link to an absolute path (/etc)"),
        (entry("a/l", kind=tarfile.SYMTYPE, link="../../x"), "link leads out of the archive (../../x)"),
        (entry("a/h", kind=tarfile.LNKTYPE, link="../x"), "link leads out of the archive (../x)"),
        (entry("dev", kind=tarfile.CHRTYPE), "not a file, folder or link"),
        (entry("disk", kind=tarfile.BLKTYPE), "not a file, folder or link"),
        (entry("pipe", kind=tarfile.FIFOTYPE), "not a file, folder or link"),
    ],
)
def test_an_entry_that_leaves_or_is_no_plain_file_is_named(tmp_path, bad, message):
    assert check_build_context(write(tmp_path / "a.tar", bad)) == [ContextProblem(bad.name, message)]


@pytest.mark.parametrize("others", [[], [entry("sub/Dockerfile")], [entry("Dockerfile", kind=tarfile.DIRTYPE)]])
def test_without_a_dockerfile_at_the_root_it_is_refused(tmp_path, others):
    problems = check_build_context(write(tmp_path / "a.tar", *others, dockerfile=False))
    assert [str(problem) for problem in problems] == ["archive: no Dockerfile at its root"]


@pytest.mark.parametrize("content", [b"", b"not a tar at all", b"\x1f\x8bbroken gzip"])
def test_what_is_no_tar_is_refused(tmp_path, content):
    (tmp_path / "a.tar").write_bytes(content)
    (problem,) = check_build_context(tmp_path / "a.tar")
    assert problem.place == "archive"
    assert problem.message.startswith("not a readable tar")


def test_a_truncated_archive_is_refused(tmp_path):
    tar = write(tmp_path / "a.tar", entry("big", size=100_000))
    tar.write_bytes(tar.read_bytes()[:50_000])
    assert [problem.place for problem in check_build_context(tar)] == ["archive"]


def test_too_big_too_many_and_too_much_when_unpacked_are_refused(tmp_path, monkeypatch):
    tar = write(tmp_path / "a.tar", *(entry(str(n), size=100) for n in range(10)))
    for limit, value, message in (
        ("MAX_ARCHIVE_BYTES", 1000, f"{tar.stat().st_size} bytes, the limit is 1000"),
        ("MAX_ENTRIES", 5, "more than 5 entries"),
        ("MAX_CONTENT_BYTES", 500, "more than 500 bytes when unpacked"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(rules, limit, value)
            assert check_build_context(tar) == [ContextProblem("archive", message)]


def test_the_limits_are_those_that_are_documented():
    assert (rules.MAX_ARCHIVE_BYTES, rules.MAX_ENTRIES) == (256 * 1024**2, 100_000)


def test_only_the_first_problems_are_listed(tmp_path):
    tar = write(tmp_path / "a.tar", *(entry(f"../{n}") for n in range(100)))
    assert len(check_build_context(tar)) == 20
