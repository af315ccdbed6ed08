"""An environment with real MCP tools: `add` and `broken` behind a streamable-HTTP server, a task that wants a sum."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from typing import Any

import uvicorn
from mcp.server import MCPServer

from proctor.environment import Capability, Environment

env = Environment("sums")
server = MCPServer("sums")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"the sum is {a + b}"


@server.tool()
def broken() -> str:
    """Always fails."""
    raise RuntimeError("gears jammed")


@server.tool()
async def slow() -> str:
    """Never comes back."""
    await asyncio.Event().wait()
    return ""


@env.template()
async def add_up(a: int = 2, b: int = 40) -> AsyncGenerator[Any, str]:
    answer = yield f"Add {a} and {b}."
    yield 1.0 if str(a + b) in answer else 0.0


@env.initialize
async def start_tools() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", lifespan="on")
    env.tools = asyncio.create_task(uvicorn.Server(config).serve([listener]))  # type: ignore[attr-defined]
    env.add_capability(Capability.mcp(url=f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"))
