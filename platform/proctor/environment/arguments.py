"""What a template takes: JSON Schema from a function's signature, and values made to fit the annotations.

The schemas are those that pydantic writes for the same signature, as HUD publishes them. An annotation that this module
does not know accepts anything. Types with their own `model_json_schema` and `model_validate` (pydantic models) are asked by
duck typing; nothing is imported for them.
"""

from __future__ import annotations

import enum
import inspect
import json
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, Union

T = TypeVar("T")

HINT = "x-hud-hint"
PromptArg = Annotated[str, {HINT: "prompt"}]
DataFileArg = Annotated[T, {HINT: "data-file"}]
DataFilesArg = Annotated[list[T], {HINT: "data-files"}]
GradingArg = Annotated[list[T], {HINT: "grading"}]

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_UNIONS = (Union, getattr(types, "UnionType", Union))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature with its annotations evaluated, also under `from __future__ import annotations`."""
    hints = typing.get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=hints.get(p.name, p.annotation)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def args_schema(signature: inspect.Signature) -> dict[str, Any]:
    """The JSON Schema of a template's `args`."""
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p.name for p in named if p.default is p.empty]
    schema: dict[str, Any] = {"properties": {p.name: _property(p) for p in named}}
    if required:
        schema["required"] = required
    schema["type"] = "object"
    schema["additionalProperties"] = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    return schema


def _property(parameter: inspect.Parameter) -> dict[str, Any]:
    schema = type_schema(parameter.annotation)
    schema["title"] = parameter.name.title().replace("_", " ").strip()
    if parameter.default is not parameter.empty and _is_json(parameter.default):
        schema["default"] = parameter.default
    return {key: schema[key] for key in sorted(schema)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def type_schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema of one annotation; `{}` accepts anything."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if hasattr(annotation, "model_json_schema"):
        return dict(annotation.model_json_schema())
    if origin is Annotated:
        return _annotated_schema(arguments)
    if origin in _UNIONS:
        return {"anyOf": [type_schema(member) for member in arguments]}
    if origin is Literal:
        return _choice_schema(list(arguments))
    if _is_enum(annotation):
        return _choice_schema([member.value for member in annotation])
    if annotation is list or origin is list:
        return {"type": "array", "items": type_schema(arguments[0]) if arguments else {}}
    if annotation is dict or origin is dict:
        return {"type": "object", "additionalProperties": (type_schema(arguments[1]) or True) if arguments else True}
    return {"type": _SCALARS[annotation]} if _is_scalar(annotation) else {}


def _annotated_schema(arguments: tuple[Any, ...]) -> dict[str, Any]:
    schema = type_schema(arguments[0])
    for extra in arguments[1:]:
        if isinstance(extra, dict):
            schema.update(extra)
    return schema


def _choice_schema(choices: list[Any]) -> dict[str, Any]:
    kinds = {_SCALARS.get(type(choice)) for choice in choices}
    schema: dict[str, Any] = {"const": choices[0]} if len(choices) == 1 else {"enum": choices}
    if len(kinds) == 1 and None not in kinds:
        schema["type"] = kinds.pop()
    return schema


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


def _is_scalar(annotation: Any) -> bool:
    return isinstance(annotation, type) and annotation in _SCALARS


def fit(annotation: Any, value: Any) -> Any:
    """The value as the annotation wants it: text that holds JSON of the right type is parsed, an enum's value becomes its
    member. What does not fit is passed on as it is: the template sees what was sent."""
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    if hasattr(annotation, "model_validate"):
        return _fit_model(annotation, value)
    if _is_enum(annotation):
        return next((member for member in annotation if member.value == value), value)
    if annotation in (Any, inspect.Parameter.empty, str) or not type_schema(annotation):
        return value
    if isinstance(value, str) and not fits(annotation, value):
        return _fit_text(annotation, value)
    return float(value) if annotation is float and type(value) is int else value


def _fit_model(model: Any, value: Any) -> Any:
    """Models say themselves what is wrong with a value: pydantic's error is a ValueError and reaches the caller."""
    return model.model_validate(json.loads(value) if isinstance(value, str) else value)


def _fit_text(annotation: Any, text: str) -> Any:
    try:
        parsed = json.loads(text)
    except ValueError:
        return text
    return fit(annotation, parsed) if fits(annotation, parsed) else text


def fits(annotation: Any, value: Any) -> bool:
    """Whether a JSON value is one that the annotation's schema describes."""
    return _matches(type_schema(annotation), value)


def _matches(schema: dict[str, Any], value: Any) -> bool:
    if "anyOf" in schema:
        return any(_matches(member, value) for member in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if schema.get("type") == "array":
        return isinstance(value, list) and all(_matches(schema.get("items", {}), item) for item in value)
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return isinstance(value, dict) and all(_matches(inner, v) for v in value.values() if isinstance(inner, dict))
    return _is_of_type(schema.get("type"), value)


def _is_of_type(name: Any, value: Any) -> bool:
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return name is None or _SCALARS.get(type(value)) == name
