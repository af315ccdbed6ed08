"""Docker sandboxes, aiodocker in one place: an image and limits in; an address, output and a certain end out.

Every container is named and labelled before it is created, creation is shielded, removal is forced and verified. It sits on a
bridge of ours without traffic between sandboxes. Where that bridge is an interface of this machine, the container's own address
is used and nothing is published, which saves about a tenth of a second; elsewhere a port is published on 127.0.0.1. Two
clients: short control calls, and log reading. Nothing here decides how many run at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiodocker
import aiohttp
from aiodocker.exceptions import DockerError

from proctor.rollout.errors import RolloutFailed
from proctor.rollout.inside import Inside
from proctor.rollout.patience import finish
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.seccomp import nested_profile

log = logging.getLogger(__name__)

SERVE_PORT = 8765
LOG_TAIL_BYTES = 256 * 1024
LOG_TAIL_LINES = 4_000
REMOVE_WITHIN_S = 15.0
INSTANCE_LABEL = "proctor.instance"

_PORT_LINE = re.compile(rb"^HUD_SERVE_PORT=(\d{1,5})\s*$", re.MULTILINE)
_UNREACHABLE = 900  # aiodocker's status for "cannot connect"
_T = TypeVar("_T")


def announced_port(output: bytes) -> int | None:
    """The port in the last `HUD_SERVE_PORT=` line."""
    found = _PORT_LINE.findall(output)
    return int(found[-1]) if found else None


def docker_client() -> aiodocker.Docker:
    """A client for the engine found by DOCKER_HOST, the current context, or the usual sockets; must be made inside a running
    loop. Raises `RolloutFailed` (platform) when there is no engine to be found."""
    try:
        return aiodocker.Docker(timeout=aiohttp.ClientTimeout(connect=10, sock_connect=10, total=120))
    except (AssertionError, ValueError, OSError, DockerError) as error:
        raise RolloutFailed("platform", "No Docker engine found: set DOCKER_HOST or start one.") from error


@dataclass(frozen=True)
class _Network:
    """Where sandboxes sit. `direct`: their own addresses can be reached from here, so nothing need be published."""

    name: str
    direct: bool


_DEFAULT_BRIDGE = _Network("bridge", direct=False)


@dataclass(frozen=True)
class OurContainer:
    """A container with our instance's label, as the sweeper sees it."""

    id: str
    labels: Mapping[str, str]
    created: int
    """Epoch seconds."""
    state: str


class DockerEngine:
    """Shared clients for many rollouts on one event loop. Use as an async context manager, or call `close`."""

    kinds = frozenset({"docker"})

    def __init__(self, *, own_network: bool = True) -> None:
        self._control = docker_client()
        self._streams = docker_client()
        self._own_network = own_network
        self._networks: dict[str, asyncio.Task[_Network]] = {}

    async def __aenter__(self) -> DockerEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the clients; containers and networks stay as they are."""
        await asyncio.gather(*self._networks.values(), return_exceptions=True)
        await self._control.close()
        await self._streams.close()

    async def ping(self) -> str:
        """The engine's version; raises `RolloutFailed` (platform) when it does not answer."""
        version: dict[str, Any] = await self._ask(self._control.version(), "asking for the engine's version")
        return str(version["Version"])

    async def start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> DockerSandbox:
        """Create and start a container. When this fails or is cancelled, no container stays."""
        if not spec.image:
            raise RolloutFailed("image_missing", "The task's environment has no image.")
        try:
            return await self._start(spec, labels)
        except _NetworkGone:  # somebody removed our bridge: make it again
            self._networks.pop(labels.get(INSTANCE_LABEL, ""), None)
            return await self._start(spec, labels)

    async def _start(self, spec: SandboxSpec, labels: Mapping[str, str]) -> DockerSandbox:
        shared = _Network(spec.network, direct=True) if spec.network else None
        network = shared or await self._network(labels.get(INSTANCE_LABEL, ""))
        sandbox = DockerSandbox(self, _container_name(labels), spec)
        try:
            await sandbox.create(_container_config(spec, labels, network))
            await sandbox.boot()
        except BaseException:
            await finish(sandbox.remove())
            raise
        return sandbox

    async def list_ours(self, instance: str) -> list[OurContainer]:
        """Every container of this instance, running or not."""
        filters = json.dumps({"label": [f"{INSTANCE_LABEL}={instance}"]})
        path, params = "containers/json", {"all": "true", "filters": filters}
        found = await self._ask(self._control._query_json(path, params=params), "listing containers")
        return [OurContainer(c["Id"], c.get("Labels") or {}, int(c["Created"]), c["State"]) for c in found]

    async def remove(self, container: str) -> bool:
        """Kill and remove by id or name, anonymous volumes too. True when it is gone, whoever removed it."""
        try:
            async with asyncio.timeout(REMOVE_WITHIN_S):
                while not await self._remove_once(container):  # noqa: ASYNC110 - the engine tells nobody when it is done
                    await asyncio.sleep(0.2)
        except (TimeoutError, DockerError, aiohttp.ClientError, OSError) as error:
            log.error("container not removed", extra={"container": container, "error": str(error)})
            return False
        return True

    async def remove_network(self, instance: str) -> None:
        """Remove the instance's bridge, if there is one and nobody is on it. Later rollouts make it anew."""
        if making := self._networks.pop(instance, None):
            await asyncio.wait({making})
        try:
            await self._control._query_json(f"networks/{_network_name(instance)}", method="DELETE")
        except DockerError as error:
            if error.status != 404:
                raise RolloutFailed("platform", f"The instance's network was not removed: {error}") from error

    async def _remove_once(self, container: str) -> bool:
        try:
            await self._control.containers.container(container).delete(force=True, v=True)
        except DockerError as error:
            if error.status == 404:
                return True
            if error.status in (409, 500):  # already being removed, or the engine could not finish: look again
                return False
            raise
        return True

    async def _network(self, instance: str) -> _Network:
        """Our bridge, made on first use, without traffic between sandboxes; the default bridge if it cannot be made."""
        if not self._own_network or not instance:
            return _DEFAULT_BRIDGE
        if instance not in self._networks:
            self._networks[instance] = asyncio.create_task(self._ensure_network(_network_name(instance), instance))
        made = self._networks[instance]
        try:
            return await self._ask(asyncio.shield(made), "making our network")
        except RolloutFailed:
            self._networks.pop(instance, None)
            raise

    async def _ensure_network(self, name: str, instance: str) -> _Network:
        interface = f"proctor{hashlib.sha256(instance.encode()).hexdigest()[:8]}"
        config = {
            "Name": name,
            "CheckDuplicate": True,
            "Driver": "bridge",
            "Labels": {INSTANCE_LABEL: instance},
            "Options": {"com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": interface},
        }
        try:
            await self._control.networks.create(config)
        except DockerError as error:
            if error.status == _UNREACHABLE:
                raise
            if error.status != 409:
                log.warning("own network not made, using the default bridge", extra={"error": error.message})
                return _DEFAULT_BRIDGE
        return _Network(name, direct=_is_here(interface))

    async def _ask(self, call: Awaitable[_T], doing: str) -> _T:
        """An engine call whose failure is the platform's."""
        try:
            return await call
        except (DockerError, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RolloutFailed("platform", f"The Docker engine failed while {doing}: {error}") from error


class DockerSandbox:
    """One container. `plan.StartedSandbox` says what its methods promise."""

    def __init__(self, engine: DockerEngine, name: str, spec: SandboxSpec) -> None:
        self.host, self.port = "127.0.0.1", 0
        self.container_id: str | None = None
        self.image_id: str | None = None
        self._engine, self._spec = engine, spec
        self._name = name
        self._asked = False
        self._addresses: dict[str, Any] = {}

    @property
    def _container(self) -> aiodocker.containers.DockerContainer:
        return self._engine._control.containers.container(self.container_id or self._name)

    def inside(self) -> Inside:
        """Commands and archives in the started container."""
        return Inside(self._engine._streams, self.container_id or self._name)

    async def create(self, config: dict[str, Any]) -> None:
        """Create; a cancellation waits for the engine's answer, so that `remove` knows what is there."""
        self._asked = True
        try:
            container = await finish(self._engine._control.containers.create(config, name=self._name))
        except DockerError as error:
            raise _refused_create(error, self._spec) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RolloutFailed("platform", f"The Docker engine failed while creating a container: {error}") from error
        self.container_id = container.id

    async def boot(self) -> None:
        """Start, and learn the address and the image's digest with one inspect."""
        try:
            await self._container.start()
        except DockerError as error:
            raise _refused_start(error, self._spec) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RolloutFailed("platform", f"The Docker engine failed while starting a container: {error}") from error
        await self._look()
        self._set_address(SERVE_PORT)

    async def locate(self) -> None:
        """Follow an announced port other than the usual one: it is not published, so the container's own address is used."""
        port = announced_port(await self.tail())
        if port is not None and port != SERVE_PORT:
            self._set_address(port)

    async def tail(self) -> bytes:
        """Both streams as the engine keeps them (not byte-exact for invalid UTF-8), the last 256 KiB."""
        if self.container_id is None:
            return b""
        params = {"stdout": "1", "stderr": "1", "tail": str(LOG_TAIL_LINES)}
        path = f"containers/{self.container_id}/logs"
        try:
            timeout = aiohttp.ClientTimeout(total=10)
            async with self._engine._streams._query(path, params=params, timeout=timeout) as response, response:
                return _demultiplex(await response.read())[-LOG_TAIL_BYTES:]
        except (DockerError, aiohttp.ClientError, TimeoutError, OSError) as error:
            log.info("container log not read", extra={"container": self.container_id, "error": str(error)})
            return b""

    async def exit_state(self) -> tuple[int | None, bool] | None:
        """(exit code, killed for memory) of an ended container; (None, False) when it is gone; None while it runs."""
        try:
            state = (await self._look())["State"]
        except RolloutFailed:
            return None
        if state is None:
            return None, False
        if state.get("Running") or state.get("Status") == "created":
            return None
        return state.get("ExitCode"), bool(state.get("OOMKilled"))

    async def remove(self) -> bool:
        """By id, or by the name chosen before the create whose answer never came."""
        return await self._engine.remove(self.container_id or self._name) if self._asked else True

    async def _look(self) -> dict[str, Any]:
        try:
            shown: dict[str, Any] = await self._container.show()
        except DockerError as error:
            if error.status == 404:
                return {"State": None}
            raise RolloutFailed("platform", f"The Docker engine failed while inspecting a container: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise RolloutFailed("platform", f"The Docker engine failed while inspecting a container: {error}") from error
        self.image_id = shown.get("Image")
        self._addresses = shown.get("NetworkSettings") or {}
        return shown

    def _set_address(self, port: int) -> None:
        published = (self._addresses.get("Ports") or {}).get(f"{port}/tcp")
        if published:
            self.host, self.port = "127.0.0.1", int(published[0]["HostPort"])
            return
        networks = self._addresses.get("Networks") or {}
        own: dict[str, Any] = networks.get(self._spec.network or "") or next(iter(networks.values()), {})
        self.host, self.port = own.get("IPAddress") or "127.0.0.1", port


def _is_here(interface: str) -> bool:
    """Is this bridge an interface of the machine, and network namespace, that we run in? Not with a remote or boxed-in engine."""
    try:
        return socket.if_nametoindex(interface) > 0
    except OSError:
        return False


def _network_name(instance: str) -> str:
    return f"proctor-{instance[:40]}"


def _container_name(labels: Mapping[str, str]) -> str:
    run = re.sub(r"[^A-Za-z0-9]", "", labels.get("proctor.run", "run"))[:12]
    return f"proctor-{run}-{labels.get('proctor.attempt', '1')}-{secrets.token_hex(4)}"


def _container_config(spec: SandboxSpec, labels: Mapping[str, str], network: _Network) -> dict[str, Any]:
    port = f"{SERVE_PORT}/tcp"
    host: dict[str, Any] = {
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "PidsLimit": spec.pids,
        "Memory": spec.memory_mb * 1024 * 1024,
        "MemorySwap": spec.memory_mb * 1024 * 1024,
        "NanoCpus": max(10_000_000, int(spec.cpu * 1_000_000_000)),  # the least there is; 0 would mean no limit
        "Init": True,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "1"}},
        "RestartPolicy": {"Name": "no"},
        "NetworkMode": network.name,
    }
    if spec.nested:
        host["SecurityOpt"].append(f"seccomp={nested_profile()}")
        host["MaskedPaths"], host["ReadonlyPaths"] = [], []
    if not network.direct:
        host["PortBindings"] = {port: [{"HostIp": "127.0.0.1", "HostPort": ""}]}
    config: dict[str, Any] = {"Image": spec.image, "Labels": dict(labels), "ExposedPorts": {port: {}}, "HostConfig": host}
    config["Env"] = [f"{name}={value}" for name, value in spec.env.items()]
    if spec.speaks == "hud02":  # such images run a shell or nothing much: a terminal keeps them up
        config["Tty"] = config["OpenStdin"] = True
    if spec.command:
        config["Cmd"] = list(spec.command)
    return config


def _refused_create(error: DockerError, spec: SandboxSpec) -> RolloutFailed:
    if error.status == 404 and "network" not in error.message.lower():
        return RolloutFailed("image_missing", f"Image {spec.image!r} is not on the Docker engine: build or load it there.")
    if 400 <= error.status < 500 and error.status != 409:
        return RolloutFailed("environment_start", f"The engine refused a container of {spec.image!r}: {error.message}")
    return RolloutFailed("platform", f"The Docker engine failed while creating a container: {error}")


class _NetworkGone(RolloutFailed):
    """Our bridge is not there any more."""


def _refused_start(error: DockerError, spec: SandboxSpec) -> RolloutFailed:
    """A command that cannot be run is a 400 or 404 on some engines and a 500 with the runtime's words on others."""
    if error.status == 404 and "network" in error.message and not spec.network:
        return _NetworkGone("platform", f"The network of our sandboxes is gone: {error.message}")
    runtime = re.search(r"executable file not found|no such file|permission denied|exec format|oci runtime", error.message, re.I)
    if runtime and "address already" not in error.message.lower():
        return RolloutFailed("environment_start", f"A container of {spec.image!r} could not start: {error.message}")
    return RolloutFailed("platform", f"The Docker engine failed while starting a container: {error}")


def _demultiplex(stream: bytes) -> bytes:
    """Frames of stdout and stderr joined in order; a stream without frames (a tty's) as it is."""
    parts, at = [], 0
    while at + 8 <= len(stream) and stream[at] in (0, 1, 2) and stream[at + 1 : at + 4] == b"\0\0\0":
        size = int.from_bytes(stream[at + 4 : at + 8], "big")
        parts.append(stream[at + 8 : at + 8 + size])
        at += 8 + size
    return b"".join(parts) if parts else stream
