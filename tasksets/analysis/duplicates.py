"""Prompts that nearly repeat each other: MinHash over shingles of five words, bands to find candidates, then the exact Jaccard. Pure.

A signature has 128 numbers; 21 bands of 6 of them find a pair of Jaccard 0.8 with a chance of 99.8 %, of 0.9 with 1 - 10⁻⁷. In a band a task
is compared with at most so many before it (`_reach`), so a large set whose prompts are all alike costs no square; `Candidates.cut` says
that it came to this. Hashes do not depend on the process, so a set gives the same pairs each time. Needs numpy. May not import Django.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS, SHINGLE = 128, 5
BANDS, ROWS = 21, 6
THRESHOLD = 0.8
SURELY_NOT = 0.6
NEIGHBOURS, PAIRS_A_BAND = 8, 200_000
MAX_CANDIDATES = 250_000
AT_ONCE = 20_000
_PRIME = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]
Signatures = NDArray[np.uint32]


@dataclass(frozen=True)
class Candidates:
    """Pairs of row numbers, the smaller first. `cut`: some pairs were not looked at."""

    pairs: NDArray[np.int64]
    cut: bool


def _random(seed: int, count: int) -> Hashes:
    return np.random.Generator(np.random.PCG64(seed)).integers(1, 2**63, count, dtype=np.uint64)


_MULTIPLY, _ADD = _random(1, PERMUTATIONS) * np.uint64(2) + np.uint64(1), _random(2, PERMUTATIONS)
_WEIGHTS = _random(3, SHINGLE) * np.uint64(2) + np.uint64(1)
_BAND_WEIGHTS = _random(4, ROWS) * np.uint64(2) + np.uint64(1)


def no_signatures(count: int) -> Signatures:
    """Room for so many, which takes memory only as it is filled."""
    return np.empty((count, PERMUTATIONS), np.uint32)


class Signer:
    """Makes signatures of many word lists at once. Keeps the words' hashes; forgets them all when they become many."""

    MOST_WORDS = 500_000

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}

    def sign(self, texts: Sequence[Sequence[str]]) -> Signatures:
        """One row for each list, none of them empty."""
        if len(self._hashes) > self.MOST_WORDS:
            self._hashes.clear()
        shingles = [self._shingles(words) for words in texts]
        starts = np.cumsum([0, *(len(one) for one in shingles[:-1])])
        hashes = np.concatenate(shingles)
        signatures = np.empty((len(texts), PERMUTATIONS), np.uint32)
        for column in range(PERMUTATIONS):
            mixed = (hashes * _MULTIPLY[column] + _ADD[column]) >> np.uint64(32)
            signatures[:, column] = np.minimum.reduceat(mixed, starts)
        return signatures

    def _shingles(self, words: Sequence[str]) -> Hashes:
        known = self._hashes
        values = np.fromiter((known[word] if word in known else self._hash(word) for word in words), np.uint64, len(words))
        size = min(SHINGLE, len(words))
        total = np.zeros(len(words) - size + 1, np.uint64)
        for place in range(size):
            total += values[place : len(values) - size + 1 + place] * _WEIGHTS[place]
        return (total ^ (total >> np.uint64(29))) * _PRIME

    def _hash(self, word: str) -> int:
        data = word.encode()
        value = self._hashes[word] = crc32(data) | crc32(data, 0x5BD1E995) << 32
        return value


def candidates(signatures: Signatures) -> Candidates:
    """Pairs that share a band and whose signatures do not rule out a Jaccard of 0.8."""
    found: list[NDArray[np.int64]] = []
    cut = False
    left = MAX_CANDIDATES
    for band in range(BANDS):
        pairs, capped = _in_band(signatures[:, band * ROWS : (band + 1) * ROWS])
        likely = np.concatenate([part[_alike(signatures, part) >= SURELY_NOT] for part in _slices(pairs)])
        cut = cut or capped or len(likely) > left
        found.append(likely[:left])
        left -= len(found[-1])
    pairs = np.unique(np.concatenate(found), axis=0) if found else np.empty((0, 2), np.int64)
    return Candidates(pairs, cut)


def _in_band(rows: Signatures) -> tuple[NDArray[np.int64], bool]:
    """Each row with those before it that have the same six numbers (or, once in 2⁶⁴, numbers of the same sum: no harm)."""
    keys = (rows.astype(np.uint64) * _BAND_WEIGHTS).sum(axis=1, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    found = [_apart(order, ranked, 1)]
    while len(found[-1]) and len(found) <= _reach(len(rows)):
        found.append(_apart(order, ranked, len(found) + 1))
    beyond = found.pop()
    return np.concatenate([*found, beyond[:0]]), bool(len(beyond))


def _reach(count: int) -> int:
    """With how many before it a task is compared: all in a set of up to 447, eight from 25,000 on."""
    return max(NEIGHBOURS, PAIRS_A_BAND // count)


def _apart(order: NDArray[np.int64], ranked: Hashes, distance: int) -> NDArray[np.int64]:
    same = ranked[distance:] == ranked[:-distance]
    return np.stack([order[:-distance][same], order[distance:][same]], axis=1)


def _slices(pairs: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    yield pairs[:AT_ONCE]
    yield from (pairs[start : start + AT_ONCE] for start in range(AT_ONCE, len(pairs), AT_ONCE))


def _alike(signatures: Signatures, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """The share of equal numbers, which estimates the Jaccard."""
    equal = signatures[pairs[:, 0]] == signatures[pairs[:, 1]]
    return np.asarray(equal.mean(axis=1), np.float64)


def shingles(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Every five words in a row; of a shorter text, the whole."""
    size = min(SHINGLE, len(words))
    return frozenset(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def jaccard(left: Iterable[object], right: Iterable[object]) -> float:
    one, other = frozenset(left), frozenset(right)
    return len(one & other) / len(one | other) if one or other else 0.0
