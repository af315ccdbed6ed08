"""`manage.py analyse`: analyses the tasksets that wait for it, then ends. The worker starts it; it dies with its parent."""

import os
import signal
import socket
import threading
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Analyses the tasksets that wait for it (checks, duplicates, leaks), then ends."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from config.parent import ask_for_death
        from tasksets.analysis.worker import process_one

        ask_for_death()
        stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopping.set())
        while not stopping.is_set() and process_one(f"{socket.gethostname()[:40]}-{os.getpid()}", stopping.is_set):
            pass
