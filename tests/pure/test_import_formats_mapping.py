"""From rows to tasks: digits kept, problems named by their column, and what is guessed from the first rows."""

from __future__ import annotations

from msgspec import Raw

from proctor.formats.base import Cell, Row
from proctor.formats.guess import guess_mapping, layout_of
from proctor.formats.mapping import Mapper, edited, missing_columns
from proctor.wire.imports import CellSource, FileOptions, Mapping, Source

ZOO = Mapping(env=Source(constant="zoo"), task_id=Source(constant="count"), slug=Source(column="id"))


def text(**cells: str) -> Row:
    return Row(7, cells)


def raw(**cells: bytes) -> Row:
    made: dict[str, Cell] = {name: Raw(cell) for name, cell in cells.items()}
    return Row(7, made, b"{" + b",".join(b'"%s":%s' % (name.encode(), cell) for name, cell in cells.items()) + b"}")


def made(mapping: Mapping, row: Row) -> str:
    found = Mapper(mapping).make(row, 1)
    assert found.task is not None, found.problems
    return found.task.text


def columns(mapping: Mapping, row: Row) -> list[str | None]:
    found = Mapper(mapping).make(row, 1)
    assert found.task is None
    return [one.column for one in found.problems]


def test_json_in_a_cell_keeps_its_digits() -> None:
    mapping = ZOO.model_copy(update={"args": {"n": CellSource(column="n", kind="json"), "t": CellSource(column="n")}})
    assert made(
        mapping, text(id="a", n='{"x": 1.10, "y": 1e400000000000000000000}'.replace("1e400000000000000000000", "100000000000000000000000"))
    )
    row = text(id="a", n='{"x": 1.10}')
    assert made(mapping, row) == r'{"env":"zoo","id":"count","args":{"n":{"x":1.10},"t":"{\"x\": 1.10}"}}'


def test_a_problem_is_named_by_the_column_it_came_from() -> None:
    mapping = ZOO.model_copy(update={"args": {"n": CellSource(column="number", kind="json")}, "columns_column": "meta"})
    assert columns(mapping, text(id="a", number="{1", meta="")) == ["number"]
    assert columns(mapping, text(id="a", number="1", meta="[1]")) == ["meta"]
    assert columns(mapping, text(id=" a", number="1", meta="")) == ["id"]
    assert columns(mapping, text(id="x" * 256, number="1", meta="")) == ["id"]


def test_empty_cells_are_left_out_unless_they_are_to_be_kept() -> None:
    mapping = ZOO.model_copy(update={"args": {"q": CellSource(column="q")}})
    assert made(mapping, text(id="a", q="")) == '{"env":"zoo","id":"count"}'
    kept = mapping.model_copy(update={"options": FileOptions(keep_empty=True)})
    assert made(kept, text(id="a", q="")) == '{"env":"zoo","id":"count","args":{"q":""}}'


def test_all_args_may_stand_in_one_column_with_more_beside_it() -> None:
    mapping = ZOO.model_copy(update={"args_column": "args", "args": {"q": CellSource(column="q")}})
    assert made(mapping, text(id="a", args='{"n":1.10}', q="x")) == '{"env":"zoo","id":"count","args":{"n":1.10,"q":"x"}}'


def test_a_number_may_name_a_task_and_a_row_number_too() -> None:
    found = Mapper(ZOO).make(raw(id=b"7"), 1).task
    assert found is not None and found.slug == "7"
    numbered = ZOO.model_copy(update={"slug": Source(constant="row-{n}")})
    found = Mapper(numbered).make(raw(id=b"7"), 12).task
    assert found is not None and found.slug == "row-12"


def test_without_a_slug_the_name_is_the_sdks_own() -> None:
    mapping = ZOO.model_copy(update={"slug": None, "args": {"n": CellSource(column="n", kind="json")}})
    found = Mapper(mapping).make(text(n="1"), 1).task
    assert found is not None and found.slug.startswith("count-") and len(found.slug) == len("count-") + 8


def test_columns_that_the_file_has_not_are_listed() -> None:
    mapping = ZOO.model_copy(update={"args": {"q": CellSource(column="gone")}})
    assert missing_columns(mapping, ["id"]) == [("args.q", "gone")]


def test_rows_of_tasks_are_known_and_taken_as_they_are() -> None:
    rows = [raw(name=b'"a"', env=b'{"name":"zoo"}', task_id=b'"count"', args=b'{"n":1.10}')]
    assert layout_of(rows) == "tasks"
    guess = guess_mapping(rows, "tasks", prefix="x")
    assert guess.whole_rows and made(guess, rows[0]) == '{"env":"zoo","id":"count","args":{"n":1.10}}'


def test_tasks_in_a_spreadsheet_are_known_by_its_header() -> None:
    rows = [text(slug="a", env="zoo", task_id="count", args='{"n":1.10}', columns="", validation='[{"a":1}]')]
    guess = guess_mapping(rows, layout_of(rows), prefix="x")
    assert made(guess, rows[0]) == '{"env":"zoo","id":"count","args":{"n":1.10},"validation":[{"a":1}]}'


def test_openai_evals_and_inspect_samples_are_known() -> None:
    evals = [raw(input=b'[{"role":"user","content":"2+2"}]', ideal=b'"4"')]
    assert layout_of(evals) == "openai_evals"
    guess = guess_mapping(evals, "openai_evals", prefix="sums", env="zoo")
    assert guess.slug == Source(constant="sums-{n}")
    assert made(guess, evals[0]) == '{"env":"zoo","id":"run","args":{"input":[{"role":"user","content":"2+2"}],"ideal":"4"}}'
    samples = [
        raw(input=b'"2+2"', target=b'"4"', id=b"1", metadata=b'{"level":1.0}'),
        raw(input=b'"3+3"', target=b'"6"', id=b"2", metadata=b"{}"),
    ]
    assert layout_of(samples) == "inspect"
    guess = guess_mapping(samples, "inspect", prefix="x", env="zoo")
    assert (guess.slug, guess.columns_column) == (Source(column="id"), "metadata")
    assert made(guess, samples[0]) == '{"env":"zoo","id":"run","args":{"input":"2+2","target":"4"},"columns":{"level":1.0}}'


def test_a_column_of_equal_texts_is_no_name_for_a_task() -> None:
    rows = [text(name="a", q="1"), text(name="a", q="2")]
    assert guess_mapping(rows, "columns", prefix="p").slug == Source(constant="p-{n}")


def test_an_edited_row_has_its_new_texts() -> None:
    assert edited(text(a="1", b="2"), {"b": "3"}).cells == {"a": "1", "b": "3"}
    changed = edited(raw(a=b"1.10", b=b"2"), {"b": '{"x": 1.0}'})
    assert changed.whole == b'{"a":1.10,"b":{"x": 1.0}}'
    assert edited(raw(a=b"1"), {"a": "{"}).problems[0].column == "a"
    assert edited(Row(7, {}, b"{"), {"": '{"a": 1.10}'}).whole == b'{"a": 1.10}'
