"""docs/reference/sdk.md: its examples run, and it names what there is."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import proctor
from proctor import errors
from proctor.jobs import run_taskset
from tests.support.pages import Reader, blocks_of
from tests.support.server import ROOT

PAGE = ROOT / "docs" / "reference" / "sdk.md"


def test_the_examples_run_as_they_stand(tmp_path: Path) -> None:
    Reader(tmp_path / "work", {}).read(PAGE)


def test_what_a_page_says_wrongly_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```python\nprint('one', 'two')\n```\n\n```text\none … three\n```\n")
    with pytest.raises(AssertionError, match="line 5 says"):
        Reader(tmp_path / "work", {}).read(tmp_path / "page.md")


def test_every_public_name_is_explained() -> None:
    text = PAGE.read_text()
    methods = [name for name in vars(proctor.Taskset) if not name.startswith("_")]
    options = [name for name in inspect.signature(run_taskset).parameters if name not in ("taskset", "agent", "access")]
    raised = [name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.ProctorError) and name not in ("RequestFailed",)]
    named = [*(name for name in proctor.__all__ if not name.startswith("_")), *methods, *options, *raised]
    assert [name for name in named if name not in text] == []


def test_no_example_is_left_out() -> None:
    assert {block.kind for block in blocks_of(PAGE)} == {"python", "text"}
