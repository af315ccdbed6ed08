"""What is wired at start: the broker, before any actor module is imported (otherwise Dramatiq would quietly boot another one), and what
share links can show."""

import os

from django.apps import AppConfig
from django.conf import settings


class ConfigApp(AppConfig):
    name = "config"

    def ready(self) -> None:
        os.environ.setdefault("dramatiq_queue_prefetch", str(settings.PROCTOR_SLOTS))  # no worker sits on runs that another could start
        import dramatiq

        from config.broker import make_broker
        from config.postgres import watch_connections
        from shares import kinds
        from tasksets.sharing import TASKSET

        dramatiq.set_broker(make_broker())
        watch_connections()
        kinds.register(TASKSET)
