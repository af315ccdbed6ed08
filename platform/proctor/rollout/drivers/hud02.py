"""The driver for HUD 0.2.x environments: every call is a function of the image's `hud_controller` package, run inside the container.

A task's args are the legacy task: `{prompt, setup?, evaluate, config?}`, the calls in any shorthand of `proctor.hud02.calls`. What the
controller returns passes through: observation, and since some give them, reward, done and info. May import `plan`, `errors`,
`steps`, `inside`, `drivers.base` and `proctor.hud02`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor.hud02 import runner
from proctor.hud02.calls import BadCall, Call, answered, expand_calls, setup_calls
from proctor.hud02.grading import reward_of
from proctor.hud02.returned import blocks_of, observation_of, web_urls
from proctor.hud02.runner import InvokeFailed
from proctor.rollout.drivers.base import Capability, Manifest, SessionTool
from proctor.rollout.errors import ControlError, ControlLost, RolloutFailed
from proctor.rollout.inside import Inside, InsideError
from proctor.rollout.steps import Recorder, now, text_block

TEMPLATE = "task"
CALL_S, REPLY_BYTES = 600.0, 64 * 1024**2
INVALID, FAILED = -32602, -32000

_CALLS = {"description": "A function name, [name, ...args] as an object {function, args}, or a list of these."}
ARGS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["prompt"],
    "properties": {"prompt": {"type": "string"}, "setup": _CALLS, "evaluate": _CALLS, "config": {"type": ["object", "null"]}},
}
ACTION_TYPES = ("click", "press", "keydown", "keyup", "type", "scroll", "move", "wait", "drag", "response", "screenshot", "position", "custom")
STEP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["actions"],
    "properties": {
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "type": {"enum": list(ACTION_TYPES)},
                    "point": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
                    "path": {"type": "array", "items": {"type": "object"}, "description": "Points of a drag."},
                    "button": {"enum": ["left", "right", "wheel", "back", "forward"]},
                    "keys": {"type": "array", "items": {"type": "string"}},
                    "text": {"type": "string", "description": "What is typed, or the final answer of a response."},
                    "scroll": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}},
                    "time": {"type": "integer", "description": "Milliseconds to wait."},
                    "action": {"description": "Of a custom action."},
                },
            },
        }
    },
}
STEP_DESCRIPTION = "Do these actions in the environment, in order, and see what it looks like afterwards."


async def open_session(inside: Inside, recorder: Recorder | None = None) -> Hud02Session:
    """Once the container is healthy, where its image has a health check. Raises `ControlLost` while it is not yet, RolloutFailed when it says
    that it never will be."""
    word = (await inside.status()).word
    if word in ("created", "starting"):
        raise ControlLost("the container is starting")
    if word == "unhealthy":
        raise RolloutFailed("environment_start", "The container's own health check says that it is unhealthy.")
    return Hud02Session(inside, recorder)


class Hud02Session:
    """`drivers.base.Session` over function calls in one container. Setup and evaluation are told as steps, call by call."""

    def __init__(self, inside: Inside, recorder: Recorder | None = None) -> None:
        self.manifest = Manifest(session_id=inside.container_id[:12], env_name="hud02", env_version="0.2")
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost.add_done_callback(lambda lost: lost.cancelled() or lost.exception())
        self.address: tuple[str, int] | None = None
        self.tools: Sequence[SessionTool] = ()
        self.final_response: str | None = None
        self._inside, self._recorder = inside, recorder
        self._task: Mapping[str, Any] = {}

    async def start(self, task_id: str, args_text: str) -> str:
        """Setup calls in order (else those of `config`, else none), then the first observation beside the prompt."""
        if task_id != TEMPLATE:
            raise ControlError(INVALID, f"this kind of environment has one template, {TEMPLATE!r}, not {task_id!r}")
        self._task = _read_task(args_text)
        for call in _refusing(lambda: setup_calls(self._task.get("setup"), self._task.get("config"), "args.")):
            await self._told(call)
        content = [text_block(str(self._task["prompt"]))]
        content += await self._first_look()
        await self._tell_urls()
        return json.dumps({"prompt": [{"role": "user", "content": content}]})

    async def grade(self, answer_text: str) -> str:
        """The reward of what `evaluate` returned; nothing or None is an error, never a 0."""
        calls = _refusing(lambda: expand_calls(self._task.get("evaluate") or [], "args.evaluate"))
        if not calls:
            raise ControlError(INVALID, "the task names no evaluate call")
        answer = self.final_response if self.final_response is not None else json.loads(answer_text)
        returned = [await self._told(answered(call, answer)) for call in calls]
        try:
            score, parts = reward_of(returned)
        except ValueError as error:
            raise ControlError(FAILED, str(error)) from None
        return json.dumps({"score": score, "info": {"parts": parts}})

    async def list_tasks(self) -> str:
        """Proves that the package can be imported, too."""
        try:
            await self.invoke(None)
        except InvokeFailed as error:
            raise ControlError(FAILED, f"the image's python3 cannot import {runner.PACKAGE}: {error}") from None
        return json.dumps({"tasks": [{"id": TEMPLATE, "description": "A HUD 0.2.x task", "args": ARGS_SCHEMA}]})

    async def cancel(self, within_s: float) -> None:
        """Nothing to tell: the container goes."""

    async def address_of(self, capability: Capability) -> str:
        raise RolloutFailed("environment_protocol", f"A 0.2.x environment offers no {capability.name!r}.")

    async def close(self) -> None:
        self.lost.cancel()

    async def invoke(self, call: Call | None) -> tuple[Any, bytes, bytes]:
        """Result, stdout and stderr of one call; None asks which functions there are. Raises `InvokeFailed`, ControlLost."""
        asked, function = runner.request(call), call.function if call else f"import {runner.PACKAGE}"
        try:
            done = await self._inside.execute(runner.COMMAND, timeout_s=CALL_S, stdin=asked.line, keep_bytes=REPLY_BYTES)
        except InsideError as error:
            self._lose(error)
            raise ControlLost(str(error)) from error
        if done.timed_out:
            raise InvokeFailed(f"{function} did not end within {CALL_S:g} s")
        if done.spawn_error:
            raise InvokeFailed(f"{function} could not be run, the image needs python3 and timeout: {done.spawn_error}")
        try:
            result, printed = runner.read_reply(function, asked.nonce, done.stdout)
        except InvokeFailed as error:
            said = done.stderr.decode(errors="replace").strip()[-1000:]
            raise InvokeFailed(f"{error}{f'; it said: {said}' if said and not error.type_name else ''}", type_name=error.type_name, remote_traceback=error.remote_traceback) from None
        return result, printed, done.stderr

    def _lose(self, error: InsideError) -> None:
        if error.gone and not self.lost.done():
            self.lost.set_exception(ControlLost(str(error)))

    async def _told(self, call: Call) -> Any:
        """One call, as a step of its own whether it works or not. Raises ControlError."""
        started_at, began = now(), time.monotonic()
        try:
            result, stdout, stderr = await self.invoke(call)
        except InvokeFailed as error:
            self._record(call, started_at, began, {"error": str(error), "traceback": error.remote_traceback}, error=str(error))
            raise ControlError(FAILED, str(error)) from error
        except ValueError as error:
            raise ControlError(INVALID, f"the arguments of {call.function} are no JSON: {error}") from error
        said = {"stdout": _shown(stdout), "stderr": _shown(stderr)}
        self._record(call, started_at, began, {"result": result, **{name: text for name, text in said.items() if text}})
        return result

    def _record(self, call: Call, started_at: str, began: float, told: Mapping[str, Any], *, error: str | None = None) -> None:
        if self._recorder is None:
            return
        content = [text_block(json.dumps({**told, "seconds": round(time.monotonic() - began, 3)}, ensure_ascii=False))]
        result = {"content": content, "isError": error is not None}
        self._recorder.add("tool", started_at=started_at, error=error, call=call.to_step(), result=result)

    async def _first_look(self) -> list[dict[str, Any]]:
        """What the environment shows before any action; an image without `step` takes answers alone."""
        try:
            seen, _stdout, _stderr = await self.invoke(Call("step", ([],)))
        except InvokeFailed as error:
            if error.type_name == "AttributeError":
                return []
            raise ControlError(FAILED, str(error)) from error
        self.tools = [SessionTool("step", STEP_DESCRIPTION, STEP_SCHEMA, self._step)]
        return _observation(seen)

    async def _step(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The actions as they are; an answer among them is kept, and the actions are still done."""
        actions = arguments.get("actions") or []
        for action in actions:
            if isinstance(action, Mapping) and action.get("type") == "response":
                self.final_response = str(action.get("text", ""))
        seen, stdout, _stderr = await self.invoke(Call("step", (actions,)))
        passed = {key: seen[key] for key in ("reward", "done", "info") if isinstance(seen, Mapping) and key in seen}
        content = _observation(seen) + ([text_block(_shown(stdout))] if stdout.strip() else [])
        ends = passed.get("done") is True or self.final_response is not None
        return {"content": content, "isError": False, "structuredContent": passed, "_meta": {"proctor/ends": ends}}

    async def _tell_urls(self) -> None:
        """Where the environment can be looked at, if it says so; only http addresses are told."""
        try:
            urls, _stdout, _stderr = await self.invoke(Call("get_urls"))
        except InvokeFailed:
            return
        found = web_urls(urls)
        if found and self._recorder is not None:
            self._recorder.add("system", extra={"urls": found})


def _read_task(args_text: str) -> dict[str, Any]:
    task: dict[str, Any] = json.loads(args_text)
    if not isinstance(task.get("prompt"), str):
        raise ControlError(INVALID, "args.prompt must be a text")
    return task


def _refusing(read: Callable[[], list[Call]]) -> list[Call]:
    """What is no call is the task's fault. Raises ControlError."""
    try:
        return read()
    except BadCall as error:
        raise ControlError(INVALID, str(error)) from None


def _observation(seen: Any) -> list[dict[str, Any]]:
    """Raises InvokeFailed when it is none."""
    observation = observation_of(seen)
    if observation is None:
        raise InvokeFailed(f"step returned no observation but {json.dumps(seen)[:200]}")
    return blocks_of(observation)


def _shown(stream: bytes) -> str:
    return stream.decode(errors="replace")[-16_000:]

