"""JSON Schemas that environments give for their templates' args. Strangers write them, so this validator neither hangs nor fetches. Pure.

References lead only into the schema itself; patterns have a time limit; a value's validation has a budget of steps. What goes over these
raises `SchemaUnusable`: then the schema is at fault, not the value. Validators are kept by the schema's text. May not import Django.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema
import regex
from jsonschema import validators
from referencing import Registry
from referencing.exceptions import Unresolvable

from proctor.content import shown
from proctor.wire.errors import Problem
from tasksets.diffs import Path, path_text

MAX_SCHEMA, MAX_PATTERN = 256 * 1024, 1_000
MAX_STEPS, MAX_SECONDS = 200_000, 1.0
MAX_PROBLEMS = 20
RULES = {
    "type": "must be of type {}", "enum": "must be one of {}", "const": "must be {}", "pattern": "must match the pattern {}",
    "minLength": "must have at least {} characters", "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items", "maxItems": "must have at most {} items", "uniqueItems": "must hold no item twice",
    "minimum": "must be at least {}", "maximum": "must be at most {}", "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}", "multipleOf": "must be a multiple of {}", "anyOf": "must match one of the schemas of anyOf",
    "oneOf": "must match exactly one of the schemas of oneOf", "not": "must not match the schema of not",
}  # fmt: skip

Keyword = Callable[[Any, Any, Any, Mapping[str, Any]], Any]


class SchemaUnusable(ValueError):
    """The schema is none, asks for something elsewhere, or takes too long."""


class _Budget(threading.local):
    steps = 0
    until = 0.0

    def refill(self) -> None:
        self.steps, self.until = MAX_STEPS, time.monotonic() + MAX_SECONDS

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0 or (self.steps % 256 == 0 and time.monotonic() > self.until):
            raise SchemaUnusable("it takes too long to check a value against it")

    @property
    def seconds(self) -> float:
        return max(0.001, self.until - time.monotonic())


_budget = _Budget()


def problems_of(schema_text: str, value: object, path: Path) -> list[Problem]:
    """What the schema finds in the value, at most 20, by their places (PostgreSQL's JSON keeps no order of a schema's keys); `path` is where
    the value stands. Raises SchemaUnusable."""
    validator = _compile(schema_text)
    _budget.refill()
    try:
        found = islice(validator.iter_errors(value), MAX_PROBLEMS)
        return sorted((_problem(error, path) for error in found), key=lambda one: (one.path, one.rule))
    except SchemaUnusable:
        raise
    except Unresolvable as error:
        raise SchemaUnusable(f"a reference leads nowhere in it: {shown(str(error))}") from None
    except (
        RecursionError,
        ArithmeticError,
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        jsonschema.exceptions.UnknownType,
    ) as error:
        raise SchemaUnusable(f"it can't be used ({type(error).__name__})") from None


def _problem(error: jsonschema.ValidationError, path: Path) -> Problem:
    keyword = str(error.validator)
    limit = json.dumps(error.validator_value, ensure_ascii=False)
    rule = RULES[keyword].format(shown(limit)) if keyword in RULES else error.message
    value = json.dumps(error.instance, ensure_ascii=False)
    return Problem(path=path_text((*path, *error.absolute_path)), rule=shown(rule), value=shown(value))


@lru_cache(maxsize=256)
def _compile(text: str) -> Any:
    """Raises SchemaUnusable (which is not kept, but costs little)."""
    if len(text) > MAX_SCHEMA:
        raise SchemaUnusable(f"it has more than {MAX_SCHEMA:,} characters")
    _budget.refill()
    schema = json.loads(text)
    try:
        kind = _bounded(validators.validator_for(schema, default=jsonschema.Draft202012Validator))
        kind.check_schema(schema, format_checker=None)
    except jsonschema.SchemaError as error:
        raise SchemaUnusable(f"it is no JSON Schema: {shown(error.message)}") from None
    except (RecursionError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise SchemaUnusable(f"it is no JSON Schema ({type(error).__name__})") from None
    return kind(schema, registry=Registry())


@lru_cache(maxsize=16)
def _bounded(kind: Any) -> Any:
    """The draft's validator with a price on every keyword, and our own where its keywords may run away."""
    own = {"pattern": _pattern, "patternProperties": _pattern_properties, "uniqueItems": _unique_items}
    keywords = {name: _priced(own.get(name, keyword)) for name, keyword in kind.VALIDATORS.items()}
    return validators.extend(kind, keywords)


def _priced(keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, value: Any, schema: Mapping[str, Any]) -> Any:
        _budget.spend()
        return keyword(validator, wanted, value, schema)

    return check


def _pattern(validator: Any, pattern: str, value: Any, schema: Mapping[str, Any]) -> Iterator[jsonschema.ValidationError]:
    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield jsonschema.ValidationError("does not match")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    if not validator.is_type(value, "object"):
        return
    for pattern, inner in patterns.items():
        for key, part in value.items():
            if _matches(pattern, key):
                yield from validator.descend(part, inner, path=key, schema_path=pattern)


def _matches(pattern: str, text: str) -> bool:
    _budget.spend()
    try:
        return regex.search(_pattern_of(pattern), text, timeout=_budget.seconds) is not None
    except TimeoutError:
        raise SchemaUnusable(f"its pattern {shown(pattern)} takes too long") from None
    except (regex.error, RecursionError, OverflowError) as error:
        raise SchemaUnusable(f"its pattern {shown(pattern)} can't be read: {shown(str(error))}") from None


@lru_cache(maxsize=1024)
def _pattern_of(pattern: str) -> Any:
    if len(pattern) > MAX_PATTERN:
        raise SchemaUnusable(f"a pattern in it has more than {MAX_PATTERN:,} characters")
    return regex.compile(pattern)


def _unique_items(validator: Any, wanted: bool, value: Any, schema: Mapping[str, Any]) -> Iterator[jsonschema.ValidationError]:
    """Linear; the library compares each with each."""
    if wanted and validator.is_type(value, "array"):
        texts = [json.dumps(_plain(item), sort_keys=True) for item in value]
        if len(set(texts)) < len(texts):
            yield jsonschema.ValidationError("holds an item twice")


def _plain(value: Any) -> Any:
    """Numbers that are equal become the same text: 1.0 and 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value
