"""A folder as a build context: what `proctor env deploy` sends. `.dockerignore` is honoured; version control, virtual environments and `.env`
files never leave.

A folder without a Dockerfile gets one: a Python image, the folder's `requirements.txt` if there is one, and `proctor.environment`, which
serves its `env.py`. Imports the standard library only, so that an archive is the same for the same files, whatever their times.
"""

from __future__ import annotations

import fnmatch
import gzip
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from proctor.errors import BadFile

BASE_IMAGE = "python:3.11-slim"
ALWAYS_LEFT_OUT = (".git", ".hg", ".svn", ".env", ".env.*", "*.env", "__pycache__", "*.pyc", ".venv", ".proctor")
IGNORE_FILE = ".dockerignore"
APP = "app"
_LIBRARY = Path(__file__).parent / "environment"


@dataclass(frozen=True)
class Member:
    """A file's place in the archive, and its content: on the disk, or made up here."""

    place: str
    source: Path | bytes


def dockerfile(base: str, source: str, requirements: bool) -> str:
    """For a folder that has none of its own."""
    install = [f"RUN pip install --no-cache-dir -r /opt/{APP}/requirements.txt"] if requirements else []
    command = f'CMD ["python3", "/opt/environment", "/opt/{APP}/{source}", "--host", "0.0.0.0", "--port", "8765"]'
    return "\n".join([f"FROM {base}", "COPY environment /opt/environment", f"COPY {APP} /opt/{APP}", *install, f"WORKDIR /opt/{APP}", "USER 65534:65534", "EXPOSE 8765", command, ""])


def context_members(folder: Path, *, base: str = BASE_IMAGE, source: str = "env.py") -> list[Member]:
    """Everything that is sent, by place. Raises BadFile without a Dockerfile and without the source that one would serve."""
    if not folder.is_dir():
        raise BadFile(f"{folder} is no folder.")
    files = dict(_files(folder))
    if "Dockerfile" in files:
        return [Member(place, path) for place, path in sorted(files.items())]
    if source not in files:
        raise BadFile(f"{folder} has neither a Dockerfile nor {source}; write one of them, or name the file with --source.")
    library = [Member(f"environment/{path.name}", path) for path in sorted(_LIBRARY.glob("*.py"))]
    own = [Member(f"{APP}/{place}", path) for place, path in sorted(files.items())]
    return [Member("Dockerfile", dockerfile(base, source, "requirements.txt" in files).encode()), *library, *own]


def write_context(members: list[Member], target: IO[bytes]) -> None:
    """A gzipped tar."""
    with gzip.GzipFile(fileobj=target, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            _add(archive, member)


def _add(archive: tarfile.TarFile, member: Member) -> None:
    entry = tarfile.TarInfo(member.place)
    if isinstance(member.source, bytes):
        entry.size, entry.mode = len(member.source), 0o644
        archive.addfile(entry, io.BytesIO(member.source))
        return
    with member.source.open("rb") as file:
        facts = member.source.stat()
        entry.size, entry.mode = facts.st_size, 0o755 if facts.st_mode & 0o111 else 0o644
        archive.addfile(entry, file)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files that are not left out; links are not followed, those that lead out of the folder are refused."""
    rules = [*((False, path.parent.relative_to(folder).as_posix()) for path in folder.rglob("pyvenv.cfg")), *_rules(folder)]
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.is_dir() or _is_left_out(place, rules):
            continue
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BadFile(f"{place} is a link that leads out of {folder}.")
        if path.is_file():
            yield place, path


def _rules(folder: Path) -> list[tuple[bool, str]]:
    """(kept, pattern) in order; the last that fits decides."""
    file = folder / IGNORE_FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    texts = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [(text.startswith("!"), text.lstrip("!").strip("/")) for text in texts]


def _is_left_out(place: str, rules: list[tuple[bool, str]]) -> bool:
    parts = place.split("/")
    if any(fnmatch.fnmatchcase(part, pattern) for part in parts for pattern in ALWAYS_LEFT_OUT):
        return True
    left_out = False
    for kept, pattern in rules:
        if _fits(parts, pattern):
            left_out = not kept
    return left_out and place not in ("Dockerfile", IGNORE_FILE)


def _fits(parts: list[str], pattern: str) -> bool:
    """The path or a folder above it; `**` stands for any number of folders."""
    wanted = pattern.split("/")
    return any(_matches(parts[:length], wanted) for length in range(1, len(parts) + 1))


def _matches(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_matches(parts[skipped:], wanted[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], wanted[0]) and _matches(parts[1:], wanted[1:])
