"""What a request asks of a table: text, filters and order, from the query names that the page's address has too. Pure.

`sort=-columns.ops,slug` · `f.<column>=a,b` one of these · `!a` none of these · `>=2`, `<=5` a range · a backslash before a comma, a
backslash, `!`, `>` or `<` takes its meaning; `\\-` alone is no value. `f.env` and `f.task_id` are the task's own fields; a column of
that name is `f.columns.env`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proctor.wire.errors import Problem
from tasksets.tables.columns import Filter

OWN = ("env", "task_id")
PREFIX = "columns."
MOST_SORTS = 8


class BadQuestion(ValueError):
    """With each problem."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].rule)
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Sort:
    """`name` is `position`, `slug`, `env`, `task_id` or `columns.<name>`."""

    name: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    q: str = ""
    filters: tuple[Filter, ...] = ()
    sort: tuple[Sort, ...] = ()

    @property
    def is_all_in_order(self) -> bool:
        return not self.q and not self.filters and not self.sort

    def without(self, name: str) -> Asked:
        """The same without the filter of one column, and in no order."""
        return Asked(self.q, tuple(one for one in self.filters if one.name != name))


def column_name(given: str) -> str:
    """The full name of a filter's column: `ops` → `columns.ops`, `env` → `env`."""
    return given if given in OWN or given.startswith(PREFIX) else PREFIX + given


def parse(q: str, sort: str, filters: Mapping[str, Sequence[str]]) -> Asked:
    """`filters` are the choices by column, each as between the commas of `f.<column>`. Raises BadQuestion."""
    problems: list[Problem] = []
    made = []
    for name, tokens in sorted(filters.items()):
        try:
            made.append(filter_of(column_name(name), tokens))
        except ValueError as error:
            problems.append(Problem(path=f"f.{name}", rule=str(error), value=",".join(tokens)[:200]))
    sorts = tuple(_sorts(sort, problems))
    if problems:
        raise BadQuestion(problems)
    return Asked(q, tuple(made), () if sorts[:1] == (Sort("position"),) else sorts)


def _sorts(text: str, problems: list[Problem]) -> Iterable[Sort]:
    parts = [part for part in split(text) if part]
    for part in parts[:MOST_SORTS]:
        name = part.removeprefix("-")
        if name not in ("position", "slug", *OWN) and not (name.startswith(PREFIX) and len(name) > len(PREFIX)):
            problems.append(
                Problem(path="sort", rule="must be position, slug, env, task_id or columns.<name>, with - for descending", value=part[:200])
            )
        yield Sort(unescaped(name), part.startswith("-"))
    if len(parts) > MOST_SORTS:
        problems.append(Problem(path="sort", rule=f"must be at most {MOST_SORTS}", value=str(len(parts))))


def split(text: str) -> list[str]:
    """The parts between commas, escapes still in them."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == ",":
            parts.append(text[start:at])
            start = at + 1
        at += 2 if text[at] == "\\" else 1
    return [*parts, text[start:]]


def unescaped(token: str) -> str:
    found, at = [], 0
    while at < len(token):
        at += token[at] == "\\" and at + 1 < len(token)
        found.append(token[at])
        at += 1
    return "".join(found)


def filter_of(name: str, tokens: Iterable[str]) -> Filter:
    """Raises ValueError with the rule."""
    includes, excludes, bounds = set[str | None](), set[str | None](), dict[str, float]()
    for token in tokens:
        if token[:2] in (">=", "<="):
            bounds[token[:2]] = _number(token)
        elif token.startswith("!"):
            excludes.add(_text(token[1:]))
        else:
            includes.add(_text(token))
    return Filter(name, frozenset(includes), frozenset(excludes), bounds.get(">="), bounds.get("<="))


def _text(choice: str) -> str | None:
    return None if choice == "\\-" else unescaped(choice)


def _number(token: str) -> float:
    try:
        number = float(token[2:])
    except ValueError:
        raise ValueError(f"must have a number behind {token[:2]}") from None
    if number != number:
        raise ValueError("must not be NaN")
    return number
