"""An environment with one good task and one for each way to go wrong: in setup, in grading, with its grade, or by dying."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncGenerator, Generator
from typing import Any

from proctor.environment import Environment

env = Environment("bad")


@env.template()
def good() -> Generator[Any, str, None]:
    yield "go"
    yield 1.0


@env.template()
async def raises_in_setup() -> AsyncGenerator[Any, str]:
    raise RuntimeError("the fixture is missing")
    yield "never"


@env.template()
async def raises_in_grading() -> AsyncGenerator[Any, str]:
    yield "go"
    raise RuntimeError("the grader has no key")


@env.template()
def gives_nan() -> Generator[Any, str, None]:
    yield "go"
    yield math.nan


@env.template()
def gives_no_score() -> Generator[Any, str, None]:
    yield "go"
    yield {"content": "forgot it"}


@env.template()
def dies_in_setup() -> Generator[Any, str, None]:
    print("the disk is full", flush=True)
    os._exit(4)
    yield "never"


@env.template()
def dies_in_grading() -> Generator[Any, str, None]:
    yield "go"
    os._exit(5)
