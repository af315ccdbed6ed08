"""gzip and zstd around any other format, inflated as a stream under caps on bytes and ratio, so that a bomb stops early. Pure."""

from __future__ import annotations

import io
import zlib
from typing import IO

from proctor.formats.base import FileRefused, Limits

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BLOCK = 256 * 1024


def compression_of(head: bytes) -> str | None:
    return "gzip" if head.startswith(GZIP) else "zstd" if head.startswith(ZSTD) else None


def inflate(source: IO[bytes], kind: str, limits: Limits) -> IO[bytes]:
    """The plain bytes, not seekable. Reading raises FileRefused for what is broken, cut short, or a bomb."""
    return io.BufferedReader(_Inflated(source, kind, limits), BLOCK)


class _Inflated(io.RawIOBase):
    """All members or frames of the file, one after another."""

    def __init__(self, source: IO[bytes], kind: str, limits: Limits) -> None:
        self._source, self._kind, self._limits = source, kind, limits
        self._machine = _machine(kind)
        self._taken = self._given = 0
        self._packed = b""
        self._within = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        piece = self._next(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def _next(self, size: int) -> bytes:
        while True:
            if not self._packed and not self._held():
                self._packed = self._source.read(BLOCK)
                self._taken += len(self._packed)
                if not self._packed:
                    return self._end()
            piece = self._step(size)
            if piece:
                self._count(len(piece))
                return piece

    def _held(self) -> bool:
        """The machine may give more without new bytes."""
        return self._within and bool(getattr(self._machine, "full", False))

    def _step(self, size: int) -> bytes:
        self._within = True
        try:
            piece, self._packed, ended = self._machine.turn(self._packed, size)
        except self._machine.broken as error:
            raise FileRefused(f"The {self._kind} data is broken after {self._given:,} bytes: {error}") from None
        if ended:
            self._machine, self._within = _machine(self._kind), False
            if self._kind == "gzip":
                self._packed = self._packed.lstrip(b"\0")
        return piece

    def _count(self, size: int) -> None:
        self._given += size
        if self._given > self._limits.unpacked_bytes:
            raise FileRefused(f"The file unpacks to more than {self._limits.unpacked_bytes:,} bytes")
        if self._given > self._limits.free_bytes and self._given > self._taken * self._limits.ratio:
            raise FileRefused(f"The file unpacks to more than {self._limits.ratio} times its size, which no data file does")

    def _end(self) -> bytes:
        if self._within:
            raise FileRefused(f"The {self._kind} data is cut short: it ends after {self._given:,} bytes")
        return b""


class _Gzip:
    broken: tuple[type[Exception], ...] = (zlib.error,)

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(31)
        self.full = False

    def turn(self, packed: bytes, size: int) -> tuple[bytes, bytes, bool]:
        piece = self._inflater.decompress(packed, size)
        self.full = len(piece) == size
        ended = self._inflater.eof
        return piece, self._inflater.unused_data if ended else self._inflater.unconsumed_tail, ended


class _Zstd:
    """zstandard's decompressor has no cap on what one call gives, so it is fed a little at a time: four bytes make at most 128 KiB."""

    FEED = 512

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError:
            raise FileRefused("Reading zstd needs the package 'zstandard': install it, or use gzip") from None
        self.broken: tuple[type[Exception], ...] = (zstandard.ZstdError,)
        self._inflater = zstandard.ZstdDecompressor(max_window_size=128 * 1024**2).decompressobj()
        self._ready = memoryview(b"")
        self.full = False

    def turn(self, packed: bytes, size: int) -> tuple[bytes, bytes, bool]:
        if not self._ready and packed and not self._inflater.eof:
            self._ready = memoryview(self._inflater.decompress(packed[: self.FEED]))
            packed = self._inflater.unused_data + packed[self.FEED :] if self._inflater.eof else packed[self.FEED :]
        piece, self._ready = bytes(self._ready[:size]), self._ready[size:]
        self.full = bool(self._ready)
        return piece, packed, self._inflater.eof and not self._ready


def _machine(kind: str) -> _Gzip | _Zstd:
    return _Gzip() if kind == "gzip" else _Zstd()
