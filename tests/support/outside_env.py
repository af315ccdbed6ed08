"""An environment for containers whose grading leaves a mark outside the database: one line over TCP to the host's end of the bridge.

The line is `<question> <container>`; it is sent before the grade is given, so a worker that dies in between leaves a mark without a grade.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator
from typing import Any

from proctor.environment import Environment

env = Environment("outside")


@env.template(description="Repeat the question; grading takes a while")
async def repeat(question: str, port: int, seconds: float = 0.0) -> AsyncGenerator[Any, str]:
    reply = yield question
    await asyncio.sleep(seconds)
    await tell(port, f"{question} {socket.gethostname()}")
    yield 1.0 if str(reply).strip() == question else 0.0


async def tell(port: int, line: str) -> None:
    """Returns once the line has been kept."""
    reader, writer = await asyncio.open_connection(gateway(), port)
    writer.write(f"{line}\n".encode())
    await reader.readline()
    writer.close()


def gateway() -> str:
    """The host, as a container sees it: the default route."""
    with open("/proc/net/route") as table:
        for row in table.readlines()[1:]:
            _device, destination, router, *_ = row.split()
            if destination == "00000000":
                return socket.inet_ntoa(struct.pack("<L", int(router, 16)))
    raise OSError("this container has no default route")
