"""Calls of controller functions: a dotted name and its arguments, and the shorthands that tasks write them in.

A name is checked in every form, since it decides what is imported inside the container; 0.2.x checks it for dicts only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


ANSWER_FUNCTIONS = frozenset({"response_is", "response_includes", "response_match"})
"""Evaluators that compare the agent's answer: 0.2.10 hands it to these alone."""


class BadCall(ValueError):
    """What stands for a call is none; the message says where."""


@dataclass(frozen=True)
class Call:
    """`function(*args)`. `id` and `metadata` are the task's, for the controller. Raises `BadCall` for a name that is no dotted identifier."""

    function: str
    args: tuple[Any, ...] = ()
    id: str | None = None
    metadata: Mapping[str, Any] | None = None
    place: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.function, str) or not _NAME.fullmatch(self.function):
            raise BadCall(f"{_at(self.place)}{self.function!r} is not a dotted function name like chrome.open_tab")

    def to_json(self) -> dict[str, Any]:
        """As 0.2.10 sends it: `{function, args, id, metadata}`, calls among the arguments too."""
        args = [argument.to_json() if isinstance(argument, Call) else argument for argument in self.args]
        metadata = None if self.metadata is None else dict(self.metadata)
        return {"function": self.function, "args": args, "id": self.id, "metadata": metadata}

    def to_step(self) -> dict[str, Any]:
        """As the steps of a run show it: `{name, arguments, id}`."""
        return {"name": self.function, "arguments": {"args": self.to_json()["args"]}, "id": f"call_{self.function}"}


def expand_calls(config: Any, place: str = "") -> list[Call]:
    """The calls of a shorthand, in order: a name; `(name, *args)`; `{function, args}` (a single argument may stand bare, none may be left
    out); a `Call`; or a list of these. `[]` is no call at all. Raises `BadCall`."""
    if isinstance(config, Call):
        return [config]
    if isinstance(config, str):
        return [Call(config, place=place)]
    if isinstance(config, Mapping):
        return [_from_mapping(config, place)]
    if isinstance(config, tuple):
        return [_from_parts(config, place)]
    if isinstance(config, list):
        return [call for index, item in enumerate(config) for call in expand_calls(item, f"{place}[{index}]")]
    raise BadCall(f"{_at(place)}a {type(config).__name__} is no function call; write a name, (name, *args) or {{function, args}}")


def setup_calls(setup: Any, config: Mapping[str, Any] | None, place: str = "") -> list[Call]:
    """Those of `setup`, else the one that `config` is, else none. Raises `BadCall`."""
    if setup:
        return expand_calls(setup, f"{place}setup")
    return expand_calls(config, f"{place}config") if config and "function" in config else []


def with_argument(call: Call, argument: Any) -> Call:
    """A copy with one argument more."""
    return replace(call, args=(*call.args, argument))


def answered(call: Call, answer: Any) -> Call:
    """With the agent's answer, if the function compares answers and there is one."""
    return with_argument(call, answer) if answer is not None and call.function in ANSWER_FUNCTIONS else call


def _from_mapping(config: Mapping[str, Any], place: str) -> Call:
    unknown = sorted(set(config) - {"function", "args", "id", "metadata"})
    if "function" not in config or unknown:
        raise BadCall(f"{_at(place)}{'unknown ' + ', '.join(unknown) if unknown else 'function is missing'}")
    args = config.get("args", ())
    given = tuple(args) if isinstance(args, list | tuple) else () if args is None else (args,)
    return Call(config["function"], given, config.get("id"), config.get("metadata"), place)


def _from_parts(parts: Sequence[Any], place: str) -> Call:
    if not parts:
        raise BadCall(f"{_at(place)}an empty tuple names no function")
    return Call(parts[0], tuple(parts[1:]), place=place)


def _at(place: str) -> str:
    return f"{place}: " if place else ""
