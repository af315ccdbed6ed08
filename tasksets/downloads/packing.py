"""gzip and zstd around a stream of blocks, and a sink for libraries that want to write into a file. Pure."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import zstandard

PACKINGS = {"gzip": "gz", "zstd": "zst"}


def packed(blocks: Iterable[bytes], kind: str) -> Iterator[bytes]:
    """One gzip member, or one zstd frame."""
    machine: Any = zlib.compressobj(6, zlib.DEFLATED, 31) if kind == "gzip" else zstandard.ZstdCompressor(level=3).compressobj()
    for block in blocks:
        if piece := machine.compress(block):
            yield piece
    yield machine.flush()


class Sink(io.RawIOBase):
    """A file that only grows, and whose bytes are taken out at the front as they come."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self.waiting = self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._held.append(piece)
        self.waiting += len(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def take(self) -> bytes:
        held, self._held, self.waiting = self._held, [], 0
        return b"".join(held)
