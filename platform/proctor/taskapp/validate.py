"""Does a Task App keep to the contract? Everything that can be asked without starting a rollout, as findings.

`error`: it cannot be used. `warning`: it can, but leaks or loses something. `ok`: what was checked and is well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from proctor.taskapp.client import Target, TaskAppClient
from proctor.taskapp.damage import lost_paths
from proctor.taskapp.errors import read_error
from proctor.taskapp.probe import PROBE_BYTES, probe
from proctor.taskapp.transport import CallFailed, Reply, call

FOREIGN = "https://elsewhere.invalid"
WRONG_KEY = "proctor-wrong-key-0000"
Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """`subject` is a stable word: an endpoint, `auth`, `auth_leak`, `cors`, `damage`, `instances`, `schema`."""

    level: Level
    subject: str
    message: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def validate(target: Target, *, seeds: Sequence[int] = (0, 1), least: int = 1, within_s: float = 10.0) -> list[Finding]:
    """Findings in the order asked. `least`: how many instances the seeds must give. Raises nothing for what the peer does."""
    found = [Finding("ok" if one.ok else "error", one.endpoint, one.message or f"{one.status} in {one.latency_ms} ms") for one in await probe(target, within_s=within_s)]
    if all(one.level == "error" for one in found):
        return found
    client = TaskAppClient(target.url, target.key, public_only=target.public_only, within_s=within_s)
    found += await _keys(target, within_s)
    found += await _leaks(client)
    found += await _origins(target, within_s)
    found += await _info(client)
    return found + await _instances(client, seeds, least)


async def _keys(target: Target, within_s: float) -> list[Finding]:
    """Without a key, and with a wrong one, `/health` must be refused, and say nothing of the right ones."""
    found: list[Finding] = []
    for what, headers in (("no key", {}), ("a wrong key", {"X-API-Key": WRONG_KEY})):
        try:
            reply = await call("GET", target.url.rstrip("/") + "/health", headers=headers, within_s=within_s, public_only=target.public_only, reply_bytes=PROBE_BYTES)
        except CallFailed as error:
            found.append(Finding("error", "auth", f"with {what}: {error.message}"))
            continue
        found += _judge(what, reply)
    return found


def _judge(what: str, reply: Reply) -> list[Finding]:
    error, text = read_error(reply.status, reply.body), reply.body.decode(errors="replace")
    found = [Finding("ok" if error.auth else "warning", "auth", f"{what} is {'refused' if error.auth else 'let in'} ({reply.status})")]
    if error.auth and reply.status not in (401, 403):
        found.append(Finding("warning", "auth", f"{what} is refused with {reply.status}: 401 is what clients look for"))
    if "allowed_first15" in text or "allowed_prefix" in text:
        found.append(Finding("warning", "auth_leak", f"the refusal of {what} shows the first characters of the keys it would take"))
    return found


async def _leaks(client: TaskAppClient) -> list[Finding]:
    try:
        auth = (await client.health()).get("auth")
    except CallFailed as error:
        return [Finding("error", "/health", error.message)]
    leak = isinstance(auth, dict) and bool(auth.get("expected_prefix"))
    return [Finding("warning", "auth_leak", "/health shows the first characters of the key")] if leak else []


async def _origins(target: Target, within_s: float) -> list[Finding]:
    try:
        reply = await call("GET", target.url.rstrip("/") + "/", headers={"Origin": FOREIGN}, within_s=within_s, public_only=target.public_only)
    except CallFailed as error:
        return [Finding("error", "/", error.message)]
    allowed, credentials = reply.headers.get("access-control-allow-origin"), reply.headers.get("access-control-allow-credentials")
    if allowed in (FOREIGN, "*") and credentials == "true":
        return [Finding("warning", "cors", "pages of any origin may call it with the visitor's credentials")]
    return [Finding("ok", "cors", "other origins are not let in")]


async def _info(client: TaskAppClient) -> list[Finding]:
    try:
        info, marks = await client.info()
    except CallFailed as error:
        return [Finding("error", "schema", f"/info: {error.message}")]
    lost = lost_paths(marks)
    found = [Finding("warning", "damage", f"/info lost in writing: {', '.join(lost)}")] if lost else []
    return [*found, Finding("ok", "schema", "/info can be read")] if info.service else [*found, Finding("warning", "schema", "/info says nothing of its service")]


async def _instances(client: TaskAppClient, seeds: Sequence[int], least: int) -> list[Finding]:
    try:
        instances = await client.task_info(seeds)
    except CallFailed as error:
        return [Finding("error", "instances", f"/task_info for seeds {list(seeds)}: {error.message}")]
    damaged = [number for number, one in enumerate(instances) if one.marks]
    found = [Finding("warning", "damage", f"/task_info is damaged for seeds {[seeds[number] for number in damaged]}")] if damaged else []
    enough = len(instances) >= least
    return [*found, Finding("ok" if enough else "error", "instances", f"{len(instances)} of at least {least} instances can be read")]
