"""`manage.py worker`: Dramatiq's own worker, one process; scheduler, heartbeat and sweep share it with the actors."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Executes runs. Settings: PROCTOR_SLOTS (runs at once)."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from django.db import connections
        from dramatiq.cli import main, make_argument_parser

        from config.parent import die_with_parent

        die_with_parent()
        connections.close_all()
        threads = str(settings.PROCTOR_SLOTS)  # a thread waits for each rollout, so a worker takes no more than it has slots
        sys.exit(main(make_argument_parser().parse_args(["config.worker_boot", "-p", "1", "-t", threads, "--worker-shutdown-timeout", "6000"])))
