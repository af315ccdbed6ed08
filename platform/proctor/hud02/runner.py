"""How a controller function is run inside a container: a fixed script, fed on its standard input, whose last nonce starts the reply.

Function name and arguments are data, never part of a program or of `argv`; so no name injects code, and no argument is too long. The
nonce is not in `argv` either, and only what follows its *last* occurrence is read, so that output printed before it is the
function's own and a line printed later is noise. A controller that is hostile to its own grade can still forge a reply: it shares
the process.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from proctor.hud02.calls import Call

PACKAGE = "hud_controller"
"""An image may name another in its environment, as `HUD_CONTROLLER_PACKAGE`."""
SCRIPT = r"""
import asyncio, importlib, inspect, json, os, sys, traceback
request = json.loads(sys.stdin.buffer.readline())
reply_fd = os.dup(1)
root = os.environ.get("HUD_CONTROLLER_PACKAGE") or request["package"]
def run():
    if request["function"] is None:
        package = importlib.import_module(root)
        return {"ok": True, "result": json.dumps([name for name in dir(package) if callable(getattr(package, name))])}
    module, _, name = (root + "." + request["function"]).rpartition(".")
    result = getattr(importlib.import_module(module), name)(*request["args"])
    if inspect.isawaitable(result):
        async def wait():
            return await result
        result = asyncio.run(wait())
    return {"ok": True, "result": json.dumps(result, allow_nan=False)}
try:
    reply = run()
except BaseException as error:
    reply = {"ok": False, "type": type(error).__name__, "message": str(error)[:4000], "traceback": traceback.format_exc()[-16000:]}
sys.stdout.flush()
data = ("\n" + request["nonce"] + json.dumps(reply) + "\n").encode("utf-8", "backslashreplace")
while data:
    data = data[os.write(reply_fd, data):]
os._exit(0 if reply["ok"] else 1)
"""
COMMAND = ["python3", "-c", SCRIPT]
"""What is run in the container, under a deadline that kills the whole process group."""


class InvokeFailed(Exception):
    """The function raised, or nothing that it returned could be read. `type_name` and `remote_traceback` are the container's."""

    def __init__(self, message: str, *, type_name: str = "", remote_traceback: str = "") -> None:
        super().__init__(message)
        self.type_name, self.remote_traceback = type_name, remote_traceback


@dataclass(frozen=True)
class Request:
    """What goes to the script: one line on its standard input."""

    line: bytes
    nonce: bytes


def request(call: Call | None, package: str = PACKAGE) -> Request:
    """None: which functions there are. Raises ValueError for arguments that are no JSON (NaN, infinities, other objects)."""
    nonce = f"proctor-{secrets.token_hex(16)}:"
    asked = {"function": call.function, "args": call.to_json()["args"]} if call else {"function": None, "args": []}
    body = {"package": package, "nonce": nonce, **asked}
    return Request(json.dumps(body, allow_nan=False).encode() + b"\n", nonce.encode())


def read_reply(function: str, nonce: bytes, stdout: bytes) -> tuple[Any, bytes]:
    """The result, and what the function printed. Raises `InvokeFailed`."""
    printed, found, rest = stdout.rpartition(b"\n" + nonce)
    if not found:
        raise InvokeFailed(f"{function} ended without a result")
    try:
        reply = json.loads(rest.split(b"\n", 1)[0])
        ok = bool(reply["ok"])
        result = json.loads(reply["result"]) if ok else None
    except (ValueError, KeyError, TypeError):
        raise InvokeFailed(f"{function} gave no readable result") from None
    if not ok:
        said = {key: str(reply.get(key, "")) for key in ("type", "message", "traceback")}
        raise InvokeFailed(f"{function} raised {said['type']}: {said['message']}", type_name=said["type"], remote_traceback=said["traceback"])
    return result, printed
