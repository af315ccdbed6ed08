"""An environment written with the real HUD SDK, served by the real HUD server: letters to count, and a broken grader."""

from __future__ import annotations

from hud import Environment

env = Environment("letters")


@env.template()
async def count(word: str = "strawberry", letter: str = "r"):
    answer = yield f"How many {letter}'s are in {word}?"
    yield 1.0 if answer == str(word.count(letter)) else 0.0


@env.template()
async def breaks():
    yield "go"
    raise RuntimeError("grader fell over")
