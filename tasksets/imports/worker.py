"""What a worker does with imports: checks of large files, and HUD's imports from check to report. One at a time, in a thread of its own.

A worker that stops gives the import back; one that is killed loses it with its lease. Whoever takes it next begins again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import connections

from tasksets.imports import harbor
from tasksets.imports.check import run_check
from tasksets.imports.claims import claim_waiting
from tasksets.imports.models import Import

logger = logging.getLogger(__name__)


def process_one(worker_id: str, stopping: Callable[[], bool] = bool) -> bool:
    """False when nothing waits. Blocking, for as long as a file takes; ends within a second or so when `stopping` turns true."""
    try:
        held = claim_waiting(worker_id, stopping)
        if held is None:
            return False
        if Import.objects.filter(id=held.import_id, auto=True).exists():
            harbor.run_import(held)
        else:
            run_check(held)
        return True
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()
