"""A HUD 0.2.x environment to drive by hand: reset, step, evaluate, close, with the values that Gymnasium expects.

    async with Environment.local("clicks:1", task) as env:
        observation, info = await env.reset()
        observation, reward, terminated, truncated, info = await env.step([{"type": "click"}])
        print(await env.evaluate())

`local` runs the image on this machine's engine, `remote` in a sandbox of the server (`/hud02`). Which job a remote environment belongs to is
a context variable, so that jobs at once in one process don't mix.
"""

from __future__ import annotations

import base64
import contextlib
import contextvars
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from proctor.errors import ProctorError
from proctor.hud02.calls import Call, answered, expand_calls, setup_calls
from proctor.hud02.returned import observation_of, web_urls

if TYPE_CHECKING:
    from proctor.client import AsyncClient
    from proctor.client.request import Call as Request
    from proctor.client.request import Reply

INSTANCE = "proctor-sdk"
Step = tuple["Observation", float, bool, bool, dict[str, Any]]


class EnvironmentFailed(ProctorError):
    """A function of the controller failed, or what it returned is nothing that was asked for."""


@dataclass(frozen=True)
class LegacyTask:
    """A task as HUD 0.2.x has them; calls in any shorthand of `proctor.hud02.calls`."""

    prompt: str = ""
    setup: Any = None
    evaluate: Any = None
    config: Mapping[str, Any] | None = None
    id: str | None = None


@dataclass(frozen=True)
class Observation:
    """`screenshot` is a PNG."""

    text: str | None = None
    screenshot: bytes | None = field(default=None, repr=False)


class Driver(Protocol):
    """Where the controller's functions run. `run_id`: the run that the server keeps of it, if any."""

    run_id: str | None

    async def open(self, task: LegacyTask, setup: Sequence[Call]) -> None: ...

    async def invoke(self, call: Call) -> Any: ...

    async def close(self) -> None: ...


class Environment:
    """Use as an async context manager: it is set up on entering, and closed whatever happens."""

    def __init__(self, driver: Driver, task: LegacyTask) -> None:
        self._driver, self._task = driver, task
        self._open = False
        self.final_response: str | None = None

    @classmethod
    def local(cls, image: str, task: LegacyTask) -> Environment:
        """In a container of this machine's engine. Needs the extra `rollout`."""
        return cls(_Local(image), task)

    @classmethod
    def remote(cls, client: AsyncClient, task: LegacyTask, *, image: str | None = None, gym: str | None = None) -> Environment:
        """In a sandbox of the server: of an image, or of a registered environment. It belongs to the job of `job()`, if there is one."""
        return cls(_Remote(client, image, gym, _job.get()), task)

    async def __aenter__(self) -> Environment:
        self._open = True
        try:
            await self._driver.open(self._task, setup_calls(self._task.setup, self._task.config))
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def run_id(self) -> str | None:
        """Of a remote one: its run on the server, whose steps are what is done here and whose grade is what `evaluate` returns."""
        return self._driver.run_id

    async def reset(self) -> tuple[Observation, dict[str, Any]]:
        """What it looks like; the prompt is `info["prompt"]`."""
        observation, _reward, _terminated, _truncated, info = await self.step([])
        return observation, {**info, "prompt": self._task.prompt}

    async def step(self, actions: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Step:
        """Observation, reward, terminated, truncated, info: reward, done and info as the controller gave them (else 0, False, {}). A `response`
        among the actions is kept as the answer; the actions are done all the same. Raises EnvironmentFailed."""
        listed = [dict(actions)] if isinstance(actions, Mapping) else [dict(action) for action in actions]
        for action in listed:
            if action.get("type") == "response":
                self.final_response = str(action.get("text", ""))
        seen = await self._driver.invoke(Call("step", (listed,)))
        observation = observation_of(seen)
        if observation is None:
            raise EnvironmentFailed(f"step returned no observation but {json.dumps(seen)[:200]}")
        return _observation(observation), float(seen.get("reward") or 0), seen.get("done") is True, False, dict(seen.get("info") or {})

    async def evaluate(self) -> Any:
        """What `evaluate` returned, as it is; a list when there are several calls. Raises EnvironmentFailed when there is none."""
        calls = expand_calls(self._task.evaluate or [])
        if not calls:
            raise EnvironmentFailed("the task names no evaluate call")
        results = [await self._driver.invoke(answered(call, self.final_response)) for call in calls]
        return results[0] if len(results) == 1 else results

    async def get_urls(self) -> dict[str, str]:
        """Of `url` and `live_url` those that lead to the web."""
        return web_urls(await self._driver.invoke(Call("get_urls")))

    async def close(self) -> None:
        """May be repeated."""
        if self._open:
            self._open = False
            await self._driver.close()


_job: contextvars.ContextVar[str | None] = contextvars.ContextVar("proctor_hud02_job", default=None)


@contextlib.asynccontextmanager
async def job(client: AsyncClient, name: str) -> AsyncIterator[str]:
    """A job for the remote environments that are made inside; its id. Creating it is repeated without making a second one."""
    made = await client.send(_request("POST", "/v2/jobs", {"name": name, "metadata": {}}, key=uuid.uuid4().hex))
    token = _job.set(made["id"])
    try:
        yield made["id"]
    finally:
        _job.reset(token)


class _Local:
    """A container of this machine's engine; it is gone on closing, or with this process."""

    run_id: str | None = None

    def __init__(self, image: str) -> None:
        self._image = image
        self._stack = contextlib.AsyncExitStack()

    async def open(self, task: LegacyTask, setup: Sequence[Call]) -> None:
        from proctor.jobs.containers import LocalDockerEngine
        from proctor.rollout.drivers.hud02 import Hud02Session
        from proctor.rollout.inside import Enterable
        from proctor.rollout.plan import SandboxSpec

        engine = LocalDockerEngine(INSTANCE)
        self._stack.push_async_callback(engine.close)
        sandbox = await engine.start(SandboxSpec("docker", image=self._image, speaks="hud02"), {})
        self._stack.push_async_callback(sandbox.remove)
        assert isinstance(sandbox, Enterable)
        self._session = Hud02Session(sandbox.inside())
        self._stack.push_async_callback(self._session.close)
        for call in setup:
            await self.invoke(call)

    async def invoke(self, call: Call) -> Any:
        from proctor.hud02.runner import InvokeFailed
        from proctor.rollout.errors import ControlLost

        try:
            return (await self._session.invoke(call))[0]
        except (InvokeFailed, ControlLost) as error:
            raise EnvironmentFailed(str(error)) from error

    async def close(self) -> None:
        await self._stack.aclose()


class _Remote:
    """A session of the server's."""

    def __init__(self, client: AsyncClient, image: str | None, gym: str | None, job_id: str | None) -> None:
        if (image is None) == (gym is None):
            raise ValueError("Name an image or a gym")
        self._client, self._image, self._gym, self._job_id = client, image, gym, job_id
        self.id: str | None = None
        self.run_id: str | None = None

    async def open(self, task: LegacyTask, setup: Sequence[Call]) -> None:
        config = {"environment_config": {"image_uri": self._image}} if self._image else {}
        asked = {"run_id": self._job_id, "gym_id": self._gym or "docker", "metadata": config}
        self.id = (await self._client.send(_request("POST", "/v2/create_environment", asked)))["id"]
        begun = {"task_id": task.id, "setup": [call.to_json() for call in setup]}
        self.run_id = (await self._client.send(_request("POST", f"/v1/environments/{self.id}/reset", begun)))["id"]

    async def invoke(self, call: Call) -> Any:
        return (await self._client.send(_request("POST", f"/v2/environments/{self.id}/invoke", call.to_json())))["result"]

    async def close(self) -> None:
        if self.id is not None:
            await self._client.send(_request("POST", f"/v2/environments/{self.id}/close", {}))


def _request(method: str, path: str, body: object, *, key: str | None = None) -> Request[Any]:
    from proctor.client.request import Call as Asked

    headers = {"Idempotency-Key": key} if key else {}
    return Asked(method, f"/hud02{path}", _read, body=json.dumps(body).encode(), repeatable=bool(key), timeout_s=900.0, headers=headers)


def _read(reply: Reply) -> Any:
    return reply.json()


def _observation(seen: Mapping[str, Any]) -> Observation:
    shot = seen.get("screenshot")
    return Observation(seen.get("text"), base64.b64decode(shot) if isinstance(shot, str) and shot else None)
