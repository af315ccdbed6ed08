"""`/healthz`: this web process and its database. `/readyz`: also a worker's heartbeat under 30 s, and Redis when scaled."""

from __future__ import annotations

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse

from runs.queries import newest_heartbeat_age_s
from web.threads import in_reader


async def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok" if await in_reader(_database_answers) else "down"})


async def readyz(request: HttpRequest) -> JsonResponse:
    checks = await in_reader(_checks)
    ready = all(checks.values())
    return JsonResponse({"status": "ok" if ready else "not ready", "checks": checks}, status=200 if ready else 503)


def _database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _checks() -> dict[str, bool]:
    age = newest_heartbeat_age_s()
    checks = {"database": _database_answers(), "worker": age is not None and age < 30}
    if settings.PROCTOR_REDIS_URL:
        checks["redis"] = _redis_answers()
    return checks


def _redis_answers() -> bool:
    import redis

    try:
        with redis.Redis.from_url(settings.PROCTOR_REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
