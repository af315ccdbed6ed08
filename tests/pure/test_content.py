"""A task's content: exact text out of every spelling, one id for equal content, and each problem with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.content import BadContent, default_slug, export_row, parse_row, parse_slugs, parse_tasks


def row(args: str = "{}", **more: str) -> bytes:
    extra = "".join(f',"{key}":{value}' for key, value in more.items())
    return f'{{"name":"a","env":{{"name":"letters"}},"task_id":"count","args":{args}{extra}}}'.encode()


def problems_of(data: bytes) -> list[tuple[str, str]]:
    with pytest.raises(BadContent) as caught:
        parse_tasks([data])
    return [(problem.path, problem.rule) for problem in caught.value.problems]


def args_of(data: bytes) -> str:
    text = export_row(parse_row(data).text, "a").decode()
    return text[text.index('"args":') + 7 : text.index(',"validation"')]


@pytest.mark.parametrize(
    "args",
    [
        '{"n":1.10}', '{"n":-0}', '{"n":1e-9}', '{"n":1E30}', '{"n":123456789012345678901234567890}',
        '{"n":-0.0}', '{"n":' + "9" * 5000 + "}", '{"n":[0,-1,0.1,1.0,true,null,false]}', '{"z":1,"a":{"y":2,"b":3}}', '{"":"","é":"😀"}',
        '{"t":"\\u0000\\u001f"}', '{"t":"\\b\\f\\n\\r\\t\\"\\\\/"}', "{}", '{"a":[[],{}]}',
    ],
)  # fmt: skip
def test_args_come_out_as_they_went_in(args: str) -> None:
    assert args_of(row(args)) == args


@pytest.mark.parametrize(
    ("given", "stored"),
    [('{"a": [1.10, -0],\n "b":\t"x , y"}', '{"a":[1.10,-0],"b":"x , y"}'), (r'{"a":"\u00e9\ud83d\ude00\/"}', '{"a":"é😀/"}')],
)
def test_white_space_and_needless_escapes_go_but_nothing_else(given: str, stored: str) -> None:
    assert args_of(row(given)) == stored


def test_the_three_spellings_are_one_content() -> None:
    upload = parse_row(b'{"name":"a","env":{"name":"letters"},"task_id":"count","args":{"w":1}}')
    export = parse_row(b'{"name":"a","env":"letters","scenario":"count","args":{"w":1},"validation":null,"verifier":null}')
    sdk = parse_row(b'{"args":{"w":1},"slug":"a","env":"letters","id":"count"}')
    assert upload == export == sdk
    assert upload.text == '{"env":"letters","id":"count","args":{"w":1}}'
    assert (upload.slug, upload.env, upload.task_id) == ("a", "letters", "count")


def test_the_stored_fields_stand_in_one_order_and_nulls_are_left_out() -> None:
    task = parse_row(
        row("null", verifier='{"id":"v","env":"e"}', columns="{}", validation="[]", agent_config='{"b":1,"a":2}', runtime_config="null")
    )
    assert (
        task.text
        == '{"env":"letters","id":"count","validation":[],"agent_config":{"b":1,"a":2},"columns":{},"verifier":{"id":"v","env":"e"}}'
    )


def test_key_order_makes_no_other_content_id_but_digits_do() -> None:
    one, other = parse_row(row('{"b":1,"a":{"d":1,"c":2}}')), parse_row(row('{"a":{"c":2,"d":1},"b":1}'))
    assert one.content_id == other.content_id and one.text != other.text
    assert parse_row(row('{"n":1.0}')).content_id != parse_row(row('{"n":1.00}')).content_id != parse_row(row('{"n":1}')).content_id


def test_the_content_id_is_the_hash_of_the_canonical_text() -> None:
    import hashlib

    canonical = '{"env":"letters","id":"count","args":{"A":{"x":1.50,"é":2},"b":"ü"}}'
    assert parse_row(row('{"b":"ü","A":{"é":2,"x":1.50}}')).content_id == hashlib.sha256(canonical.encode()).hexdigest()


def test_a_row_of_the_sdk_without_slug_gets_the_sdks_own() -> None:
    assert parse_row(b'{"env":"e","id":"count"}').slug == "count"
    assert parse_row(b'{"env":"letters","id":"count","args":{"word":"strawberry","letter":"r"}}').slug == "count-759529a8"
    assert default_slug("x", {}) == "x"


def test_an_export_row_has_all_nine_fields() -> None:
    assert export_row(parse_row(row()).text, 'sl"ug') == (
        b'{"name":"sl\\"ug","env":"letters","scenario":"count","args":{},"validation":null,"agent_config":null,"columns":null,"runtime_config":null,"verifier":null}'
    )


@pytest.mark.parametrize(
    ("args", "path", "rule"),
    [
        ('{"a":1,"a":1}', "tasks[0].args.a", "the key stands more than once in its object"),
        ('{"x":[{"k":1,"k":2}]}', "tasks[0].args.x[0].k", "the key stands more than once in its object"),
        ('{"n":[NaN]}', "tasks[0].args.n[0]", "NaN and infinities are not JSON"),
        ('{"n":-Infinity}', "tasks[0].args.n", "NaN and infinities are not JSON"),
        ('{"n":1e400}', "tasks[0].args.n", "must be finite as a double"),
        ('{"n":1.5E+999}', "tasks[0].args.n", "must be finite as a double"),
        ('{"n":' + "9" * 400 + ".5}", "tasks[0].args.n", "must be finite as a double"),
        (r'{"t":"a\ud800"}', "tasks[0].args.t", "must hold no lone surrogate"),
        (r'{"\udfff":1}', r"tasks[0].args.\udfff", "a key must hold no lone surrogate"),
        ("[1]", "tasks[0].args", "must be an object"),
        ('"x"', "tasks[0].args", "must be an object"),
        ("false", "tasks[0].args", "must be an object"),
    ],
)
def test_bad_args_are_refused_with_their_place(args: str, path: str, rule: str) -> None:
    assert problems_of(row(args)) == [(path, rule)]


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("columns", "[]", "columns"), ("agent_config", "1", "agent_config"), ("validation", "{}", "validation"), ("validation", "[1]", "validation"),
        ("verifier", "[]", "verifier"), ("verifier", '{"env":"e"}', "verifier.id"), ("verifier", '{"env":"","id":"x"}', "verifier.env"),
        ("verifier", '{"env":"e","id":"x","verifier":{"env":"e","id":"x"}}', "verifier.verifier"), ("verifier", '{"env":"e","id":"x","args":[]}', "verifier.args"),
        ("runtime_config", '{"img":"x"}', "runtime_config.img"), ("runtime_config", '{"image":""}', "runtime_config.image"),
        ("runtime_config", '{"image":"a","compose":{}}', "runtime_config"), ("runtime_config", '{"resources":{"cpu":0.0}}', "runtime_config.resources.cpu"),
        ("runtime_config", '{"limits":{"run_timeout_s":-1}}', "runtime_config.limits.run_timeout_s"), ("colums", "{}", "colums"),
    ],
)  # fmt: skip
def test_a_field_of_the_wrong_shape_is_refused_with_its_place(field: str, value: str, path: str) -> None:
    assert [found for found, _rule in problems_of(row(**{field: value}))] == [f"tasks[0].{path}"]


@pytest.mark.parametrize("slug", ['""', "5", "null", '" a"', '"a "', '"a\\n"', '"\\u0085"', '"' + "x" * 256 + '"', '["a"]'])
def test_a_bad_slug_is_refused(slug: str) -> None:
    data = f'{{"name":{slug},"env":"e","task_id":"t"}}'.encode()
    assert [path for path, _rule in problems_of(data)] == ["tasks[0].name"]


def test_slugs_are_any_text_compared_by_code_point() -> None:
    slugs = ["é", "e\u0301", "漢字/😀", "A", "a", "x" * 255, "a b"]
    assert [task.slug for task in parse_tasks([json.dumps({"name": slug, "env": "e", "task_id": "t"}).encode() for slug in slugs])] == slugs


def test_a_slug_that_stands_twice_is_refused_with_all_its_places() -> None:
    rows = [json.dumps({"name": slug, "env": "e", "task_id": "t"}).encode() for slug in ("a", "b", "a", "a", "b")]
    with pytest.raises(BadContent) as caught:
        parse_tasks(rows)
    assert [(problem.value, problem.rule) for problem in caught.value.problems] == [
        ("a", "the slug stands more than once, in rows 0, 2, 3"),
        ("b", "the slug stands more than once, in rows 1, 4"),
    ]


def test_every_bad_row_is_named() -> None:
    with pytest.raises(BadContent) as caught:
        parse_tasks([row(), row("1"), b"[]", row('{"a":NaN}')])
    assert [problem.path for problem in caught.value.problems] == ["tasks[1].args", "tasks[2]", "tasks[3].args.a"]


def test_two_words_for_one_field_are_refused() -> None:
    assert problems_of(b'{"name":"a","slug":"a","env":"e","task_id":"t"}')[0][0] == "tasks[0].slug"
    assert problems_of(b'{"name":"a","env":"e","task_id":"t","scenario":"t"}')[0][0] == "tasks[0].scenario"


def test_a_missing_env_or_template_is_refused() -> None:
    assert [path for path, _rule in problems_of(b'{"name":"a"}')] == ["tasks[0].env", "tasks[0].task_id"]
    assert problems_of(b'{"name":"a","env":{"name":1,"x":2},"task_id":"t"}') == [
        ("tasks[0].env.x", "is not known here; there are name"),
        ("tasks[0].env.name", "must be text"),
    ]


def nested(levels: int) -> bytes:
    """A row of so many levels; itself and its args are two."""
    return row('{"a":' + "[" * (levels - 2) + "]" * (levels - 2) + "}")


def test_sixty_four_levels_are_taken() -> None:
    assert parse_row(nested(64)).text.count("[") == 62


@pytest.mark.parametrize("levels", [65, 66, 2_000, 100_000])
def test_more_than_sixty_four_levels_are_refused(levels: int) -> None:
    assert "deeper than 64" in problems_of(nested(levels))[0][1]
    assert "deeper than 64" in problems_of(nested(levels).replace(b'"count"', b'"c\\u006funt"'))[0][1], "the slow reader counts alike"


def test_many_flat_objects_are_not_deep() -> None:
    args = '{"rows":[' + ",".join(['{"a":[1]}'] * 500) + "]}"
    assert args_of(row(args)) == args


def test_what_is_to_be_removed_needs_a_slug_only() -> None:
    assert parse_slugs([b'{"name":"a"}', b'{"slug":"b","args":1}']) == ["a", "b"]
    with pytest.raises(BadContent):
        parse_slugs([b'{"name":"a"}', b'{"name":"a"}'])


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20).map(lambda value: f"{value:f}"),
    st.sampled_from(["-0", "1.10", "1e-9", "1E+5", "0.000", "-0.0", "1.7976931348623157e308", "5e-324", "12345678901234567890.5"]),
)


class Number(str):
    """A number's text, so that equal means equal digits."""


trees: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), texts, numbers.map(Number)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def written(value: Any, ascii_only: bool, gap: str) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return (
            "{"
            + f",{gap}".join(
                f"{json.dumps(key, ensure_ascii=ascii_only)}:{gap}{written(part, ascii_only, gap)}" for key, part in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + f",{gap}".join(written(part, ascii_only, gap) for part in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def read(text: str) -> Any:
    return json.loads(text, parse_float=Number, parse_int=Number)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(texts, trees, max_size=5), st.booleans(), st.sampled_from(["", " ", "\n  "]))
def test_any_json_survives_with_its_digits_and_key_order(args: dict[str, Any], ascii_only: bool, gap: str) -> None:
    task = parse_row(row(written(args, ascii_only, gap)))
    out = read(export_row(task.text, "a").decode())["args"]
    assert out == args and written(out, False, "") == written(args, False, "")
    again = parse_row(export_row(task.text, "a"))
    assert again == task, "an export uploaded again is the same content"


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(texts, trees, max_size=5))
def test_the_slow_reader_and_the_fast_one_agree(args: dict[str, Any]) -> None:
    compact, escaped = parse_row(row(written(args, False, ""))), parse_row(row(written(args, True, "")))
    assert compact == escaped
