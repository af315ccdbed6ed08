"""Keeps an endpoint's secrets out of what it answers, also when they fall across the pieces of a stream. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MARK = b"[redacted]"
SHORTEST = 4


class Redactor:
    """Feed it the pieces in order; it holds back no more than the beginning of a secret at the end of a piece."""

    def __init__(self, secrets: Iterable[str]) -> None:
        texts = {secret.encode() for secret in secrets if len(secret) >= SHORTEST}
        self._secrets = sorted(texts, key=len, reverse=True)
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        text = self._held + piece
        for secret in self._secrets:
            text = text.replace(secret, MARK)
        keep = self._begun(text)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def whole(self, text: bytes) -> bytes:
        return self.feed(text) + self.rest()

    def _begun(self, text: bytes) -> int:
        """How many of the last bytes could be the beginning of a secret."""
        return max((_overlap(text, secret) for secret in self._secrets), default=0)


def _overlap(text: bytes, secret: bytes) -> int:
    for size in range(min(len(secret) - 1, len(text)), 0, -1):
        if text.endswith(secret[:size]):
            return size
    return 0
