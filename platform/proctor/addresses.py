"""Which addresses are on the public Internet, and a network backend for HTTP clients that enters no others.

Names are resolved again when a connection is made, which then goes to the very address that was checked, so a name cannot change
its mind in between. Odd spellings of addresses (`127.1`, `0x7f000001`) are resolved like names. Knows no server; `gateway.addresses`
has the rules for people.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

import httpcore

Address = IPv4Address | IPv6Address
_NAT64 = IPv6Network("64:ff9b::/96")


class PrivateAddress(Exception):
    """The host is not on the public Internet, and whoever gave it may not lead inside."""


def url_problem(text: str) -> str | None:
    """What is wrong with a base URL, as the rest of a sentence; None when nothing is."""
    try:
        parts = urlsplit(text)
        _port = parts.port
    except ValueError:
        return "must be a URL such as https://host/v1"
    if parts.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if parts.username is not None or parts.password is not None:
        return "must hold no user name or password: the key has a field of its own"
    if not parts.hostname or not text.isascii() or any(ord(c) <= 32 or c in '\\"<>' for c in text):
        return "must be a URL such as https://host/v1"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "must end before any ? or #"
    return None


def leads_inside(base_url: str) -> bool:
    """Does the host, or any address of its name, lie off the public Internet? A name without an address does not (yet)."""
    parts = urlsplit(base_url)
    try:
        return not all(is_public(address) for address in resolve(parts.hostname or "", port_of(base_url)))
    except OSError:
        return False


def port_of(base_url: str) -> int:
    parts = urlsplit(base_url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def resolve(host: str, port: int) -> list[Address]:
    """Every address of a host. Raises OSError when it has none."""
    try:
        return [ip_address(host)]
    except ValueError:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))


def is_public(address: Address) -> bool:
    inner = _carried(address)
    if inner is not None:
        return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 one (mapped, 6to4, Teredo, NAT64)."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


def address_to_dial(host: str, port: int, *, may_lead_inside: bool = False) -> Address:
    """The address that was checked, so that what is dialled is what was asked for. Raises httpcore.ConnectError for a name without one,
    PrivateAddress for one that leads inside."""
    try:
        addresses = resolve(host, port)
    except OSError as error:
        raise httpcore.ConnectError(f"the name {host} has no address") from error
    if not may_lead_inside and not all(is_public(address) for address in addresses):
        raise PrivateAddress(host)
    return addresses[0]


class PublicOnly(httpcore.AsyncNetworkBackend):
    """Opens connections to public addresses only, by the address that was checked."""

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        address = await asyncio.to_thread(address_to_dial, host, port)
        return await self._inner.connect_tcp(str(address), port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise httpcore.ConnectError("sockets of this machine are not reached")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
