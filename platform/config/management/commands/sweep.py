"""`manage.py sweep`: deletes what is stored and held by nothing. The worker starts it once a day; it dies with its parent."""

from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Deletes stored contents, chunks, blobs and files that nothing has held for a day."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        from config.parent import ask_for_death
        from runs.actions.blobs import sweep_blobs
        from runs.actions.compaction import sweep_span_files
        from tasksets.sweeping import sweep

        ask_for_death()
        done, blobs, spans = sweep(), sweep_blobs(), sweep_span_files()
        self.stderr.write(f"{done.contents} contents, {done.chunks} chunks, {done.files + spans} files and {blobs} blobs deleted")
