"""What Dramatiq's command line imports in the worker process: Django, then the actors, then the life around them.

The scheduler, heartbeat and sweep start in the worker's own process (`-p 1`), after its event loop, and stop before its threads. Last in
the list of middleware, so first to hear of the end: the event loop is still there.
"""

from __future__ import annotations

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

import dramatiq  # noqa: E402
from django.conf import settings  # noqa: E402
from dramatiq.asyncio import get_event_loop_thread  # noqa: E402
from dramatiq.broker import Broker  # noqa: E402
from dramatiq.middleware import Middleware  # noqa: E402

from config.parent import ask_for_death  # noqa: E402
from runs import actors  # noqa: E402, F401
from runs.worker import close_worker, start_worker, stop_worker  # noqa: E402


class WorkerLife(Middleware):
    def after_worker_boot(self, broker: Broker, worker: Any) -> None:
        ask_for_death()
        thread = get_event_loop_thread()
        assert thread is not None
        start_worker(settings.PROCTOR_SLOTS, thread.loop)

    def before_worker_shutdown(self, broker: Broker, worker: Any) -> None:
        stop_worker()

    def after_worker_shutdown(self, broker: Broker, worker: Any) -> None:
        close_worker()


broker = dramatiq.get_broker()
broker.add_middleware(WorkerLife())
