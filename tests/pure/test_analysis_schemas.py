"""JSON Schemas from strangers: what they find, and that none of them hangs, fetches or breaks the checker."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tasksets.analysis import schemas
from tasksets.analysis.schemas import SchemaUnusable, problems_of

OBJECT = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "q": {"type": "string", "minLength": 2}, "a.b": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}


def found(schema: Any, value: Any) -> list[tuple[str, str, str | None]]:
    return [(one.path, one.rule, one.value) for one in problems_of(json.dumps(schema), value, ("args",))]


def test_what_fits_has_no_problems() -> None:
    assert found(OBJECT, {"n": 12345678901234567890123, "q": "ab"}) == []
    assert found({}, {"anything": [1, None]}) == [] and found(True, {}) == []


def test_a_problem_names_its_place_the_rule_and_the_value() -> None:
    assert found(OBJECT, {"n": "x", "q": "a", "a.b": 1}) == [
        ("args.n", 'must be of type "integer"', '"x"'),
        ("args.q", "must have at least 2 characters", '"a"'),
        ('args["a.b"]', 'must be of type "string"', "1"),
    ]
    assert found(OBJECT, {"q": "ab"})[0][:2] == ("args", "'n' is a required property")
    assert found({"properties": {"l": {"items": {"enum": ["a", "b"]}}}}, {"l": ["a", "c"]}) == [
        ("args.l[1]", 'must be one of ["a", "b"]', '"c"')
    ]


def test_references_into_the_schema_and_older_drafts_work() -> None:
    schema = {"$defs": {"word": {"type": "string", "pattern": "^[a-z]+$"}}, "properties": {"w": {"$ref": "#/$defs/word"}}}
    assert found(schema, {"w": "abc"}) == [] and found(schema, {"w": "A"})[0][1] == 'must match the pattern "^[a-z]+$"'
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"minimum": 3, "exclusiveMinimum": True}}}
    assert found(old, {"n": 3}) and not found(old, {"n": 4})
    assert found({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": "no", "y": "yes"})[0][0] == "args.x1"
    assert found({"properties": {"l": {"uniqueItems": True}}}, {"l": [1, 1.0]}) and not found({"uniqueItems": True}, [1, True, "1"])


def test_at_most_twenty_problems_are_told() -> None:
    assert len(found({"additionalProperties": {"type": "string"}}, {str(n): n for n in range(100)})) == schemas.MAX_PROBLEMS


def _chain(count: int, step: Any) -> dict[str, Any]:
    return {"$defs": {f"a{n}": step(f"#/$defs/a{n + 1}") for n in range(count)} | {f"a{count}": {}}, "$ref": "#/$defs/a0"}


TREE = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/t"}] * 2}}, "required": ["k"]}}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"q": {"pattern": "(x+x+)+y"}}}, {"q": "x" * 5000}),
        ({"patternProperties": {"(x+x+)+y": {}}}, {"x" * 5000: 1}),
        ({"properties": {"q": {"pattern": "(" * 900}}}, {"q": "a"}),
        ({"properties": {"q": {"pattern": "a" * 5000}}}, {"q": "a"}),
        ({"$ref": "#"}, {}),
        (_chain(3000, lambda to: {"$ref": to}), {}),
        (_chain(60, lambda to: {"allOf": [{"$ref": to}] * 2}), {}),
        ({**_chain(60, lambda to: {"allOf": [{"$ref": to}] * 2}), "unevaluatedProperties": False}, {"a": 1}),
        (TREE, json.loads('{"x":' * 50 + "{}" + "}" * 50)),
        ({"type": "no such type"}, {}),
        ({"$dynamicRef": "#nowhere"}, {}),
        ([1], {}),
        ({"description": "x" * schemas.MAX_SCHEMA}, {}),
    ],
    ids=[
        "pattern",
        "key-pattern",
        "bad-pattern",
        "long-pattern",
        "itself",
        "deep",
        "wide",
        "unevaluated",
        "tree",
        "type",
        "dynamic",
        "list",
        "large",
    ],
)
def test_a_hostile_schema_is_unusable_and_ends(schema: Any, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MAX_SECONDS", 0.05)
    with pytest.raises(SchemaUnusable):
        found(schema, value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/schema", "file:///etc/hostname", "schema.json"])
def test_nothing_is_fetched(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_socket(*_: object, **__: object) -> None:
        raise AssertionError("a schema made us connect")

    monkeypatch.setattr(socket, "socket", no_socket)
    with pytest.raises(SchemaUnusable, match="leads nowhere"):
        found({"properties": {"a": {"$ref": address}}}, {"a": 1})
    assert found({"$schema": address, "type": "object"}, {}) == []


def test_a_budget_is_for_one_value_not_for_all() -> None:
    for _ in range(11):
        assert found({"items": {"type": "integer"}}, list(range(20_000))) == []
