"""Grade-school maths: the prompt is the problem, and the answer's last number after `A:` must be the expected one.

An answer without such a number is wrong. Thousands commas, `$` and a full stop at the end of a number do not matter; digits do:
numbers are compared as exact decimals.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

from proctor.environment import Environment

env = Environment("gsm8k", version="1.0.0")

NUMBER = re.compile(r"(?:(?<![0-9])-)?\$?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")


@env.template(description="Solve a grade-school maths problem; end with a line `A: <number>`")
async def solve(question: str, answer: str) -> AsyncGenerator[Any, str]:
    reply = yield question
    expected, found = number(answer), last_number(reply if isinstance(reply, str) else "")
    right = found is not None and found == expected
    yield {
        "score": 1.0 if right else 0.0,
        "content": "right" if right else f"expected {expected}, found {'no number' if found is None else found}",
        "info": {"expected": str(expected), "found": None if found is None else str(found)},
    }


def last_number(reply: str) -> Decimal | None:
    """The last number after the last `A:`, None when there is none."""
    _, mark, tail = reply.rpartition("A:")
    found = NUMBER.findall(tail) if mark else []
    return number(found[-1]) if found else None


def number(text: str) -> Decimal:
    return Decimal(text.replace("$", "").replace(",", "").strip())
