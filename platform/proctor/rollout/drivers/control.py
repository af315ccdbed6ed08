"""The HUD control channel, as a client: newline-delimited JSON-RPC over TCP, frames up to 16 MiB.

Calls are one at a time with strict ids; a reader task notices a lost connection at once; a heartbeat every 120 s re-sends
`hello` between calls. Results are sliced from the frame as sent, so digits survive. Capabilities are reached through a
local forwarder that opens one `tunnel.open` connection per client connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from proctor.rollout.drivers.base import Capability, Manifest, SessionTool
from proctor.rollout.errors import ControlError, ControlLost, RolloutFailed

log = logging.getLogger(__name__)

FRAME_LIMIT = 16 * 1024 * 1024
HELLO_TIMEOUT_S = 10.0
HEARTBEAT_EVERY_S = 120.0
HEARTBEAT_REPLY_S = 5.0


class _ErrorFrame(msgspec.Struct):
    code: int = -32000
    message: str = ""


class _Reply(msgspec.Struct):
    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: _ErrorFrame | None = None


class _Binding(msgspec.Struct):
    name: str
    protocol: str
    url: str = ""
    params: dict[str, Any] = {}


class _Env(msgspec.Struct):
    name: str = ""
    version: str = ""


class _Hello(msgspec.Struct):
    session_id: str
    env: _Env
    bindings: list[_Binding] = []


_reply_decoder = msgspec.json.Decoder(_Reply)
_hello_decoder = msgspec.json.Decoder(_Hello)


def broken(what: str, frame: bytes = b"") -> RolloutFailed:
    """The environment does not speak the protocol."""
    shown = f": {frame[:200]!r}" if frame else ""
    return RolloutFailed("environment_protocol", f"The environment broke the control protocol: {what}{shown}")


def encode_call(call_id: int, method: str, params_text: str) -> bytes:
    """One request line; the parameters are JSON text already, in which line breaks are white space."""
    params_text = params_text.replace("\r", " ").replace("\n", " ")
    line = f'{{"jsonrpc":"2.0","id":{call_id},"method":"{method}","params":{params_text}}}'.encode()
    if len(line) > FRAME_LIMIT:
        raise RolloutFailed("agent", f"{method}: the message is {len(line)} bytes, over the channel's limit of 16 MiB.")
    return line + b"\n"


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next line, without its end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        raise ControlLost("the environment closed the control connection") from error
    except asyncio.LimitOverrunError as error:
        raise broken("a frame is over 16 MiB") from error
    except OSError as error:
        raise ControlLost(f"the control connection broke: {error}") from error


class ControlDriver:
    """Connects and says hello, once per call; the caller retries until its deadline."""

    async def connect(self, host: str, port: int) -> ControlSession:
        """A session whose `hello` was answered; `ControlLost` while nobody answers yet."""
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=FRAME_LIMIT)
        except OSError as error:
            raise ControlLost(f"cannot connect: {error.strerror or error}") from error
        session = ControlSession(reader, writer, (host, port))
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                await session.hello()
        except ControlError as error:
            session.abort()
            raise RolloutFailed("environment_start", f"The environment refused hello: {error}") from error
        except TimeoutError as error:
            session.abort()
            raise ControlLost(f"hello was not answered within {HELLO_TIMEOUT_S:g} s") from error
        except BaseException:
            session.abort()
            raise
        return session


class ControlSession:
    """One control connection. See `base.Session` for what its methods promise."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: tuple[str, int]) -> None:
        self.manifest = Manifest("", "", "")
        self.tools: Sequence[SessionTool] = ()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader, self._writer = reader, writer
        self.address: tuple[str, int] | None = address
        self._ids = itertools.count(1)
        self._one_at_a_time = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._given_up: set[int] = set()
        self._tunnels = Tunnels(address)
        self._tasks = [asyncio.create_task(self._read())]

    async def hello(self) -> None:
        """Introduce ourselves and learn what is there; starts the heartbeat."""
        result = await self._call("hello", "{}")
        try:
            said = _hello_decoder.decode(result)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise broken(f"hello was answered with something else ({error})", result.encode()) from error
        capabilities = [Capability(b.name, b.protocol, b.url, b.params) for b in said.bindings]
        self.manifest = Manifest(said.session_id, said.env.name, said.env.version, capabilities)
        self._tasks.append(asyncio.create_task(self._beat()))

    async def start(self, task_id: str, args_text: str) -> str:
        """`tasks.start`."""
        return await self._call("tasks.start", f'{{"id":{json.dumps(task_id)},"args":{args_text}}}')

    async def grade(self, answer_text: str) -> str:
        """`tasks.grade`."""
        return await self._call("tasks.grade", f'{{"answer":{answer_text}}}')

    async def list_tasks(self) -> str:
        """`tasks.list`."""
        return await self._call("tasks.list", "{}")

    async def cancel(self, within_s: float) -> None:
        """`tasks.cancel`, beside whatever call is outstanding: the channel allows that for this method."""
        try:
            async with asyncio.timeout(within_s):
                await self._exchange("tasks.cancel", "{}")
        except (TimeoutError, ControlError, ControlLost, RolloutFailed) as error:
            log.info("tasks.cancel went unanswered: %s", error)

    async def address_of(self, capability: Capability) -> str:
        """The capability's URL with host and port of a local forwarder."""
        return await self._tunnels.address_of(capability)

    async def close(self) -> None:
        """Close without ceremony: the sandbox goes anyway, and a `bye` would cost a round trip."""
        await self._tunnels.close()
        self.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort(self) -> None:
        """Drop the connection now."""
        for task in self._tasks:
            task.cancel()
        self._writer.close()
        self._end(ControlLost("the control connection was closed"))

    async def _call(self, method: str, params_text: str) -> str:
        async with self._one_at_a_time:
            return await self._exchange(method, params_text)

    async def _exchange(self, method: str, params_text: str) -> str:
        if self.lost.done():
            self.lost.result()
        call_id = next(self._ids)
        answer = self._waiting[call_id] = asyncio.get_running_loop().create_future()
        try:
            await self._send(encode_call(call_id, method, params_text))
            result: str = await answer
        except asyncio.CancelledError:
            self._given_up.add(call_id)
            raise
        finally:
            self._waiting.pop(call_id, None)
        if not result.startswith("{"):
            raise broken(f"{method} was not answered with an object", result.encode())
        return result

    async def _send(self, line: bytes) -> None:
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise ControlLost(f"the control connection broke: {error}") from error

    async def _read(self) -> None:
        try:
            while True:
                self._deliver(await read_frame(self._reader))
        except (ControlLost, RolloutFailed) as error:
            self._end(error)

    def _deliver(self, frame: bytes) -> None:
        try:
            reply = _reply_decoder.decode(frame)
            result = bytes(reply.result).decode()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if not self._deliver_not_finite(frame):
                raise broken(f"a line is not a JSON-RPC reply ({error})", frame) from error
            return
        if reply.id in self._given_up:
            self._given_up.discard(reply.id)
            return
        answer = self._answer_for(reply)
        if answer is None:
            raise broken("a reply carries an id that was not asked", frame)
        if answer.done():
            return
        if reply.error is not None:
            answer.set_exception(ControlError(reply.error.code, reply.error.message))
        elif not result:
            answer.set_exception(broken("a reply has neither result nor error", frame))
        else:
            answer.set_result(result)

    def _deliver_not_finite(self, frame: bytes) -> bool:
        """Python environments write NaN and Infinity, which JSON has not: such a reply is the fault of the code behind the call."""
        try:
            loose = json.loads(frame)
        except (ValueError, RecursionError):
            return False
        call_id = loose.get("id") if isinstance(loose, dict) else None
        answer = self._waiting.get(call_id) if isinstance(call_id, int) else None
        if answer is None or answer.done():
            return False
        answer.set_exception(ControlError(-32603, "the reply contains NaN or Infinity, which are no numbers in JSON"))
        return True

    def _answer_for(self, reply: _Reply) -> asyncio.Future[str] | None:
        """An error without an id belongs to the one call that is outstanding."""
        if reply.id is None and reply.error is not None and len(self._waiting) == 1:
            return next(iter(self._waiting.values()))
        return self._waiting.get(reply.id) if isinstance(reply.id, int) else None

    def _end(self, error: Exception) -> None:
        if not self.lost.done():
            self.lost.set_exception(error)
            self.lost.exception()  # seen: nobody needs to wait for it
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)

    async def _beat(self) -> None:
        params = json.dumps({"session_id": self.manifest.session_id})
        while True:
            await asyncio.sleep(HEARTBEAT_EVERY_S)
            try:
                async with self._one_at_a_time, asyncio.timeout(HEARTBEAT_REPLY_S):
                    await self._exchange("hello", params)
            except ControlError as error:
                log.warning("heartbeat refused: %s", error)
                return
            except (TimeoutError, ControlLost, RolloutFailed) as error:
                self._end(ControlLost(f"the environment stopped answering heartbeats: {error}"))
                return


class Tunnels:
    """Local forwarders, one per capability, made when first asked for."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._servers: dict[str, asyncio.Server] = {}
        self._connections: set[asyncio.Task[None]] = set()

    async def address_of(self, capability: Capability) -> str:
        """The capability's URL, host and port replaced."""
        server = self._servers.get(capability.name)
        if server is None:
            server = await asyncio.start_server(partial(self._accept, capability.name), "127.0.0.1", 0)
            self._servers[capability.name] = server
        port = server.sockets[0].getsockname()[1]
        url = urlsplit(capability.url)
        user = f"{url.username}@" if url.username else ""
        return urlunsplit((url.scheme, f"{user}127.0.0.1:{port}", url.path, url.query, url.fragment))

    async def close(self) -> None:
        """End every forwarder and connection."""
        for server in self._servers.values():
            server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._forward(name, reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _forward(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await self._open(name)
            try:
                await _splice((reader, writer), (far_reader, far_writer))
            finally:
                far_writer.close()
        except (ControlLost, ControlError, RolloutFailed, OSError) as error:
            log.warning("capability tunnel failed", extra={"capability": name, "error": str(error)})
        finally:
            writer.close()

    async def _open(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self._address, limit=FRAME_LIMIT)
        try:
            writer.write(encode_call(1, "tunnel.open", json.dumps({"capability": name})))
            await writer.drain()
            reply = _reply_decoder.decode(await read_frame(reader))
            if reply.error is not None:
                raise ControlError(reply.error.code, reply.error.message)
        except BaseException:
            writer.close()
            raise
        return reader, writer


_Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _splice(near: _Pipe, far: _Pipe) -> None:
    async with asyncio.TaskGroup() as both:
        both.create_task(_pump(near[0], far[1]))
        both.create_task(_pump(far[0], near[1]))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
