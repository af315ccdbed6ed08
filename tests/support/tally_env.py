"""The sample's grading with a tally outside the database: each grade appends one line to the file named by PROCTOR_TALLY.

A line is `<question, hashed> <score>`; appended in one write, so that environments in several processes can share the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from typing import Any

from proctor.environment import Environment

env = Environment("tally")


@env.template(description="Echo: the answer must be the expected one")
async def echo(question: str, answer: str, seconds: float = 0.0) -> AsyncGenerator[Any, str]:
    reply = yield question
    await asyncio.sleep(seconds)
    score = 1.0 if str(reply).strip() == answer else 0.0
    append_line(f"{hashlib.sha256(question.encode()).hexdigest()[:16]} {score}")
    yield score


def append_line(line: str) -> None:
    if path := os.environ.get("PROCTOR_TALLY"):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)
