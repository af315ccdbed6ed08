"""Answers that the prompt gives away: an answer's words, in order and whole, among the prompt's words. Pure.

Whole words, so "12" is not in "312" and "cat" not in "concatenate". Answers of fewer than three letters and digits are passed over, since
they stand in most texts by chance. May not import Django.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasksets.analysis.prompts import Text, places, words

MIN_CHARACTERS = 3
AROUND, SHOWN = 60, 200
MAX_A_TASK = 20


@dataclass(frozen=True)
class Leak:
    """One place. `before`, `match` and `after` are the prompt's own text around it, cut to what a page shows."""

    answer_path: str
    answer: str
    prompt_path: str
    before: str
    match: str
    after: str


def leaks(prompts: Sequence[tuple[Text, Sequence[str]]], answers: Sequence[Text]) -> list[Leak]:
    """Each answer's first place in each prompt, at most 20 a task. A prompt comes with its words."""
    found: list[Leak] = []
    wanted = [(answer, sought) for answer in answers if len("".join(sought := words(answer.text))) >= MIN_CHARACTERS]
    if not wanted:
        return found
    for prompt, said in prompts:
        told = _joined(said)
        found += [_leak(prompt, answer, sought) for answer, sought in _unique(wanted) if _joined(sought) in told]
    return found[:MAX_A_TASK]


def _joined(parts: Sequence[str]) -> str:
    return f" {' '.join(parts)} "


def _unique(wanted: Sequence[tuple[Text, list[str]]]) -> Iterator[tuple[Text, list[str]]]:
    """The first of the answers that say the same."""
    seen: set[tuple[str, ...]] = set()
    for answer, sought in wanted:
        if tuple(sought) not in seen:
            seen.add(tuple(sought))
            yield answer, sought


def _leak(prompt: Text, answer: Text, sought: list[str]) -> Leak:
    start, end = _place(prompt.text, sought)
    before, after = prompt.text[max(0, start - AROUND) : start], prompt.text[end : end + AROUND]
    return Leak(answer.path, answer.text[:SHOWN], prompt.path, before, prompt.text[start:end][:SHOWN], after)


def _place(text: str, sought: list[str]) -> tuple[int, int]:
    """Where the words begin and end in the text as it was written."""
    placed = list(places(text))
    for first in range(len(placed) - len(sought) + 1):
        if placed[first][0] == sought[0] and [word for word, _start, _end in placed[first : first + len(sought)]] == sought:
            return placed[first][1], placed[first + len(sought) - 1][2]
    return 0, 0
