"""Who may call a Task App: keys out of three headers, compared in constant time, never shown.

Callers send `X-API-Key`, `X-API-Keys` or `Authorization: Bearer`, each with one key or several behind commas; one good key is enough.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping

from proctor.taskapp.errors import TaskAppError

CARRIERS = ("x-api-key", "x-api-keys", "authorization")
MAX_KEYS = 32


def given_keys(headers: Mapping[str, str]) -> list[str]:
    """Every key that a request carries, at most 32. `headers` are looked up in lower case."""
    keys: list[str] = []
    for name in CARRIERS:
        value = headers.get(name) or ""
        if name == "authorization":
            scheme, _, value = value.partition(" ")
            value = value if scheme.lower() == "bearer" else ""
        keys += [key.strip() for key in value.split(",") if key.strip()]
    return keys[:MAX_KEYS]


def authorised(given: Iterable[str], allowed: Iterable[str]) -> bool:
    """Is any key among the allowed? Every pair is compared, whatever came before."""
    accepted = [key.encode() for key in allowed]
    good = False
    for key in given:
        for other in accepted:
            good |= hmac.compare_digest(key.encode(), other)
    return good


def require_key(headers: Mapping[str, str], allowed: Iterable[str]) -> None:
    """Raises TaskAppError 401, which says nothing of the keys there are; 503 when there are none at all."""
    accepted = list(allowed)
    if not accepted:
        raise TaskAppError(503, "missing_environment_api_key", "This Task App has no key yet: set ENVIRONMENT_API_KEY")
    if not authorised(given_keys(headers), accepted):
        raise TaskAppError(401, "unauthorised", "The API key is missing or wrong", headers={"WWW-Authenticate": "Bearer"})


def key_headers(key: str) -> dict[str, str]:
    """What a client sends, for servers that read only one of them."""
    return {"X-API-Key": key, "Authorization": f"Bearer {key}"} if key else {}
