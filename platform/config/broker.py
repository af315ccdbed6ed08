"""Which Dramatiq broker carries run messages: the worker's own memory, Redis or RabbitMQ, by URL.

Our own list of middleware: no Retries, AgeLimit or TimeLimit, since deadlines and retries are the database's business; no
ShutdownNotifications either, which leave an async actor one second: the worker itself stops its rollouts (`config.worker_boot`).
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connections
from dramatiq.broker import Broker
from dramatiq.middleware import AsyncIO, CurrentMessage, Middleware


class CloseConnections(Middleware):
    """A worker thread keeps no database connection between messages."""

    def before_process_message(self, broker: Broker, message: Any) -> None:
        connections.close_all()

    def after_process_message(self, broker: Broker, message: Any, *, result: Any = None, exception: BaseException | None = None) -> None:
        connections.close_all()


def make_broker() -> Broker:
    url = settings.PROCTOR_BROKER_URL
    middleware = [AsyncIO(), CurrentMessage(), CloseConnections()]
    if url.startswith("memory:"):
        from config.memory_broker import MemoryBroker

        return MemoryBroker(middleware=middleware)
    if url.startswith("amqp"):
        from dramatiq.brokers.rabbitmq import RabbitmqBroker

        return RabbitmqBroker(url=url, middleware=middleware)
    from dramatiq.brokers.redis import RedisBroker

    return RedisBroker(url=url, middleware=middleware)


