"""A Dramatiq broker in the worker's own memory: the scheduler feeds it from the database, so losing it loses nothing.

Not `StubBroker`, which keeps every failed message and its traceback for ever (it is for tests). No delays: a run's time is the
database's business. One process only (`-p 1`): the queue lives in the worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import Any

from dramatiq.broker import Broker, Consumer, MessageProxy
from dramatiq.errors import QueueNotFound
from dramatiq.message import Message


class MemoryBroker(Broker):
    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = SimpleQueue()
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        if delay is not None:
            raise ValueError("this broker has no delays")
        self.emit_before("enqueue", message, delay)
        self.queues[message.queue_name].put(message.encode())
        self.emit_after("enqueue", message, delay)
        return message

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30_000) -> Consumer:
        if queue_name not in self.queues:
            raise QueueNotFound(queue_name)
        return _MemoryConsumer(self.queues[queue_name], timeout / 1000)

    def get_declared_delay_queues(self) -> set[str]:
        return set()


class _MemoryConsumer(Consumer):
    def __init__(self, queue: SimpleQueue[bytes], timeout_s: float) -> None:
        self.queue, self.timeout_s = queue, timeout_s

    def __next__(self) -> MessageProxy | None:
        try:
            return MessageProxy(Message.decode(self.queue.get(timeout=self.timeout_s)))
        except Empty:
            return None

    def ack(self, message: MessageProxy) -> None:
        """Nothing to do: taking a message removed it."""

    def nack(self, message: MessageProxy) -> None:
        """Nothing to do: the scheduler sends an unclaimed run again."""

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        for message in messages:
            self.queue.put(message.encode())
