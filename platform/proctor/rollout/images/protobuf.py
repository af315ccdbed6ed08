"""Protocol Buffers' wire form, as much as BuildKit's messages need: varints and length-delimited fields. Pure.

Source: the encoding page of protobuf.dev. A whole library for two small messages would be one more dependency of the SDK's rollouts.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5


def field(number: int, value: int | bytes) -> bytes:
    """One encoded field."""
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    return _varint(number << 3 | BYTES) + _varint(len(value)) + value


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field in order. Raises ValueError for what is no message."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _read_varint(message, at)
            yield number, value
            continue
        size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind)
        if kind == BYTES:
            size, at = _read_varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError(f"no protocol buffer message: field {number} of kind {kind}")
        yield number, message[at : at + size]
        at += size


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("no protocol buffer message: a number does not end")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
