"""`create_task_app(config)`: a Task App of one's own as a small ASGI application, for any ASGI server.

    app = create_task_app(TaskAppConfig(app_id="count", base_task_info=…, provide_task_instances=…, rollout=…))

Serves `/`, `/health`, `/info`, `/task_info`, `/rollout` and `/done`. Keys come from `ENVIRONMENT_API_KEY` (and `…_ALIASES`) unless given.
Errors are one envelope; a crash is told by an id and its trace is in the log alone; no other origin is allowed unless named.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from pydantic import BaseModel, ValidationError

from proctor.taskapp.auth import require_key
from proctor.taskapp.datasets import DatasetRegistry, normalise_seed
from proctor.taskapp.encode import CannotEncode, to_json
from proctor.taskapp.errors import TaskAppError, error_payload
from proctor.taskapp.rollouts import RolloutRequest, RolloutResponse
from proctor.taskapp.rubrics import Rubric
from proctor.taskapp.tasks import TaskInfo

logger = logging.getLogger(__name__)
BODY_BYTES, MAX_SEEDS = 16 * 1024 * 1024, 1_000
Rollout = Callable[[RolloutRequest], Any]
Scope = Mapping[str, Any]


@dataclass
class TaskAppConfig:
    """`describe_taskset` and `provide_task_instances(seeds)` may be sync or async, and so may `rollout(request)`, which gives a
    RolloutResponse or its dict. `keys`: None reads the environment at each request. `cors_origins`: exact origins, none by default."""

    app_id: str
    base_task_info: TaskInfo
    provide_task_instances: Callable[[Sequence[int]], Any]
    rollout: Rollout
    describe_taskset: Callable[[], Any] | None = None
    name: str = ""
    dataset_registry: DatasetRegistry | None = None
    rubrics: Mapping[str, Rubric | None] = field(default_factory=dict)
    keys: Sequence[str] | None = None
    cors_origins: Sequence[str] = ()
    on_start: Callable[[], Any] | None = None
    on_stop: Callable[[], Any] | None = None


def create_task_app(config: TaskAppConfig) -> TaskApp:
    return TaskApp(config)


def keys_of_environment() -> list[str]:
    names = (os.environ.get("ENVIRONMENT_API_KEY", ""), *os.environ.get("ENVIRONMENT_API_KEY_ALIASES", "").split(","))
    return [name.strip() for name in names if name.strip()]


class TaskApp:
    """An ASGI 3 application."""

    def __init__(self, config: TaskAppConfig) -> None:
        self.config = config
        self.routes: dict[str, dict[str, Callable[[_Call], Awaitable[Any]]]] = {
            "/": {"GET": self._root}, "/health": {"GET": self._health}, "/info": {"GET": self._info}, "/task_info": {"GET": self._task_info},
            "/rollout": {"POST": self._rollout}, "/done": {"POST": self._done},
        }  # fmt: skip

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(_Call(scope, receive), send)

    async def _live(self, receive: Any, send: Any) -> None:
        while True:
            kind = (await receive())["type"]
            hook = self.config.on_start if kind == "lifespan.startup" else self.config.on_stop
            if hook is not None:
                await _settle(hook())
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return

    async def _answer(self, call: _Call, send: Any) -> None:
        status, body, headers = 200, b"", {}
        try:
            body = to_json(await self._route(call))
        except TaskAppError as error:
            status, body, headers = error.status, to_json(error_payload(error.code, error.message, **error.details)), error.headers
        except ClientGone:
            return
        except Exception as error:
            status, body = 500, self._crashed(call, error)
        await _send(send, status, b"" if call.method == "HEAD" else body, {**headers, **self._cors(call)})

    async def _route(self, call: _Call) -> Any:
        methods = self.routes.get(call.path.rstrip("/") or "/")
        if methods is None:
            raise TaskAppError(404, "not_found", "There is nothing at this address")
        view = methods.get("GET" if call.method == "HEAD" else call.method)
        if view is None:
            raise TaskAppError(405, "method_not_allowed", f"{call.method} is not served here", headers={"Allow": ", ".join(methods)})
        if call.path != "/":
            require_key(call.headers, keys_of_environment() if self.config.keys is None else self.config.keys)
        return await view(call)

    def _crashed(self, call: _Call, error: Exception) -> bytes:
        number = f"err_{uuid.uuid4().hex[:16]}"
        logger.error("task app failed path=%s error_id=%s", call.path, number, exc_info=error)
        code, message = ("invalid_response", str(error)) if isinstance(error, CannotEncode) else ("internal", "This Task App failed; its log has the cause")
        return to_json(error_payload(code, message, error_id=number))

    def _cors(self, call: _Call) -> dict[str, str]:
        origin = call.headers.get("origin")
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"} if origin and origin in self.config.cors_origins else {}

    async def _root(self, call: _Call) -> Any:
        return {"status": "ok", "service": self.config.app_id}

    async def _health(self, call: _Call) -> Any:
        return {"healthy": True, "auth": {"required": True}}

    async def _done(self, call: _Call) -> Any:
        return {"ok": True, "service": self.config.app_id}

    async def _info(self, call: _Call) -> Any:
        base = self.config.base_task_info
        rubrics = {name: self.config.rubrics.get(name) for name in ("outcome", "events")} if self.config.rubrics else None
        service = {"task": base.task, "version": base.task.version}
        return {"service": service, "dataset": base.dataset, "rubrics": rubrics, "inference": base.inference, "limits": base.limits}

    async def _task_info(self, call: _Call) -> Any:
        seeds = call.seeds()
        if not seeds:
            describe = self.config.describe_taskset
            return {"taskset": await _settle(describe()) if describe else self.config.base_task_info.dataset}
        instances = [TaskInfo.model_validate(item) for item in await _settle(self.config.provide_task_instances(seeds))]
        return instances[0] if len(seeds) == 1 and len(instances) == 1 else instances

    async def _rollout(self, call: _Call) -> Any:
        request = _validated(RolloutRequest, await call.json())
        result = await call.while_connected(_run(self.config.rollout, request))
        try:
            value = result.model_dump() if isinstance(result, BaseModel) else result
            return RolloutResponse.model_validate(value)
        except ValidationError as error:
            logger.error("rollout gave no valid response run_id=%s problems=%s", request.run_id, _problems(error))
            raise TaskAppError(500, "invalid_response", "The rollout gave no valid response", problems=_problems(error)) from None


class ClientGone(Exception):
    """Nobody waits for the reply any more."""


class _Call:
    """One request."""

    def __init__(self, scope: Scope, receive: Any) -> None:
        self.method, self.receive = scope["method"], receive
        self.path = scope["path"].removeprefix(scope.get("root_path", "") or "") or "/"
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self.query = parse_qs(scope.get("query_string", b"").decode("latin-1"))

    def seeds(self) -> list[int]:
        """`seed` before `seeds`, both repeatable. Raises TaskAppError 422."""
        given = [*self.query.get("seed", []), *self.query.get("seeds", [])]
        if len(given) > MAX_SEEDS:
            raise TaskAppError(422, "invalid", f"at most {MAX_SEEDS} seeds in one request")
        try:
            return [normalise_seed(text, negatives="wrap").requested for text in given]
        except ValueError as error:
            raise TaskAppError(422, "invalid", str(error)) from None

    async def json(self) -> Any:
        """Raises TaskAppError 413, 400."""
        body = bytearray()
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message.get("body", b"")
            if len(body) > BODY_BYTES:
                raise TaskAppError(413, "too_large", f"the body is larger than {BODY_BYTES:,} bytes")
            if not message.get("more_body"):
                break
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise TaskAppError(400, "bad_json", f"the body is no JSON: {error}") from None

    async def while_connected(self, work: Awaitable[Any]) -> Any:
        """The work's result; when the client goes first, the work is cancelled."""
        working, gone = asyncio.ensure_future(work), asyncio.ensure_future(self._gone())
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientGone
            return working.result()
        finally:
            for task in (working, gone):
                task.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)

    async def _gone(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _validated(model: type[Any], value: Any) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise TaskAppError(422, "invalid", "; ".join(_problems(error)[:3]), problems=_problems(error)) from None


def _problems(error: ValidationError) -> list[str]:
    """Places and rules; what was given is not shown back."""
    return [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False, include_input=False)]


async def _run(rollout: Rollout, request: RolloutRequest) -> Any:
    if inspect.iscoroutinefunction(rollout):
        return await rollout(request)
    return await _settle(await asyncio.to_thread(rollout, request))


async def _settle(value: Any) -> Any:
    value = await value if inspect.isawaitable(value) else value
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | BaseModel) else value


async def _send(send: Any, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    known = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    await send({"type": "http.response.start", "status": status, "headers": [(k.lower().encode(), v.encode()) for k, v in known.items()]})
    await send({"type": "http.response.body", "body": body})
