"""Args schemas are those that pydantic writes for the same signature, and values are made to fit the annotations."""

import enum
import inspect
from typing import Any, Dict, List, Literal, Optional, Union  # noqa: UP035

import pytest
from pydantic import create_model

from proctor.environment import Environment, GradingArg, PromptArg
from proctor.environment.arguments import args_schema, fit, signature_of


def scalars(word: str, n: int = 3, ratio: float = 0.5, flag: bool = False, first_name: str = "a"): ...
def containers(a: list[str], b: dict[str, int], c: list, d: dict, e: list[dict[str, list[int]]], f: List[int], g: Dict[str, Any]): ...  # noqa: UP006
def choices(a: str | None = None, b: Union[int, str] = 1, c: Literal["x", "y"] = "x", d: Literal[1] = 1, e: Optional[list[int]] = None): ...  # noqa: UP007, UP045
def anything(a: Any, b=None): ...
def bare(a, b): ...
def empty(): ...
def open_ended(a: int, **more: Any): ...


def pydantic_schema(function):
    """As HUD's SDK makes it."""
    fields, open_ended = {}, False
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            open_ended = True
            continue
        annotation = Any if parameter.annotation is inspect.Parameter.empty else parameter.annotation
        fields[name] = (annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
    schema = create_model("TaskArgs", **fields).model_json_schema()
    schema.pop("title")
    return {**schema, "additionalProperties": open_ended}


@pytest.mark.parametrize("function", [scalars, containers, choices, anything, bare, empty, open_ended])
def test_the_schema_is_the_one_that_pydantic_writes(function):
    assert args_schema(signature_of(function)) == pydantic_schema(function)


def test_hints_for_console_forms_stand_in_the_schema():
    def task(prompt: PromptArg, checks: GradingArg[str]): ...

    assert args_schema(signature_of(task))["properties"] == {
        "prompt": {"title": "Prompt", "type": "string", "x-hud-hint": "prompt"},
        "checks": {"items": {"type": "string"}, "title": "Checks", "type": "array", "x-hud-hint": "grading"},
    }


def test_a_type_that_is_not_known_accepts_anything_and_a_default_that_is_no_json_is_left_out():
    def task(a: complex, b: bytes = b"x"): ...

    assert args_schema(signature_of(task))["properties"] == {"a": {"title": "A"}, "b": {"title": "B"}}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("annotation", "value", "fitted"),
    [
        (int, "3", 3),
        (int, "x", "x"),
        (int, 2.5, 2.5),
        (float, 3, 3.0),
        (float, "3", 3.0),
        (bool, "true", True),
        (str, "3", "3"),
        (str | None, "null", "null"),
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '["a"]', '["a"]'),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (int | None, "null", None),
        (Any, "3", "3"),
        (inspect.Parameter.empty, "3", "3"),
        (PromptArg, "3", "3"),
        (Colour, "red", Colour.RED),
        (Colour, "green", "green"),
        (Literal["a", "b"], "a", "a"),
        (complex, "1", "1"),
    ],
)
def test_text_that_holds_the_right_type_is_parsed_and_the_rest_is_passed_on(annotation, value, fitted):
    result = fit(annotation, value)
    assert (result, type(result)) == (fitted, type(fitted))


def test_args_arrive_in_the_template_as_their_annotations_say():
    env = Environment("fit")

    @env.template()
    async def task(n: int, items: list[str]):
        yield n + len(items)

    import asyncio

    from proctor.environment.runner import TaskRunner

    runner = TaskRunner(env.templates["task"], {"n": "2", "items": '["a"]'})
    assert asyncio.run(runner.start()) == {"prompt": 3}
