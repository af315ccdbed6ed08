"""A client of Task Apps, for others' and our own: reads what an app says of itself, its tasks, and starts rollouts.

A read is tried twice when the connection fails; a rollout never, since the peer may be running it already. Replies are checked and
mended (`damage`); what cannot be read raises CallFailed with its cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import msgspec
from pydantic import ValidationError

from proctor.taskapp.auth import key_headers
from proctor.taskapp.damage import Mark, NotJson, read_json
from proctor.taskapp.errors import read_error, without_secrets
from proctor.taskapp.reading import BadReply, ReadRollout, read_rollout
from proctor.taskapp.rollouts import RolloutRequest
from proctor.taskapp.tasks import ServiceInfo, TaskInfo
from proctor.taskapp.transport import REPLY_BYTES, CallFailed, Reply, call

READ_S = 30.0
SEEDS_A_CALL = 50
AGAIN = frozenset({"refused", "timeout", "lost"})


@dataclass(frozen=True)
class Target:
    """A Task App: its base URL, the key it wants, whether it must be on the public Internet. The key is a secret."""

    url: str
    key: str = field(default="", repr=False)
    public_only: bool = True


@dataclass(frozen=True)
class Instance:
    """One TaskInfo: as a model, and as the text it came in (mended only where it was damaged)."""

    info: TaskInfo
    text: str
    marks: list[Mark] = field(default_factory=list)


class TaskAppClient:
    """See the module. Holds no connection."""

    def __init__(self, url: str, key: str = "", *, public_only: bool = False, within_s: float = READ_S, reply_bytes: int = REPLY_BYTES) -> None:
        self.target = Target(url.rstrip("/"), key, public_only)
        self.within_s, self.reply_bytes = within_s, reply_bytes

    async def root(self) -> dict[str, Any]:
        return await self._object("/")

    async def health(self) -> dict[str, Any]:
        return await self._object("/health")

    async def info(self) -> tuple[ServiceInfo, list[Mark]]:
        """What it says of itself, and the parts that it lost in writing (None in the model)."""
        reply = await self._get("/info")
        value, marks = self._value(reply)
        return self._model(ServiceInfo, value), marks

    async def taskset(self) -> Any:
        """`/task_info` without a seed: whatever the app says of its tasks. Not a TaskInfo."""
        value, _marks = self._value(await self._get("/task_info"))
        return value.get("taskset") if isinstance(value, dict) else value

    async def task_info(self, seeds: Sequence[int]) -> list[Instance]:
        """One for each seed, in order; asked for in parts of 50."""
        found: list[Instance] = []
        for first in range(0, len(seeds), SEEDS_A_CALL):
            part = seeds[first : first + SEEDS_A_CALL]
            found += self._instances(await self._get("/task_info?" + urlencode([("seed", seed) for seed in part])), len(part))
        return found

    async def rollout(self, request: RolloutRequest, *, within_s: float, correlation_id: str | None = None, secrets: Sequence[str] = ()) -> ReadRollout:
        """One POST, never repeated. `secrets` are taken out of the reply before anything is read of it."""
        body = request.model_dump_json().encode()
        reply = await self._call("POST", "/rollout", within_s, body)
        self._check(reply)
        clean = without_secrets(reply.body.decode(errors="replace"), [self.target.key, *secrets]).encode()
        try:
            return read_rollout(clean, run_id=request.run_id, correlation_id=correlation_id)
        except BadReply as error:
            raise CallFailed("bad_reply", str(error), sent=True, status=reply.status) from None

    async def _object(self, path: str) -> dict[str, Any]:
        value, _marks = self._value(await self._get(path))
        if not isinstance(value, dict):
            raise CallFailed("bad_reply", f"{path} answered no JSON object", sent=True)
        return value

    async def _get(self, path: str) -> Reply:
        try:
            reply = await self._call("GET", path, self.within_s)
        except CallFailed as error:
            if error.cause not in AGAIN or error.cause == "timeout":
                raise
            reply = await self._call("GET", path, self.within_s)
        self._check(reply)
        return reply

    async def _call(self, method: str, path: str, within_s: float, body: bytes | None = None) -> Reply:
        target = self.target
        return await call(
            method, target.url + path, headers=key_headers(target.key), within_s=within_s, body=body, public_only=target.public_only, reply_bytes=self.reply_bytes
        )

    def _check(self, reply: Reply) -> None:
        if reply.status < 300:
            return
        error = read_error(reply.status, reply.body)
        cause = "auth" if error.auth else "server_error" if reply.status >= 500 else "refused_request"
        raise CallFailed(cause, f"answered {without_secrets(str(error), [self.target.key])}", sent=True, status=reply.status)  # type: ignore[arg-type]

    def _value(self, reply: Reply) -> tuple[Any, list[Mark]]:
        try:
            return read_json(without_secrets(reply.body.decode(errors="replace"), [self.target.key]))
        except NotJson as error:
            raise CallFailed("bad_reply", str(error), sent=True, status=reply.status) from None

    def _model(self, model: type[Any], value: Any) -> Any:
        try:
            return model.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise CallFailed("bad_reply", f"{'.'.join(map(str, first['loc']))}: {first['msg']}", sent=True) from None

    def _instances(self, reply: Reply, wanted: int) -> list[Instance]:
        value, marks = self._value(reply)
        items = value if isinstance(value, list) else [value]
        if len(items) != wanted:
            raise CallFailed("bad_reply", f"/task_info was asked for {wanted} tasks and answered {len(items)}", sent=True)
        texts = None if marks else _texts(reply.body, isinstance(value, list))
        return [
            Instance(self._model(TaskInfo, item), texts[number] if texts else msgspec.json.encode(item).decode(), _marks_of(marks, number, len(items)))
            for number, item in enumerate(items)
        ]


def _texts(body: bytes, many: bool) -> list[str] | None:
    """Each instance exactly as sent; None when the exact reader refuses it."""
    try:
        raws = msgspec.json.decode(body, type=list[msgspec.Raw]) if many else [msgspec.Raw(body)]
        return [bytes(raw).decode() for raw in raws]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _marks_of(marks: list[Mark], number: int, count: int) -> list[Mark]:
    before = f"[{number}]."
    return marks if count == 1 else [mark for mark in marks if mark.path.startswith(before)]
