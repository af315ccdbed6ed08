"""The hud host: HUD's own agents, in a process and an environment of their own, driven over a unix socket.

Run by path, `PYTHON -I child.py SOCKET [--fork]`, with the Python of an environment that has `hud`; imports that and the standard
library, nothing of Proctor. First one line on stdout: `{"ready": version}` or `{"refused": why}`. Then one connection is one rollout, in
JSON lines: a job in (`agent.job_of` writes it); `{"phase"}`, `{"span"}` and one `{"end"}` out. A connection that closes is a cancel.

What keeps tenants apart and spans at home (read in hud 0.6.21, guarded by `self_test` at every start): a job's model client is made here
and given to the agent (`model_client`, public); `queue_span` is ours wherever it is bound, so that nothing is posted; the CLI agents, which
read key and address from the one settings object, find what the rollout in their context has of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import json
import os
import re
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

FLOOR = (0, 6, 21)
TYPES = ("claude", "openai", "gemini", "claude_cli", "codex_cli")
JOB_LIMIT = 64 * 1024 * 1024
SPAN_LIMIT = 25 * 1024 * 1024
"""Of what Proctor keeps as one span; its `LINE_LIMIT` is a little over it."""
ANSWER_LIMIT = 16 * 1024 * 1024
"""Bytes, of a frame on HUD's control channel."""
MESSAGE_LIMIT = 64 * 1024
"""Characters; the other side cuts again, once keys are taken out."""
ENVIRONMENT_ANSWERS_S = 10.0
RUN_ID = "hud.task_run_id"

Message = dict[str, Any]
_sinks: dict[str, Callable[[Message], None]] = {}
_own: ContextVar[Mapping[str, Any]] = ContextVar("own", default=MappingProxyType({}))


# — the hooks


def keep_apart(settings: Any) -> None:
    """HUD's settings object, which every module shares, answers with what the rollout of its reader's context has of its own. It becomes
    one of a subclass: HUD looks at its class as well (0.6.21, `hud/patches/mcp_patches.py`)."""
    former: Any = type(settings)

    class RunSettings(former):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            own = _own.get()
            return own[name] if name in own else super().__getattribute__(name)

    object.__setattr__(settings, "__class__", RunSettings)


def take_span(span: Message) -> None:
    """In the place of `queue_span`: to the connection of the span's run, and nowhere else."""
    sink = _sinks.get(span.get("attributes", {}).get(RUN_ID, ""))
    if sink is not None:
        sink(span)


def install() -> None:
    """Import every agent, then put our two hooks wherever their originals are bound. Raises what importing raises."""
    for name in ("hud.agents.claude.sdk.agent", "hud.agents.codex.agent", "hud.eval.file_tracking", "hud.clients", "hud.utils.gateway"):
        importlib.import_module(name)
    agent_type = importlib.import_module("hud.types").AgentType
    for name in TYPES:
        _ = agent_type(name).cls.config_cls
    keep_apart(importlib.import_module("hud.settings").settings)
    original = importlib.import_module("hud.telemetry.exporter").queue_span
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "hud"]:
        if getattr(module, "queue_span", None) is original:
            module.queue_span = take_span  # type: ignore[attr-defined]


# — the self-test


def installed_version() -> str:
    """Raises RuntimeError for a release that lacks what is used here."""
    version = importlib.metadata.version("hud")
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if numbers < FLOOR:
        raise RuntimeError(f"hud {version} is too old, 0.6.21 is needed: run `make hud-agents`")
    return version


async def self_test() -> None:
    """Two rollouts at once with a model that answers at once: each sees its own spans and settings, and nothing is dialled. Raises
    RuntimeError with what does not hold."""
    dialled: list[str] = []
    testing = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if testing and event == "socket.connect":
            dialled.append(repr(arguments[1])[:100])

    sys.addaudithook(watch)
    try:
        await asyncio.gather(_try_out("one"), _try_out("two"))
    finally:
        testing = False
    _require(not dialled, f"something was dialled: {dialled[:3]}")
    _require(importlib.import_module("hud.telemetry.exporter")._worker is None, "spans are being uploaded")


async def _try_out(run_id: str) -> None:
    _own.set({"api_key": run_id})
    said = SimpleNamespace(type="message", content=[])
    reply = SimpleNamespace(id="r", output=[said], usage=None, incomplete_details=None, model=run_id)

    async def create(**_: Any) -> Any:
        await asyncio.sleep(0.01)
        return reply

    job = {"agent_type": "openai", "config": {}, "prompt": [{"role": "user", "content": {"type": "text", "text": "?"}}], "task_id": "t"}
    agent = load_agent(job | {"run_id": run_id, "model": {"name": run_id}}, SimpleNamespace(responses=SimpleNamespace(create=create)))
    spans: list[Message] = []
    _sinks[run_id] = spans.append
    try:
        trace = await work(agent, SimpleNamespace(manifest=None), job | {"run_id": run_id})
    finally:
        del _sinks[run_id]
    models = [span["attributes"]["hud.payload"].get("model") for span in spans]
    _require(models == [run_id] and trace.stop_reason == "done", f"a run's spans went astray: {models}")
    for name in ("hud.agents.claude.sdk.agent", "hud.agents.codex.agent", "hud.utils.gateway"):
        _require(sys.modules[name].settings.api_key == run_id, f"{name} does not read the rollout's own key")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(f"hud {installed_version()} does not work as the hud host needs it: {otherwise}")


# — one rollout


def model_client(job: Message) -> Any:
    """The provider's own client, for this job's route; it follows no redirect, which could lead inside or take the key along. An address
    for chat completions serves too: its tail is cut off."""
    model, provider = job["model"], _agent_type(job).gateway_provider
    headers = {"Trace-Id": job["run_id"], **model["headers"]}
    base_url, key, call_s = model["base_url"].rstrip("/"), model["api_key"] or "none", job["model_call_s"]
    if provider == "gemini":
        http = {"transport": importlib.import_module("httpx").AsyncHTTPTransport(), "follow_redirects": False}
        base_url = base_url.removesuffix("/openai").removesuffix("/v1beta")
        options = {"base_url": base_url, "api_version": "v1beta", "headers": headers, "timeout": int(call_s * 1000), "async_client_args": http}
        return importlib.import_module("google.genai").Client(api_key=key, http_options=options)
    package = importlib.import_module(provider)
    client_class = {"anthropic": "AsyncAnthropic", "openai": "AsyncOpenAI"}[provider]
    base_url = base_url.removesuffix("/v1") if provider == "anthropic" else base_url
    http = package.DefaultAsyncHttpxClient(follow_redirects=False)
    return getattr(package, client_class)(api_key=key, base_url=base_url, default_headers=headers, timeout=call_s, http_client=http)


async def close_client(client: Any) -> None:
    """With its pool of connections."""
    await (client.aio.aclose() if hasattr(client, "aio") else client.close())


def _agent_type(job: Message) -> Any:
    return importlib.import_module("hud.types").AgentType(job["agent_type"])


def load_agent(job: Message, client: Any = None) -> Any:
    """The agent that the job names. CLI agents take key and address from the settings, as for HUD's gateway."""
    kind = _agent_type(job)
    config = {key: value for key, value in job["config"].items() if key != "checkpoint_name"} | {"model": job["model"]["name"]}
    if kind.is_cli:
        base_url = job["model"]["base_url"].rstrip("/")
        base_url = base_url.removesuffix("/v1") if kind.gateway_provider == "anthropic" else base_url
        _own.set({"api_key": job["model"]["api_key"] or "none", "hud_gateway_url": base_url})
        return kind.cls.load(config | {"gateway": True})
    agent_class = kind.cls
    return agent_class(agent_class.config_cls.model_validate(config | {"gateway": False, "model_client": client}))


async def work(agent: Any, client: Any, job: Message) -> Any:
    """Let the agent work on a task that is set up already; the trace that it leaves."""
    run_class = importlib.import_module("hud.eval.run").Run
    with importlib.import_module("hud.telemetry.context").set_trace_context(job["run_id"]):
        run = run_class(client, job["task_id"], {})
        run.prompt = job["prompt"]
        if client.manifest is None:
            await agent(run)
        else:
            async with importlib.import_module("hud.eval.file_tracking").file_tracking_observer(client):
                await agent(run)
    return run.trace


@dataclass
class Rollout:
    """A job, the way back, and what its last model call died of."""

    job: Message
    writer: asyncio.StreamWriter
    failed: tuple[str, str] | None = None

    def send(self, message: Message) -> None:
        """Ours reads slowly when it must; `_watched` waits for it before every model call."""
        line = json.dumps(message, ensure_ascii=False, default=str).encode()
        if len(line) > SPAN_LIMIT:
            line = json.dumps({"left_out": len(line)}).encode()
        self.writer.write(line + b"\n")

    def span(self, span: Message) -> None:
        """Numbered on from the steps that the run has already."""
        payload = span["attributes"].get("hud.payload", {})
        if isinstance(payload, dict) and isinstance(payload.get("step_id"), int):
            payload["step_id"] += self.job["steps_before"]
        self.send({"span": span})

    async def carry_out(self) -> None:
        """To its end, told as `{"end"}`."""
        _sinks[self.job["run_id"]] = self.span
        try:
            self.send({"end": await self._outcome()})
        finally:
            del _sinks[self.job["run_id"]]

    async def _outcome(self) -> Message:
        try:
            trace = await self._run()
        except MemoryError:
            os._exit(1)  # the rollouts here are tried again in a fresh process
        except Exception as error:
            return {"failed": self.failed or ("agent", f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT])}
        outcome = {"answer": trace.content, "stop_reason": trace.stop_reason, "failed": None}
        if len((trace.content or "").encode()) > ANSWER_LIMIT:
            return {"failed": ("agent", "the answer is over 16 MiB, more than an environment takes")}
        if trace.status == "error" and trace.stop_reason is None:
            outcome["failed"] = self.failed or ("agent", trace.error or "the agent ended in an error")
        return outcome

    async def _run(self) -> Any:
        if _agent_type(self.job).is_cli:
            return await self._with_environment(load_agent(self.job))
        model = model_client(self.job)
        try:
            agent = load_agent(self.job, model)
            agent.get_response = self._watched(agent.get_response)
            return await self._with_environment(agent)
        finally:
            await close_client(model)

    async def _with_environment(self, agent: Any) -> Any:
        clients, runtime = importlib.import_module("hud.clients"), importlib.import_module("hud.eval.runtime").Runtime
        async with clients.connect(runtime(url=self.job["url"]), ready_timeout=ENVIRONMENT_ANSWERS_S) as client:
            return await work(agent, client, self.job)

    def _watched(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        async def get_response(*args: Any, **kwargs: Any) -> Any:
            self.send({"phase": "waiting_model"})
            await self.writer.drain()
            try:
                step = await ask(*args, **kwargs)
            except Exception as error:
                self.failed = (model_failure(error), f"Model {self.job['model']['name']!r}: {type(error).__name__}: {error}"[:MESSAGE_LIMIT])
                raise
            finally:
                self.send({"phase": "running"})
            self.failed = None
            return step

        return get_response


def model_failure(error: Exception) -> str:
    """The class of a failed model call, by what the three providers' clients raise (openai and anthropic: `APIStatusError.status_code`;
    google-genai: `APIError.code`)."""
    name = type(error).__name__
    if isinstance(error, TimeoutError) or "Timeout" in name:
        return "model_timeout"
    status = getattr(error, "status_code", getattr(error, "code", None))
    return "model_http" if isinstance(status, int) or "Connect" in name or isinstance(error, OSError) else "model_reply"


# — the process


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: a job, its rollout, the end; the other side's hanging up ends it at once."""
    try:
        job = json.loads(await reader.readline() or "null")
        if job is None:
            return
        rolling, gone = asyncio.create_task(Rollout(job, writer).carry_out()), asyncio.create_task(reader.read(1))
        await asyncio.wait({rolling, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not rolling.done():
            rolling.cancel()
        await asyncio.gather(rolling, gone, return_exceptions=True)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
    finally:
        writer.close()


async def serve(listener: socket.socket) -> None:
    """All rollouts in this event loop, until killed."""
    async with await asyncio.start_unix_server(serve_one, sock=listener, limit=JOB_LIMIT) as server:
        await server.serve_forever()


def serve_by_forks(listener: socket.socket) -> None:
    """A process per rollout, all agents imported before: walls between tenants for 40-55 MB a rollout."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            asyncio.run(_serve_connection(connection))
            os._exit(0)
        connection.close()


async def _serve_connection(connection: socket.socket) -> None:
    await serve_one(*await asyncio.open_unix_connection(sock=connection, limit=JOB_LIMIT))


def announce(message: Message) -> None:
    """The one line on stdout; what HUD prints later goes to stderr, which is read."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    os.dup2(2, 1)


def main(path: str, *, fork: bool) -> int:
    """1 when HUD's package is not what is needed."""
    try:
        version = installed_version()
        install()
        asyncio.run(self_test())
    except Exception as error:
        announce({"refused": f"{type(error).__name__}: {error}"[:2000]})
        return 1
    memory = int(os.environ.get("HUD_HOST_MEMORY_MB", "4096")) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(512)
    announce({"ready": version})
    if fork:
        serve_by_forks(listener)
    asyncio.run(serve(listener))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], fork="--fork" in sys.argv[2:]))
