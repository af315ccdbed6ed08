"""Write an environment, and serve it on the HUD control channel.

    from proctor.environment import Environment

    env = Environment("letters")

    @env.template(description="Count a letter")
    async def count(word: str = "strawberry", letter: str = "r"):
        answer = yield f"How many {letter!r} are in {word!r}?"
        yield 1.0 if answer == str(word.count(letter)) else 0.0

This folder imports nothing but the standard library, so an image may copy just it and run
`python <folder> env.py --host 0.0.0.0 --port 8765`. Python 3.9 and later.
"""

from .arguments import DataFileArg, DataFilesArg, GradingArg, PromptArg
from .declare import Answer, Capability, Environment, TaskRow, Template
from .load import load_environment
from .server import serve

__all__ = [
    "Answer",
    "Capability",
    "DataFileArg",
    "DataFilesArg",
    "Environment",
    "GradingArg",
    "PromptArg",
    "TaskRow",
    "Template",
    "load_environment",
    "serve",
]
