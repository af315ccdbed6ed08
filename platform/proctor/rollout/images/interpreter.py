"""The running Python as a file system for an image, for machines that can reach no registry. Linux only.

Taken: the interpreter, its standard library (without tests, site-packages and other parts that no environment needs), and the
shared libraries that `ldd` names. The result lies under `/usr/local` whatever the host's layout is; it has no shell.
"""

from __future__ import annotations

import io
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PYTHON = "/usr/local/bin/python3"
LIBRARY_FOLDER = "/usr/local/lib/shared"

_LEFT_OUT = frozenset(
    {"test", "tests", "site-packages", "dist-packages", "ensurepip", "idlelib", "tkinter", "turtledemo", "lib2to3", "pydoc_data", "curses"}
)
_LEFT_OUT_PREFIXES = ("config-", "_test", "_ctypes_test", "_tkinter", "xx")
_LDD_LINE = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x", re.MULTILINE)


@dataclass(frozen=True)
class Placed:
    """A file of this machine and its place in the image."""

    source: Path
    place: str


def can_copy_interpreter() -> bool:
    return sys.platform == "linux"


def interpreter_key() -> str:
    """What the copied tree depends on, for a content tag."""
    return f"{sys.implementation.cache_tag} {platform.python_version()} {platform.machine()} {' '.join(platform.libc_ver())}"


def add_interpreter(archive: tarfile.TarFile) -> None:
    """Write the whole tree into an open archive. Blocking, some seconds: call it in a thread."""
    executable = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    library = list(_standard_library())
    binaries = [executable, *(placed.source for placed in library if placed.source.suffix == ".so")]
    _add_folder(archive, "tmp", 0o1777)
    _add_text(archive, "etc/passwd", "root:x:0:0::/:/none\nnobody:x:65534:65534::/:/none\n")
    _add_text(archive, "etc/group", "root:x:0:\nnogroup:x:65534:\n")
    for placed in [Placed(executable, PYTHON), *library, *_shared_libraries(binaries)]:
        archive.add(placed.source, placed.place.lstrip("/"), recursive=False, filter=plain)


def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """An entry as root's, readable by everyone, without the names of this machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode |= 0o444 if entry.isfile() else 0o555
    return entry


def _standard_library() -> Iterator[Placed]:
    root = Path(sysconfig.get_path("stdlib"))
    target = f"/usr/local/{sys.platlibdir}/{root.name}"
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not _is_left_out(name))
        for name in sorted(files):
            if not _is_left_out(name) and _is_wanted(name):
                source = Path(folder, name)
                yield Placed(source.resolve(), f"{target}/{source.relative_to(root)}")


def _is_left_out(name: str) -> bool:
    return name in _LEFT_OUT or name.startswith(_LEFT_OUT_PREFIXES)


def _is_wanted(name: str) -> bool:
    """Sources, extension modules, and the compiled form that this interpreter loads without options."""
    return name.endswith((".py", ".so", f".{sys.implementation.cache_tag}.pyc"))


def _shared_libraries(binaries: list[Path]) -> Iterator[Placed]:
    """Libraries go by name into one folder on LD_LIBRARY_PATH; the loader stays where the binaries expect it."""
    command = ["ldd", *map(str, binaries)]
    output = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    seen: set[str] = set()
    for match in _LDD_LINE.finditer(output):
        path = match["path"]
        is_loader = match["name"] is None and Path(path).name.startswith("ld-")
        place = path if is_loader else f"{LIBRARY_FOLDER}/{Path(path).name}"
        if place not in seen and (is_loader or match["name"] is not None):
            seen.add(place)
            yield Placed(Path(os.path.realpath(path)), place)


def _add_folder(archive: tarfile.TarFile, name: str, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    archive.addfile(entry)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text)
    archive.addfile(entry, io.BytesIO(text.encode()))
