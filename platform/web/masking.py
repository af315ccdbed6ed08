"""Log lines without the secrets that stand in addresses: whoever writes the line, and in traces too."""

from __future__ import annotations

import logging
import re

_SECRET = re.compile(r"(/(?:share|api/shared|v2/data/upload)/)[^/\s?\"'<>]+")


class MaskingFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record))


def mask(text: str) -> str:
    """`/share/abc…` → `/share/***`."""
    return _SECRET.sub(r"\1***", text)
