"""`manage.py web`: the web process alone (Daphne with backpressure)."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Serves HTTP and websockets. Settings: PROCTOR_HOST, PROCTOR_PORT."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from config.parent import die_with_parent
        from config.server import serve

        die_with_parent()
        serve(settings.PROCTOR_HOST, settings.PROCTOR_PORT)
