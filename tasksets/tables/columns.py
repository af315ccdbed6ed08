"""One column of a table in memory: which value each row has, how the values sort, which rows a filter leaves. Pure.

A value is one letter and its text: `n12`, `stext`, `jtrue` (`j`: other JSON), or NONE. Texts are cut after 200 characters and told
apart by these alone. Rows hold codes, places in `values`; code 0 is NONE. A mask is bytes, one a row, 1 for each row that stays.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import compress

import msgspec

LONGEST = 200
BINS = 24
NONE = ""


@dataclass(frozen=True, slots=True)
class Column:
    """`codes` has one item a row; `values[0]` is NONE."""

    values: Sequence[str]
    codes: array[int]

    @property
    def size_bytes(self) -> int:
        return 4 * len(self.codes) + sum(60 + len(value) for value in self.values)

    @property
    def is_numbers(self) -> bool:
        return len(self.values) > 1 and all(value[0] == "n" for value in self.values[1:])


@dataclass(frozen=True, slots=True)
class Filter:
    """What a column may have: a text of `includes` or a number from `least` to `most`, and no text of `excludes`. None: no value."""

    name: str
    includes: frozenset[str | None] = frozenset()
    excludes: frozenset[str | None] = frozenset()
    least: float | None = None
    most: float | None = None

    def lets(self, value: str) -> bool:
        text = value[1:] if value else None
        if text in self.excludes:
            return False
        has_range = self.least is not None or self.most is not None
        if not self.includes and not has_range:
            return True
        return text in self.includes or (has_range and self._in_range(value))

    def _in_range(self, value: str) -> bool:
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        return value[:1] == "n" and least <= float(value[1:]) <= most


@dataclass
class Writer:
    """Gathers the columns of so many rows."""

    rows: int
    columns: dict[str, tuple[dict[str, int], array[int]]] = field(default_factory=dict)

    def put(self, row: int, name: str, value: str) -> None:
        if name not in self.columns:
            self.columns[name] = ({NONE: 0}, empty(self.rows))
        codes, places = self.columns[name]
        places[row] = codes.setdefault(value, len(codes))

    def done(self) -> dict[str, Column]:
        return {name: Column(list(codes), places) for name, (codes, places) in self.columns.items()}


def empty(rows: int) -> array[int]:
    return array("I", bytes(4 * rows))


def value_of(raw: bytes) -> str:
    """The value of a JSON text; NONE for null."""
    if raw.startswith(b'"'):
        return "s" + msgspec.json.decode(raw, type=str)[:LONGEST]
    if raw == b"null":
        return NONE
    text = raw[: 4 * LONGEST].decode("utf-8", "ignore")[:LONGEST]
    return ("n" if text[0] in "-0123456789" else "j") + text


def joined(parts: Iterable[tuple[int, Column | None]]) -> Column:
    """The columns of blocks of so many rows, one behind the other; None where a block has no such column."""
    codes: dict[str, int] = {NONE: 0}
    places = array("I")
    for rows, part in parts:
        if part is None:
            places.extend(empty(rows))
            continue
        moved = [codes.setdefault(value, len(codes)) for value in part.values]
        places.extend(map(moved.__getitem__, part.codes))
    return Column(list(codes), places)


def sorted_rows(column: Column, rows: Iterable[int], *, descending: bool) -> list[int]:
    """The rows by their values: numbers, then texts, then other JSON; no value is last both ways. Equal ones keep their order."""
    places = _places(column.values, descending)
    by_row = list(map(places.__getitem__, column.codes))
    return sorted(rows, key=by_row.__getitem__)


def _places(values: Sequence[str], descending: bool) -> list[int]:
    """Where each code comes; equal numbers (`1`, `1.0`) have one place."""
    numbers = [float(value[1:]) if value[:1] == "n" else 0.0 for value in values]
    order = sorted((code for code, value in enumerate(values) if value[:1] == "n"), key=numbers.__getitem__)
    for kind in "sj":
        order += sorted((code for code, value in enumerate(values) if value[:1] == kind), key=values.__getitem__)
    places, last, place = [0] * len(values), 0, 0
    for code in order:
        is_equal = values[code][0] == "n" and values[last][:1] == "n" and numbers[code] == numbers[last]
        place += not is_equal
        places[code], last = -place if descending else place, code
    places[0] = len(values)
    return places


def mask_of(column: Column, wanted: Filter) -> bytes:
    lets = bytes(map(wanted.lets, column.values))
    return bytes(map(lets.__getitem__, column.codes))


def both(one: bytes | None, other: bytes | None) -> bytes | None:
    """The rows that stay in both; None is every row. As two large numbers: a hundred thousand rows in microseconds."""
    if one is None or other is None:
        return one if other is None else other
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


@dataclass(frozen=True, slots=True)
class Summary:
    """What a column's counts are shown as. `texts` are the most frequent (None: no value), `slots` the place of each code among them or
    one behind; of numbers, `edges` bound the bins and `bin_of` is the place of each code among those, or one behind."""

    distinct: int
    texts: Sequence[str | None]
    totals: Sequence[int]
    slots: array[int]
    edges: Sequence[float]
    bin_of: array[int]

    @property
    def size_bytes(self) -> int:
        return 4 * (len(self.slots) + len(self.bin_of)) + 200 * len(self.texts)


def summary_of(column: Column, *, shown: int, holds: str = "", first: Collection[str | None] = ()) -> Summary:
    """The texts that hold `holds`, those of `first` before the others, by how many rows have them. The number 5 and the text "5" are
    one."""
    counted = Counter(column.codes)
    totals: dict[str | None, int] = {}
    for code, value in enumerate(column.values):
        text = value[1:] if value else None
        if counted[code] and (not holds or (text is not None and holds.lower() in text.lower())):
            totals[text] = totals.get(text, 0) + counted[code]
    top = nlargest(shown, totals, key=lambda text: (text in first, totals[text]))
    texts = sorted(top, key=lambda text: (-totals[text], text is None, text or ""))
    place = {text: at for at, text in enumerate(texts)}
    slots = array("I", (place.get(value[1:] if value else None, len(texts)) for value in column.values))
    edges, bin_of = _bins(column) if column.is_numbers else ([], array("I"))
    return Summary(len(totals), texts, [totals[text] for text in texts], slots, edges, bin_of)


def _bins(column: Column) -> tuple[list[float], array[int]]:
    """Bins over all numbers of the column, whatever is counted later."""
    numbers = [float(value[1:]) for value in column.values[1:]]
    finite = [number for number in numbers if math.isfinite(number)]
    least, most = min(finite, default=0.0), max(finite, default=0.0)
    width = most / BINS - least / BINS
    if not width:
        return [least, most], array("I", [1, *(0 if math.isfinite(number) else 1 for number in numbers)])
    places = (min(int((number - least) / width), BINS - 1) if math.isfinite(number) else BINS for number in numbers)
    return [*(least + width * at for at in range(BINS)), most], array("I", [BINS, *places])


def counted(column: Column, slots: Sequence[int], length: int, mask: bytes | None) -> list[int]:
    """How many of the rows that stay fall into each of the first `length` slots."""
    found = Counter(map(slots.__getitem__, column.codes if mask is None else compress(column.codes, mask)))
    return [found[slot] for slot in range(length)]
