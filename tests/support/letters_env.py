"""An environment for peers: counts letters, has a task graded with NaN, and an echo service as a capability."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Generator
from typing import Any

from proctor.environment import Capability, Environment

env = Environment("letters")


@env.template(description="Count a letter")
async def count(word: str = "strawberry", letter: str = "r") -> AsyncGenerator[Any, str]:
    answer = yield f"How many '{letter}'s are in '{word}'?"
    score = 1.0 if answer == str(word.count(letter)) else 0.0
    yield {"score": score, "done": True, "content": "counted", "info": {"expected": word.count(letter)}}


@env.template()
def nan() -> Generator[Any, str, None]:
    yield "go"
    yield math.nan


@env.initialize
async def start_echo() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    env.add_capability(Capability("echo", "echo/1", f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"))


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()
