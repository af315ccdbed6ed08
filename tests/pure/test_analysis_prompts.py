"""Which texts of a task are its prompt, which are its answers, and when an answer stands in the prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.content import read_stored
from tasksets.analysis.leaks import leaks
from tasksets.analysis.prompts import ANSWER_FIELDS, Fields, Text, answers, places, prompts, words

USUAL = Fields.of(ANSWER_FIELDS)


def task(**parts: Any) -> Any:
    return read_stored(json.dumps({"env": "e", "id": "t", **parts}))


def said(found: list[Text]) -> list[tuple[str, str]]:
    return [(one.path, one.text) for one in found]


def test_a_prompt_is_long_text_or_stands_under_a_prompts_key() -> None:
    args = {
        "word": "banana",
        "question": "2+2?",
        "messages": [{"role": "user", "content": "Hi"}, {"note": "a text of twenty letters"}],
        "url": "x" * 40,
    }
    assert said(prompts(task(args=args), USUAL)) == [
        ("args.question", "2+2?"),
        ("args.messages[0].content", "Hi"),
        ("args.messages[1].note", "a text of twenty letters"),
    ]
    assert prompts(task(), USUAL) == [] and prompts(task(args={"prompt": " "}), USUAL) == []


def test_what_is_in_an_answer_field_is_no_prompt() -> None:
    args = {"Answer": "a long text that explains why it is 12", "solution": {"text": "more of the same, and long"}, "prompt": "What is it?"}
    assert said(prompts(task(args=args), USUAL)) == [("args.prompt", "What is it?")]


def test_answers_are_texts_and_numbers_wherever_they_stand() -> None:
    found = answers(
        task(
            args={"answer": ["Paris", 1.50, True, None], "sub": {"expected": {"deep": "x"}}},
            columns={"target": 12345678901234567890},
            verifier={"env": "e", "id": "v", "args": {"solution": "42"}},
        ),
        USUAL,
    )
    assert said(found) == [
        ("args.answer[0]", "Paris"),
        ("args.answer[1]", "1.5"),
        ("args.sub.expected.deep", "x"),
        ("columns.target", "12345678901234567890"),
        ("verifier.args.solution", "42"),
    ]
    exact = answers(read_stored('{"env":"e","id":"t","args":{"answer":1.50}}'), USUAL)
    assert said(exact) == [("args.answer", "1.50")], "a number is its own text"


def test_fields_may_be_chosen_by_their_last_keys() -> None:
    fields = Fields.of(["gold.text", "Key"])
    assert said(answers(task(args={"gold": {"text": "a"}, "text": "b", "key": "c"}), fields)) == [
        ("args.gold.text", "a"),
        ("args.key", "c"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAFÉ has 1,200.50 seats!", "the café has 1200.50 seats"),
        ("Cafe\u0301 Ｆｕｌｌ width １２", "café full width 12"),
        ("x_y-z it's 3.14. 1,2 3,456,789", "x y z it s 3.14 1 2 3456789"),
        ("巴黎是12首都", "巴 黎 是 12 首 都"),
        ("abc123def STRASSE straße", "abc 123 def strasse strasse"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()
    assert [word for word, _start, _end in places(text)] == words(text)
    assert [word for start, end in [(start, end) for _word, start, end in places(text)] for word in words(text[start:end])] == words(text)


def leaked(prompt: str, answer: str) -> str | None:
    found = leaks([(Text("args.prompt", prompt), words(prompt))], [Text("args.answer", answer)])
    return found[0].match if found else None


@pytest.mark.parametrize(
    ("prompt", "answer", "match"),
    [
        ("The capital of France is PARIS, isn't it?", "paris", "PARIS"),
        ("Say: New\n  York!", "new-york", "New\n  York"),
        ("ｆｕｌｌ width", "Full Width", "ｆｕｌｌ width"),
        ("He paid 1,200 dollars", "1200", "1,200"),
        ("法国的首都是巴黎市", "巴黎市", "巴黎市"),
        ("Room 312 of 3", "312", "312"),
        ("It is 3123 or 4312", "312", None),
        ("concatenate", "cat", None),
        ("It is 12", "12", None),
        ("so it is", "it", None),
        ("the big cat", "the cat", None),
        ("anything", "!!!", None),
        ("", "abc", None),
    ],
)
def test_an_answer_in_the_prompt_is_found_whole(prompt: str, answer: str, match: str | None) -> None:
    assert leaked(prompt, answer) == match


def test_a_leak_tells_its_place_and_what_is_around() -> None:
    text = "a" * 100 + " The answer is Paris. " + "b" * 100
    found = leaks([(Text("args.q", text), words(text))], [Text("args.answer", "paris"), Text("columns.target", "PARIS!")])
    assert len(found) == 1, "two answers that say the same are one"
    only = found[0]
    assert (only.answer_path, only.answer, only.prompt_path, only.match) == ("args.answer", "paris", "args.q", "Paris")
    assert only.before.endswith(" The answer is ") and len(only.before) == 60 and only.after.startswith(". bbb") and len(only.after) == 60
