"""What was worked out for tables, kept in this process up to a limit of bytes; the piece that was not asked for longest goes first.

Pieces never change: they belong to a version and the revision that redactions move. Several threads may ask at once; two that miss
the same piece both make it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
LIMIT_BYTES = 192 * 1024**2


class Pieces:
    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes, self.size_bytes = limit_bytes, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T], size_of: Callable[[T], int]) -> T:
        """The piece, made when it is not here."""
        found: T | None = self.find(key)
        if found is None:
            found = make()
            self.keep(key, found, size_of(found))
        return found

    def find(self, key: Hashable) -> Any:
        with self._guard:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: Hashable, piece: object, size_bytes: int) -> None:
        """One larger than a quarter of the limit is not kept."""
        if size_bytes > self.limit_bytes // 4:
            return
        with self._guard:
            self.size_bytes += size_bytes - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = (piece, size_bytes)
            while self.size_bytes > self.limit_bytes:
                _key, (_piece, freed) = self._kept.popitem(last=False)
                self.size_bytes -= freed


pieces = Pieces()
