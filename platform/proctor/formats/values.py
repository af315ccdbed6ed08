"""Values of typed files (Parquet, TOML) as exact JSON text. Pure."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from typing import Any

import msgspec
from msgspec import Raw

_encode = msgspec.json.Encoder().encode


def json_of(value: Any) -> Raw:
    """As JSON has it. Raises ValueError for what it has not."""
    return Raw(_encode(_plain(value)))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str | Raw):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("NaN and infinities are not JSON")
        return value
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, datetime.timedelta | uuid.UUID):
        return str(value)
    raise ValueError(f"a {type(value).__name__} has no form in JSON")


def _decimal(value: decimal.Decimal) -> Raw:
    if not value.is_finite():
        raise ValueError("NaN and infinities are not JSON")
    return Raw(format(value, "f").encode())


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError("holds bytes that are no text, which JSON can't hold") from None
