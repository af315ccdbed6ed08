"""Tasks and tasksets: what goes in comes out, and what can't be is refused with its place. Rows of table C3 are in test_table_c3."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import types
import zipfile
from pathlib import Path

import pytest

from proctor.errors import BadFile, BadTask
from proctor.tasks import Task, Taskset

ROW = '{"slug":"a","env":"letters","id":"count","args":{"n":1.10,"big":123456789012345678901234567890,"z":1,"a":[1e2]}}'


def test_a_task_keeps_digits_and_key_order() -> None:
    task = Task.from_json(ROW)
    assert task.to_json().decode() == ROW
    assert task.args == {"n": 1.1, "big": 123456789012345678901234567890, "z": 1, "a": [100.0]}


def test_a_task_without_a_slug_is_named_by_its_id_and_args() -> None:
    assert Task("letters", "count").slug == "count"
    assert Task("letters", "count", {"word": "banana"}).slug == Task.from_row({"env": "letters", "id": "count", "args": {"word": "banana"}}).slug != "count"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"when": datetime.datetime(2026, 1, 1)}, "args.when: a datetime is no JSON"),
        ({"list": [1, float("nan")]}, r"args.list\[1\]: NaN"),
        ({1: "one"}, "args: the key 1 is no text"),
        ({"set": {1}}, "args.set: a set is no JSON"),
    ],
)
def test_what_json_has_not_is_refused_with_its_place(args: dict[str, object], said: str) -> None:
    with pytest.raises(BadTask, match=said):
        Task("letters", "count", args)


def test_a_changed_copy_keeps_the_text_of_the_rest() -> None:
    changed = Task.from_json(ROW).replace(slug="b", columns={"level": "easy"})
    assert (changed.slug, changed.field_text("args"), changed.columns) == ("b", Task.from_json(ROW).field_text("args"), {"level": "easy"})
    with pytest.raises(TypeError, match="a task has no colour"):
        changed.replace(colour=1)


def test_decoded_fields_can_be_changed_without_changing_the_task() -> None:
    task = Task("letters", "count", {"word": "banana"})
    task.args["word"] = "other"
    assert task.args == {"word": "banana"}


def test_a_verifier_is_a_task() -> None:
    task = Task("letters", "count", verifier=Task("judge", "check", {"n": 1}))
    assert task.verifier is not None and (task.verifier.env, task.verifier.args) == ("judge", {"n": 1})
    assert Task.from_json(task.to_json()) == task


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv"])
def test_a_written_taskset_reads_back_the_same(tmp_path: Path, suffix: str) -> None:
    taskset = Taskset("t", [Task.from_json(ROW), Task("letters", "count", {"text": 'commas, "quotes"\nand lines'}, slug="b", columns={"x": None})])
    again = Taskset.from_file(taskset.to_file(tmp_path / f"out{suffix}"))
    assert [task.to_json() for task in again] == [task.to_json() for task in taskset]
    assert [path.name for path in tmp_path.iterdir()] == [f"out{suffix}"]


def test_an_empty_taskset_can_be_written(tmp_path: Path) -> None:
    assert json.loads(Taskset("t").to_file(tmp_path / "none.json").read_text()) == []


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is written as"):
        Taskset("t").to_file(tmp_path / "tasks.xlsx")


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl.gz").write_bytes(gzip.compress(ROW.encode()))
    assert [task.slug for task in Taskset.from_file(tmp_path / "tasks.jsonl.gz")] == ["a"]


def test_parquet_files_are_read(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"question": ["1+1", "2+2"], "answer": [2, 4]}), tmp_path / "sums.parquet")
    taskset = Taskset.from_file(tmp_path / "sums.parquet", env="sums", template="solve")
    assert [(task.env, task.id, task.slug) for task in taskset] == [("sums", "solve", "sums-1"), ("sums", "solve", "sums-2")]
    assert taskset["sums-2"].args == {"question": "2+2", "answer": 4}


def test_columns_of_a_csv_become_args(tmp_path: Path) -> None:
    (tmp_path / "sums.csv").write_text("slug,question,level\none,1+1,easy\n")
    task = Taskset.from_file(tmp_path / "sums.csv", env="sums")["one"]
    assert (task.env, task.id, task.args, task.columns) == ("sums", "run", {"question": "1+1"}, {"level": "easy"})


def test_rows_without_an_environment_ask_for_one(tmp_path: Path) -> None:
    (tmp_path / "sums.csv").write_text("question\n1+1\n")
    with pytest.raises(BadFile, match="pass env="):
        Taskset.from_file(tmp_path / "sums.csv")


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"slug":"a","env":"e","id":"i"}\n{"slug":"b","env":"","id":"i"}\nnonsense\n')
    with pytest.raises(BadFile, match=r"(?s)line 2: env: must have 1 to 255.*line 3: must be JSON"):
        Taskset.from_file(tmp_path / "tasks.jsonl")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"none\.jsonl: No such file"):
        Taskset.from_file(tmp_path / "none.jsonl")


def test_task_folders_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "bundle" / "sort-a-file"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('[metadata]\ndifficulty = "easy"\n')
    (folder / "instruction.md").write_text("Sort it.")
    task = next(iter(Taskset.from_file(tmp_path / "bundle")))
    assert (task.slug, task.args["instruction"], task.columns) == ("sort-a-file", "Sort it.", {"difficulty": "easy"})


def test_a_zip_with_one_data_file_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "tasks.zip", "w") as bundle:
        bundle.writestr("tasks.jsonl", ROW)
    assert [task.slug for task in Taskset.from_file(tmp_path / "tasks.zip")] == ["a"]


def test_template_calls_of_a_module_are_tasks(tmp_path: Path) -> None:
    (tmp_path / "env.py").write_text(
        "from proctor.environment import Environment\n"
        "env = Environment('letters')\n"
        "@env.template()\n"
        "async def count(word: str = 'a'):\n"
        "    answer = yield word\n"
        "    yield 1.0\n"
    )
    (tmp_path / "tasks.py").write_text("from env import count\ntasks = [count(word='banana') | {'slug': 'banana'}, count('kiwi')]\n_hidden = count('x')\n")
    taskset = Taskset.from_file(tmp_path / "tasks.py")
    assert [(task.env, task.id, task.args) for task in taskset] == [("letters", "count", {"word": "banana"}), ("letters", "count", {"word": "kiwi"})]
    assert "banana" in taskset and taskset.source == tmp_path / "tasks.py"


def test_a_module_of_another_folder_with_the_same_name_is_not_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("env")
    other.__file__ = "/somewhere/else/env.py"
    monkeypatch.setitem(sys.modules, "env", other)
    (tmp_path / "env.py").write_text("WORD = 'banana'\n")
    (tmp_path / "tasks.py").write_text("from env import WORD\nfrom proctor import Task\ntasks = [Task('letters', 'count', {'word': WORD}, slug='a')]\n")
    assert [task.args for task in Taskset.from_file(tmp_path / "tasks.py")] == [{"word": "banana"}]
    assert sys.modules["env"] is other


def test_two_folders_may_each_have_an_env_py(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shared.py").write_text(f"from proctor.tasks import Task\ntask = Task('{name}', 'run')\n")
        (tmp_path / name / "tasks.py").write_text("from shared import task\n")
    assert [Taskset.from_file(tmp_path / name / "tasks.py")["run"].env for name in ("one", "two")] == ["one", "two"]


def test_a_module_that_fails_says_what_it_raised(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("1/0\n")
    with pytest.raises(BadFile, match="can't be imported: ZeroDivisionError"):
        Taskset.from_file(tmp_path / "tasks.py")


def test_a_difference_names_what_comes_goes_and_changes() -> None:
    before = Taskset("t", [Task("e", "a"), Task("e", "b", slug="b"), Task("e", "c")])
    after = Taskset("t", [Task("e", "b", slug="b", columns={"x": 1}), Task("e", "c"), Task("e", "d")])
    found = before.diff(after)
    assert ([task.slug for task in found.added], [task.slug for task in found.removed], found.unchanged) == (["d"], ["a"], 1)
    assert [(change.slug, change.fields) for change in found.changed] == [("b", ("columns",))]
    assert not before.diff(before)
