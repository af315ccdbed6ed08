"""The MCP tools an environment offers, as functions a chat model may call.

Opens every `mcp` capability through its tunnel; the `mcp` package is imported only here, when there is one. A tool that
fails answers with an error result: that is the model's to handle. A capability that cannot be opened ends the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from proctor.rollout.drivers.base import Capability, Session, SessionTool
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.steps import text_block

log = logging.getLogger(__name__)

OPEN_PAUSES_S = (0.25, 0.5, 1.0)
OPEN_WITHIN_S = 30.0


@dataclass(frozen=True)
class Tool:
    """One tool: where it is, and how the model sees it."""

    name: str
    """As the server calls it."""
    client: Any
    parameter: Mapping[str, Any]
    """The chat-completions `tools` entry."""


class Toolbox:
    """The tools of one run. An async context manager; enter and leave it in the same task."""

    def __init__(self, session: Session, run_id: str, timeout_s: float | None) -> None:
        self._session, self._timeout_s = session, timeout_s
        self._meta = {"hud/trace-id": run_id}
        self._stack = AsyncExitStack()
        self._tools: dict[str, Tool] = {}

    async def __aenter__(self) -> Toolbox:
        for own in self._session.tools:
            shown = model_name(own.name)
            self._tools[shown] = Tool(own.name, _Own(own), _parameter(shown, {"name": own.name, "description": own.description, "inputSchema": own.schema}))
        capabilities = [c for c in self._session.manifest.capabilities if c.protocol.partition("/")[0] == "mcp"]
        try:
            for capability in capabilities:
                await self._add(capability, qualify=len(capabilities) > 1)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._stack.aclose()
        except Exception as error:  # the environment may be gone already; its end is told elsewhere
            log.info("MCP session not closed cleanly: %r", error)

    @property
    def parameters(self) -> list[Mapping[str, Any]]:
        """For the request."""
        return [tool.parameter for tool in self._tools.values()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """An MCP result: `{content, isError, structuredContent?}`."""
        tool = self._tools.get(name)
        if tool is None:
            return error_result(f"unknown tool: {name!r}")
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                result = await tool.client.call_tool(tool.name, dict(arguments), meta=self._meta)
        except TimeoutError as error:
            if not deadline.expired():
                return error_result(f"tool error: {error}")
            return error_result(f"{name} timed out after {self._timeout_s:g}s")
        except Exception as error:  # whatever the tool's server did: the model is told
            log.info("tool failed", extra={"tool": name, "error": repr(error)})
            return error_result(f"tool error: {error}")
        return _result(result if isinstance(result, Mapping) else result.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def _add(self, capability: Capability, *, qualify: bool) -> None:
        client = await self._open(capability)
        for tool in await _list_tools(client):
            full = f"{capability.name}__{tool['name']}" if qualify else tool["name"]
            shown = model_name(full)
            if shown in self._tools:
                raise RolloutFailed("environment_protocol", f"Two MCP tools of the environment are called {shown!r}.")
            self._tools[shown] = Tool(tool["name"], client, _parameter(shown, tool))

    async def _open(self, capability: Capability) -> Any:
        url, error = await self._session.address_of(capability), None
        for pause_s in (*OPEN_PAUSES_S, None):
            attempt = AsyncExitStack()
            try:
                async with asyncio.timeout(OPEN_WITHIN_S):
                    client = await _connect(attempt, url, capability)
            except Exception as failed:  # TaskGroups of the transport raise groups of anything
                error = failed
                await _close_quietly(attempt)
                if pause_s is not None:
                    await asyncio.sleep(pause_s)
                continue
            self._stack.push_async_callback(attempt.aclose)
            return client
        raise RolloutFailed("environment_protocol", f"The capability {capability.name!r} cannot be opened: {error!r}")


class _Own:
    """A tool of the session itself, called as an MCP client is."""

    def __init__(self, own: SessionTool) -> None:
        self._own = own

    async def call_tool(self, name: str, arguments: dict[str, Any], meta: Any = None) -> dict[str, Any]:
        del name, meta
        return await self._own.call(arguments)


async def _connect(stack: AsyncExitStack, url: str, capability: Capability) -> Any:
    from mcp import ClientSession
    from mcp.client.sse import sse_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    token = capability.params.get("auth_token")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = capability.params.get("transport", "streamable-http")
    if transport == "sse":
        streams = await stack.enter_async_context(sse_client(url, headers=headers))
    elif transport == "streamable-http":
        http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
        streams = await stack.enter_async_context(streamable_http_client(url, http_client=http))
    else:
        raise RolloutFailed("environment_protocol", f"MCP transport {transport!r} is not supported (streamable-http or sse).")
    client = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
    await client.initialize()
    return client


async def _close_quietly(stack: AsyncExitStack) -> None:
    try:
        await stack.aclose()
    except Exception as error:
        log.info("MCP attempt not closed cleanly: %r", error)


async def _list_tools(client: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = (await client.list_tools(params=_page(cursor))).model_dump(mode="json", by_alias=True, exclude_none=True)
        tools += page["tools"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return tools


def _page(cursor: str | None) -> Any:
    from mcp.types import PaginatedRequestParams

    return None if cursor is None else PaginatedRequestParams(cursor=cursor)


def _parameter(shown: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("inputSchema") or {"type": "object", "properties": {}}
    description = tool.get("description") or f"Call {tool['name']}"
    return {"type": "function", "function": {"name": shown, "description": description, "parameters": schema}}


def _result(dumped: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: dumped[key] for key in ("structuredContent", "_meta") if key in dumped}
    return {"content": dumped.get("content", []), "isError": bool(dumped.get("isError")), **kept}


def error_result(text: str) -> dict[str, Any]:
    """A result that says what went wrong."""
    return {"content": [text_block(text)], "isError": True}


def model_name(name: str) -> str:
    """A name that chat models accept: `[A-Za-z0-9_-]`, at most 64, made unique by a digest when changed."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "tool"
    if plain == name and len(plain) <= 64:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[:55].rstrip('_') or 'tool'}_{digest}"


def chat_messages(call_id: str, result: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """A tool result as chat messages: its text, and its last image as a user message, as the HUD agent does."""
    blocks: list[Any] = list(result["content"])
    if not blocks and isinstance(structured := result.get("structuredContent"), Mapping):
        blocks = [text_block(str(structured.get("result", structured)))]
    text = "".join(block.get("text", "") for block in blocks if block.get("type") == "text")
    images = [block for block in blocks if block.get("type") == "image"]
    told: dict[str, Any] = {"role": "tool", "tool_call_id": call_id, "content": text or "Tool executed successfully"}
    if not images:
        return [told]
    return [told, {"role": "user", "content": [text_block("Tool returned the following:"), image_part(images[-1])]}]


def image_part(block: Mapping[str, Any]) -> dict[str, Any]:
    """An MCP image block as a chat content part."""
    url = f"data:{block.get('mimeType', 'image/png')};base64,{block.get('data', '')}"
    return {"type": "image_url", "image_url": {"url": url}}
