"""Near duplicates against brute force: no pair that is none, hardly any missed, and all alike costs no square."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksets.analysis import duplicates
from tasksets.analysis.duplicates import THRESHOLD, Signer, candidates, jaccard, shingles

WORDS = [f"w{n}" for n in range(400)]


def near(texts: list[list[str]]) -> set[tuple[int, int]]:
    tried = candidates(Signer().sign(texts))
    found = [(left, right) for left, right in tried.pairs.tolist() if jaccard(shingles(texts[left]), shingles(texts[right])) >= THRESHOLD]
    assert len(set(found)) == len(found) and all(left < right for left, right in found)
    return set(found)


def brute(texts: list[list[str]]) -> set[tuple[int, int]]:
    sets = [shingles(text) for text in texts]
    return {(left, right) for left, right in combinations(range(len(texts)), 2) if jaccard(sets[left], sets[right]) >= THRESHOLD}


def edited(rng: random.Random, text: list[str], edits: int) -> list[str]:
    copy = list(text)
    for _ in range(edits):
        copy[rng.randrange(len(copy))] = rng.choice(WORDS)
    return copy


def test_shingles_are_five_words_and_a_short_text_is_one() -> None:
    assert shingles(["a", "b", "c", "d", "e", "f"]) == {tuple("abcde"), tuple("bcdef")}
    assert shingles(["a", "b"]) == {("a", "b")}
    assert jaccard({1, 2, 3}, {2, 3, 4}) == 0.5 and jaccard([], []) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 25), st.integers(1, 80))
def test_what_is_found_is_what_brute_force_finds(seed: int, count: int, length: int) -> None:
    rng = random.Random(seed)
    base = [[rng.choice(WORDS) for _ in range(rng.randint(1, length))] for _ in range(count)]
    texts = [*base, *(edited(rng, rng.choice(base), rng.randint(0, 2)) for _ in range(5))]
    truth, found = brute(texts), near(texts)
    assert found <= truth
    surely = {pair for pair in truth if jaccard(shingles(texts[pair[0]]), shingles(texts[pair[1]])) >= 0.95}
    assert surely <= found


def test_at_most_one_in_a_hundred_pairs_above_the_threshold_is_missed() -> None:
    rng = random.Random(7)
    texts = []
    for _ in range(600):
        text = [rng.choice(WORDS) for _ in range(rng.randint(50, 150))]
        texts += [text, edited(rng, text, rng.randint(1, 3))]
    truth, found = brute_in_twos(texts), near(texts)
    assert len(truth) > 200 and found <= truth and len(truth - found) <= len(truth) / 100


def brute_in_twos(texts: list[list[str]]) -> set[tuple[int, int]]:
    """Unrelated texts of so many words share next to nothing."""
    pairs = ((at, at + 1) for at in range(0, len(texts), 2))
    return {(left, right) for left, right in pairs if jaccard(shingles(texts[left]), shingles(texts[right])) >= THRESHOLD}


def test_a_signature_depends_on_the_words_alone() -> None:
    texts = [["one", "two"], list("abcdefgh"), ["word"]]
    together, alone = Signer().sign(texts), [Signer().sign([text])[0] for text in texts]
    assert together.shape == (3, 128) and all((row == other).all() for row, other in zip(together, alone, strict=True))
    assert Signer().sign([["proctor"]])[0, :2].tolist() == Signer().sign([["proctor"]])[0, :2].tolist()
    few = Signer()
    few.MOST_WORDS = 1
    assert (few.sign(texts) == together).all() and (few.sign(texts) == together).all(), "forgetting words changes nothing"


def test_an_estimate_is_near_the_jaccard() -> None:
    rng = random.Random(3)
    text = [rng.choice(WORDS) for _ in range(300)]
    other = edited(rng, text, 4)
    rows = Signer().sign([text, other])
    assert abs(float((rows[0] == rows[1]).mean()) - jaccard(shingles(text), shingles(other))) < 0.12


def test_a_large_set_that_is_all_alike_is_compared_with_few_neighbours_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    text = [rng.choice(WORDS) for _ in range(200)]
    texts = [[*text, f"n{number}"] for number in range(1_000)]
    monkeypatch.setattr(duplicates, "PAIRS_A_BAND", 0)
    tried = candidates(Signer().sign(texts))
    assert tried.cut and len(tried.pairs) < 1_000 * duplicates.NEIGHBOURS * duplicates.BANDS
    assert {right for _left, right in tried.pairs.tolist()} == set(range(1, 1_000)), "each is in a pair with one before it"


def test_a_small_set_that_is_all_alike_is_compared_whole() -> None:
    rng = random.Random(1)
    text = [rng.choice(WORDS) for _ in range(200)]
    texts = [[*text, f"n{number}"] for number in range(100)]
    tried = candidates(Signer().sign(texts))
    assert not tried.cut and len(tried.pairs) == 100 * 99 / 2


def test_one_text_and_no_texts_have_no_pairs() -> None:
    assert candidates(Signer().sign([["one", "text"]])).pairs.tolist() == []
    assert candidates(np.empty((0, 128), np.uint32)).pairs.tolist() == []
