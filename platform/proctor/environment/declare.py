"""What an author declares: an `Environment`, its templates, its capabilities and the hooks around serving.

Pure declaration: no socket, no task in progress (`server`, `channel`), so one declaration can be served several times.
The names are those of HUD's SDK: `@env.template`, `@env.initialize`, `@env.shutdown`, `env.add_capability`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .arguments import args_schema, signature_of, type_schema

Hook = Callable[[], Any]
"""Async or not; what it returns is ignored."""


@dataclass(frozen=True)
class Capability:
    """Something that the environment serves beside its tasks: `protocol` (`mcp/2025-11-25`, `ssh/2`, …) at `url`, which needs
    a host and a port. Clients reach it through the control port; the address itself may stay private."""

    name: str
    protocol: str
    url: str
    params: dict[str, Any] = field(default_factory=dict)

    def to_manifest(self) -> dict[str, Any]:
        return {"name": self.name, "protocol": self.protocol, "url": self.url, "params": dict(self.params)}

    @classmethod
    def mcp(cls, *, url: str, name: str = "tools", auth_token: str | None = None) -> Capability:
        """An MCP server: streamable HTTP for `http(s)://`, websocket for `ws(s)://`."""
        params = {"transport": "websocket" if url.startswith("ws") else "streamable-http"}
        if auth_token is not None:
            params["auth_token"] = auth_token
        return cls(name, "mcp/2025-11-25", url, params)


@dataclass(frozen=True)
class Answer:
    """What a template with `returns=` receives: `content` is the answer as that type, or the text if it does not fit."""

    content: Any
    raw: str


class TaskRow(dict[str, Any]):
    """A task as a dict: `env`, `id`, `args`, and what is added by `row | {"slug": …}`. `Taskset.from_module` finds such rows."""

    def __or__(self, other: Any) -> TaskRow:  # type: ignore[override]
        return TaskRow({**self, **other})


class Template:
    """A registered generator function. Calling it gives the task row that it stands for, as a dict."""

    def __init__(self, env_name: str, id: str, description: str, function: Callable[..., Any], input: Any, returns: Any) -> None:
        self.env_name, self.id, self.description = env_name, id, description
        self.function, self.input, self.returns = function, input, returns
        self.signature = signature_of(function)
        functools.update_wrapper(self, function)

    def manifest_entry(self) -> dict[str, Any]:
        entry = {"id": self.id, "description": self.description, "args": args_schema(self.signature)}
        for key, declared in (("input", self.input), ("returns", self.returns)):
            if declared is not None:
                entry[key] = type_schema(declared)
        return entry

    def __call__(self, *args: Any, **kwargs: Any) -> TaskRow:
        bound = self.signature.bind(*args, **kwargs)
        return TaskRow(env=self.env_name, id=self.id, args=dict(bound.arguments))


class Environment:
    """A name, templates by id, and capabilities."""

    def __init__(self, name: str, *, version: str = "0.0.1", capabilities: Iterable[Capability] = ()) -> None:
        self.name, self.version = name, version
        self.templates: dict[str, Template] = {}
        self.capabilities: list[Capability] = []
        self._initializers: list[Hook] = []
        self._closers: list[Hook] = []
        for capability in capabilities:
            self.add_capability(capability)

    def template(
        self, *, id: str | None = None, description: str = "", input: Any = None, returns: Any = None
    ) -> Callable[[Callable[..., Any]], Template]:
        """Register a generator function, async or not, with two yields: the prompt (text, messages, or a dict with `prompt` and
        perhaps `bindings`), which evaluates to the answer, then the reward (a finite number, or a dict with `score`)."""

        def register(function: Callable[..., Any]) -> Template:
            if not (inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)):
                raise TypeError(f"@env.template: {_name(function)} must be a generator function (`def` or `async def` with `yield`)")
            template_id = id or function.__name__
            if template_id in self.templates:
                raise ValueError(f"template {template_id!r} is already registered on environment {self.name!r}")
            self.templates[template_id] = Template(self.name, template_id, description, function, input, returns)
            return self.templates[template_id]

        return register

    def add_capability(self, capability: Capability) -> None:
        """Publish a capability, in place of one with the same name. From an `@env.initialize` hook for what the environment
        starts itself."""
        if not capability.url:
            raise ValueError(f"capability {capability.name!r} has no url; start the service in an @env.initialize hook first")
        self.capabilities = [c for c in self.capabilities if c.name != capability.name] + [capability]

    def initialize(self, hook: Hook) -> Hook:
        """Run this function, async or not, once before serving."""
        self._initializers.append(hook)
        return hook

    def shutdown(self, hook: Hook) -> Hook:
        """Run this function, async or not, once after serving; the last registered first."""
        self._closers.append(hook)
        return hook

    async def start(self) -> None:
        for hook in self._initializers:
            await _run(hook)

    async def stop(self) -> None:
        for hook in reversed(self._closers):
            await _run(hook)


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


async def _run(hook: Hook) -> None:
    outcome = hook()
    if inspect.isawaitable(outcome):
        await outcome
