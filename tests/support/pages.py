"""Runs a page of the docs as its reader would, from an empty folder, in order.

A `python`, `json` or `dockerfile` block whose first line is `# name` (in JSON lines: the block's info string) is a file to be written; other `python` blocks
are scripts, `sh` blocks are commands, `text` blocks are what the block before them printed (`…` stands for anything in a line). `console` blocks are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.server import ROOT

BLOCK = re.compile(r"^```(?P<kind>[a-z]+)(?: (?P<info>[^\n]+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (?P<name>[\w./-]+\.\w+)$")
PROCTOR = '#!/bin/sh\nexec "{python}" -m proctor "$@"\n'


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    kind: str
    info: str | None
    body: str
    line: int

    @property
    def filename(self) -> str | None:
        """When it is a file to be written."""
        found = NAME.match(self.body.partition("\n")[0])
        return self.info or (found["name"] if found and self.kind != "sh" else None)


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(found["kind"], found["info"], found["body"], text.count("\n", 0, found.start()) + 1) for found in BLOCK.finditer(text)]


class Reader:
    """Works through a page in an empty folder, with `proctor` and `python` on the path; signed in nowhere."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        commands = folder.with_name(f"{folder.name}-bin")
        commands.mkdir()
        command = commands / "proctor"
        command.write_text(PROCTOR.format(python=sys.executable))
        command.chmod(0o755)
        (commands / "python").symlink_to(sys.executable)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PROCTOR_", "HUD_", "OPENAI_"))}
        self.env = {**clean, "XDG_CONFIG_HOME": str(commands / "config"), "PYTHONPATH": str(ROOT / "platform"), **env, "PATH": f"{commands}:{os.environ['PATH']}"}
        self.printed = ""

    def read(self, page: Path) -> None:
        for block in blocks_of(page):
            self.do(block)

    def do(self, block: Block) -> None:
        if block.filename:
            path = self.folder / block.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body)
        elif block.kind == "sh":
            self._run(["bash", "-euo", "pipefail", "-c", block.body], block)
        elif block.kind == "python":
            self._run([sys.executable, "-c", block.body], block)
        elif block.kind == "text":
            self._compare(block)

    def _run(self, command: list[str], block: Block) -> None:
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"line {block.line}:\n{block.body}\nprinted:\n{done.stdout}\n{done.stderr}"
        self.printed = done.stdout

    def _compare(self, block: Block) -> None:
        printed, wanted = self.printed.strip().splitlines(), block.body.strip().splitlines()
        fits = len(printed) == len(wanted) and all(_fits(line, pattern) for line, pattern in zip(printed, wanted, strict=True))
        assert fits, f"line {block.line} says:\n{block.body}\nbut this was printed:\n{self.printed}"


def _fits(line: str, pattern: str) -> bool:
    parts = [re.escape(part) for part in " ".join(pattern.split()).split("…")]
    return re.fullmatch(".*".join(parts), " ".join(line.split())) is not None
