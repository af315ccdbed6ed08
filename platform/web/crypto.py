"""Secrets at rest: Fernet (AES-128-CBC + HMAC) under the data folder's key, and signed short tokens."""

from __future__ import annotations

import json
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.core import signing


def encrypt(text: str) -> str:
    return Fernet(settings.PROCTOR_ENCRYPTION_KEY.encode()).encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Raises RuntimeError when the key of this data folder is not the one it was written with."""
    try:
        return Fernet(settings.PROCTOR_ENCRYPTION_KEY.encode()).decrypt(token.encode()).decode()
    except InvalidToken:
        raise RuntimeError("a stored secret was written with another encryption key; restore `encryption-key` of the data folder") from None


def encrypt_map(values: dict[str, str]) -> str:
    return encrypt(json.dumps(values))


def decrypt_map(token: str) -> dict[str, str]:
    values: dict[str, str] = json.loads(decrypt(token)) if token else {}
    return values


def sign(kind: str, value: Any) -> str:
    return signing.dumps(value, salt=f"proctor.{kind}", compress=False)


def unsign(kind: str, token: str, max_age_s: int | None = None) -> Any | None:
    """The signed value, or None when the signature is wrong or too old."""
    try:
        return signing.loads(token, salt=f"proctor.{kind}", max_age=max_age_s)
    except signing.BadSignature:
        return None
