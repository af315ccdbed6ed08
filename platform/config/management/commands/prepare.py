"""`manage.py prepare`: what `up` does before it starts anything. For scaled instances, once per release."""

from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrates, makes the first admin, team and key (printed once), and ends."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from config import boot

        boot.migrate()
        made = boot.first_boot()
        boot.model_endpoints()
        self.stdout.write("\n".join(boot.greeting(made)))
