"""Wake-up hints for live pages: "something changed, look now". Losing one costs at most the tailer's timer (250 ms).

Redis pub/sub when scaled; otherwise a datagram socket per web process in the data folder. A hint carries no data. Never the
in-memory channel layer, which does not wake other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)
CHANNEL = "proctor.live"
_sender = threading.local()


def hint_after_commit() -> None:
    """Wakes every web process once the current transaction is committed; at once when there is none."""
    transaction.on_commit(hint, robust=True)


def hint() -> None:
    if settings.PROCTOR_REDIS_URL:
        _hint_redis()
    else:
        _hint_sockets()


def _folder() -> Path:
    """In the data folder; in the system's temporary one when the path would be too long for a socket (108 bytes)."""
    folder = Path(settings.DATA) / "live"
    if len(str(folder)) > 85:
        folder = Path(tempfile.gettempdir()) / f"proctor-{settings.PROCTOR_INSTANCE[:12]}"
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _hint_sockets() -> None:
    if not hasattr(_sender, "socket"):
        _sender.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    for path in _folder().glob("*.sock"):
        try:
            _sender.socket.sendto(b"!", str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
        except OSError:
            continue


def _hint_redis() -> None:
    import redis

    if not hasattr(_sender, "redis"):
        _sender.redis = redis.Redis.from_url(settings.PROCTOR_REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        _sender.redis.publish(CHANNEL, b"!")
    except redis.RedisError as error:
        logger.warning("live hint not sent error=%s", type(error).__name__)


@contextlib.asynccontextmanager
async def listening(wake: asyncio.Event) -> AsyncIterator[None]:
    """Sets `wake` at every hint, for as long as the context is open."""
    if settings.PROCTOR_REDIS_URL:
        task = asyncio.create_task(_listen_redis(wake))
        try:
            yield
        finally:
            task.cancel()
        return
    path = _folder() / f"{os.getpid()}.sock"
    path.unlink(missing_ok=True)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as listener:
        listener.bind(str(path))
        loop.add_reader(listener, _drain, listener, wake)
        try:
            yield
        finally:
            loop.remove_reader(listener)
            path.unlink(missing_ok=True)


def _drain(listener: socket.socket, wake: asyncio.Event) -> None:
    with contextlib.suppress(BlockingIOError):
        while listener.recv(16):
            pass
    wake.set()


async def _listen_redis(wake: asyncio.Event) -> None:
    import redis.asyncio as redis

    while True:
        try:
            async with redis.from_url(settings.PROCTOR_REDIS_URL) as client, client.pubsub() as pubsub:
                await pubsub.subscribe(CHANNEL)
                async for _message in pubsub.listen():
                    wake.set()
        except redis.RedisError as error:
            logger.warning("live hints lost, trying again error=%s", type(error).__name__)
            await asyncio.sleep(1)
