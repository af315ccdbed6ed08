"""Files that people have: taken from packages of the registries, imported as the guess has it, and exported again to an equal digest.

`docs/reference/real-files.md` lists these and larger ones, which `scripts/real_files.py` fetches.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest

from tests.support.imports import Imports
from tests.support.tasksets import body_of

pytestmark = pytest.mark.usefixtures("blobs")

DATA = Path(__file__).parents[1] / "data"
REAL = DATA / "real"
ZOO = {"column": None, "constant": "zoo"}
# file → format, layout, rows, args of the first task that show that it was understood
FILES = {
    "gsm8k/model_solutions.jsonl": ("jsonl", "columns", 1319, {}),
    "real/HumanEval.jsonl.gz": ("jsonl", "columns", 164, {"entry_point": "has_close_elements"}),
    "real/balance_chemical_equation.jsonl": ("jsonl", "openai_evals", 100, {}),
    "real/agent_threat_bench_data_exfil.json": ("json", "inspect", 8, {}),
    "real/tau2_mock_tasks.json": ("json", "columns", 9, {}),
    "real/penguins-raw.csv": ("csv", "columns", 344, {"Island": "Torgersen", "Culmen Length (mm)": "39.1"}),
    "real/unemployment.tsv": ("tsv", "columns", 3218, {"rate": ".097"}),
}


@pytest.fixture
def api(ada_key: str) -> Imports:
    return Imports(ada_key)


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_taken_as_it_is_and_comes_back_to_an_equal_digest(api: Imports, name: str) -> None:
    kind, layout, rows, first = FILES[name]
    path = DATA / name
    found = api.begin(path.read_bytes(), path.name, name="real")
    assert (found["format"], found["layout"]) == (kind, layout)
    env = found["guess"]["env"] if found["guess"]["env"]["column"] else ZOO
    checked = api.check(found, env=env)
    assert (checked["status"], checked["rows_total"], checked["errors_total"]) == ("checked", rows, 0), api.errors(checked)[:3]
    digest = api.commit(checked).json()["version"]["digest"]
    exported = body_of(api.get("/api/tasksets/real/export"))
    assert first.items() <= json.loads(exported)["tasks"][0]["args"].items()
    assert api.bring(exported, "real.json", name="again")["version"]["digest"] == digest


def test_a_parquet_file_of_another_writer_is_read(api: Imports) -> None:
    """Written by pandas through Arrow 0.7.1, shipped in pyarrow's own tests."""
    path = Path(pyarrow.__file__).parent / "tests" / "data" / "parquet" / "v0.7.1.parquet"
    assert path.exists(), "this pyarrow ships no test data"
    done = api.bring(path.read_bytes(), path.name, name="diamonds")
    assert done["tasks_created"] == 10
    assert json.loads(body_of(api.get("/api/tasksets/diamonds/export")))["tasks"][0]["args"]["carat"] == 0.23
