"""What of a task a model reads, and what it should find out: its prompt texts and its answers, by their places. Pure.

A text in `args` is *prompt-like* when it has at least 20 characters and a white space, or stands under a key that prompts go by
(`PROMPT_KEYS`); texts in answer fields never are. Words are what comparisons count: letters and digits, normalised by NFKC and case, a
number whole, a Chinese, Japanese or Korean character each. docs/reference/analysis.md has the rules. May not import Django.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from proctor.content import StoredTask
from tasksets.diffs import Path, path_text

ANSWER_FIELDS = ("answer", "expected", "target", "solution")
PROMPT_KEYS = frozenset(
    {"prompt", "question", "instruction", "instructions", "query", "problem", "task", "goal", "input", "content", "text"}
)
LONG, MAX_CHARACTERS = 20, 200_000
ANSWER_PARTS = ("args", "validation", "columns", "verifier")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a task and where it stands, as `args.messages[0].content`."""

    path: str
    text: str


@dataclass(frozen=True)
class Fields:
    """Which keys hold answers: `answer` at any depth, or `gold.answer` for one under the other. Compared without case."""

    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> Fields:
        return cls(tuple(tuple(name.casefold().split(".")) for name in names))

    def hold(self, path: Path) -> bool:
        """True when the path's last keys are those of a field."""
        if not path or not isinstance(path[-1], str):
            return False
        keys = tuple(part.casefold() for part in path if isinstance(part, str))
        return any(keys[-len(name) :] == name for name in self.names)


def prompts(task: StoredTask, fields: Fields) -> list[Text]:
    return [Text(path_text(path), text[:MAX_CHARACTERS]) for path, text in _prompts(("args",), _value(task.args), fields)]


def _prompts(path: Path, value: Any, fields: Fields) -> Iterator[tuple[Path, str]]:
    if fields.hold(path):
        return
    if isinstance(value, str):
        if _is_prompt(path, value):
            yield path, value
        return
    for key, part in _parts(value):
        yield from _prompts((*path, key), part, fields)


def _is_prompt(path: Path, text: str) -> bool:
    if len(text) >= LONG and any(map(str.isspace, text)):
        return True
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    return key.casefold() in PROMPT_KEYS and not text.isspace() and text != ""


def answers(task: StoredTask, fields: Fields) -> list[Text]:
    """The texts and numbers in answer fields, wherever in the task."""
    return [found for part in ANSWER_PARTS for found in _answers((part,), _value(getattr(task, part)), fields, False)]


def _answers(path: Path, value: Any, fields: Fields, inside: bool) -> Iterator[Text]:
    inside = inside or fields.hold(path)
    if inside and isinstance(value, str):
        yield Text(path_text(path), value[:MAX_CHARACTERS])
    elif inside and isinstance(value, int | Raw) and not isinstance(value, bool):
        yield Text(path_text(path), bytes(value).decode() if isinstance(value, Raw) else str(value))
    for key, part in _parts(value):
        yield from _answers((*path, key), part, fields, inside)


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


_decode = msgspec.json.Decoder(float_hook=lambda text: Raw(text.encode())).decode


def _value(part: Raw) -> Any:
    return _decode(part)


_EACH = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_WORD = re.compile(rf"\d+(?:,\d{{3}})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|[{_EACH}]|[^\W\d_{_EACH}](?:[^\W\d_{_EACH}]|[{_MARKS}])*")


def words(text: str) -> list[str]:
    """`The CAFÉ has 1,200.50 seats!` → `the café has 1200.50 seats`, as a list."""
    if text.isascii():
        found = _WORD.findall(text.lower())
        return [_number(word) for word in found] if "," in text else found
    return [_normal(word) for word in _WORD.findall(text)]


def places(text: str) -> Iterator[tuple[str, int, int]]:
    """The same words with where each begins and ends."""
    return ((_normal(found[0]), found.start(), found.end()) for found in _WORD.finditer(text))


def _normal(word: str) -> str:
    return _number(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold()))


def _number(word: str) -> str:
    return word.replace(",", "") if "," in word else word
