"""The database's clock, which leases are measured by: workers' own clocks may differ."""

from __future__ import annotations

from datetime import datetime

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Aware UTC. SQLite runs on the machine of its only users, so there the machine's clock is the database's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now
