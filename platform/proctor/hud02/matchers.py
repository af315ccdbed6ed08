"""The answer matchers of HUD 0.2.x: score between 0 and 1 and a reason. Pure; numbers as there (its evaluators/match.py, 0.2.10).

Two differences: a pattern that does not compile, and an empty list of answers, are errors (`ValueError`), not a score of 0. Patterns come
from task authors: run them where a slow one harms nobody.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2]
"""Where `python -m proctor.hud02.matchers` finds the package."""


@dataclass(frozen=True)
class Match:
    score: float
    reason: str
    mode: str


def match_single(response: Any, answer: Any) -> Match:
    """1 when the answer stands in the response, case and outer white space apart."""
    passed = str(answer).lower().strip() in str(response).lower().strip()
    return Match(float(passed), "Exact match" if passed else "No exact match found", "single")


def match_all(response: Any, answers: Sequence[Any]) -> Match:
    """The share of answers that stand in the response."""
    if not answers:
        raise ValueError("There is no answer to look for")
    text = str(response).lower()
    found = sum(str(answer).lower() in text for answer in answers)
    whole = found == len(answers)
    return Match(found / len(answers), f"All {found} expected items found" if whole else f"Only {found} of {len(answers)} expected items found", "all")


def match_fuzzy(response: Any, answer: Any) -> Match:
    """1 less the edit distance over the longer length."""
    first, second = str(response).lower(), str(answer).lower()
    longest = max(len(first), len(second))
    score = 1.0 if first == second else 1.0 - edit_distance(first, second) / longest
    return Match(score, f"Fuzzy match with {score:.1%} similarity", "fuzz")


def match_regex(response: Any, pattern: str) -> Match:
    """1 when the pattern is found; `.` matches line ends too."""
    try:
        passed = re.search(pattern, str(response), re.DOTALL) is not None
    except re.error as error:
        raise ValueError(f"The pattern {pattern!r} is no regular expression: {error}") from None
    return Match(float(passed), "Regex pattern matched" if passed else "Regex pattern did not match", "regex")


def match_diff(response: Any, answer: Any) -> Match:
    """Numbers: 1 less their difference over the larger; else the similarity ratio of the texts (difflib)."""
    if isinstance(response, int | float) and isinstance(answer, int | float):
        return Match(_closeness(response, answer), f"Numeric difference: {abs(response - answer)}", "diff")
    score = SequenceMatcher(None, str(response), str(answer)).ratio()
    return Match(score, f"String difference with {score:.1%} similarity", "diff")


MATCHERS: dict[str, Callable[[Any, Any], Match]] = {
    "single": match_single, "all": match_all, "fuzzy": match_fuzzy, "regex": match_regex, "diff": match_diff,
}  # fmt: skip


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions and replacements of single characters; time in proportion to the product of the lengths."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def _closeness(first: float, second: float) -> float:
    largest = max(abs(first), abs(second))
    return 1.0 if first == second or largest == 0 else max(0.0, 1.0 - abs(first - second) / largest)


def main() -> None:
    """`{kind, response, answer}` in, `{score, reason}` or `{error}` out: for callers who need it in a process of its own."""
    asked = json.load(sys.stdin)
    try:
        found = MATCHERS[asked["kind"]](asked["response"], asked["answer"])
        told: dict[str, Any] = {"score": found.score, "reason": found.reason}
    except (ValueError, TypeError) as error:
        told = {"error": str(error)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
