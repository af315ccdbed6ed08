"""The sample's grader gives every verdict of the recorded GSM8K solutions, and the shipped tasks are rows of that file."""

import json
from pathlib import Path

import pytest

from proctor.environment import load_environment
from proctor.environment.runner import TaskRunner
from proctor.samples import NAME, RECORDED_COLUMN, sample_env_file, sample_task_lines

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data/gsm8k/model_solutions.jsonl").open(encoding="utf-8")]
RIGHT = {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}


def expected_of(row):
    return row["ground_truth"].rpartition("A:")[2].strip()


@pytest.fixture(scope="module")
def env():
    return load_environment(sample_env_file())


async def grade(env, expected, answer):
    runner = TaskRunner(env.templates["solve"], {"question": "How many?", "answer": expected})
    assert await runner.start() == {"prompt": "How many?"}
    return (await runner.grade(answer))["score"]


@pytest.mark.parametrize("system", RIGHT)
async def test_every_recorded_solution_gets_its_recorded_verdict(env, system):
    verdicts = [await grade(env, expected_of(row), row[system]["solution"]) == 1.0 for row in ROWS]
    assert verdicts == [row[system]["is_correct"] for row in ROWS]
    assert sum(verdicts) == RIGHT[system]
    assert len(verdicts) == 1319


@pytest.mark.parametrize(
    ("expected", "answer", "score"),
    [
        ("18", "A: 18", 1),
        ("18", "A: $18.", 1),
        ("1,800", "so\nA: 1800.00", 1),
        ("1800", "A: $1,800", 1),
        ("-3", "A: -3", 1),
        ("-3", "A: $-3", 1),
        ("3", "A: 5-3", 1),
        ("0.5", "A: .5", 1),
        ("18", "A: 17\nno, A: 18", 1),
        ("18", "A: about 20, or 18", 1),
        ("18", "18", 0),
        ("18", "A: eighteen", 0),
        ("18", "A: 18 A:", 0),
        ("18", "A: 18.0000000000001", 0),
        ("12345678901234567890", "A: 12345678901234567891", 0),
        ("18", "", 0),
        ("18", None, 0),
        ("18", {"A:": 18}, 0),
        ("18", "A: ١٨", 0),
    ],
)
async def test_the_last_number_after_the_mark_decides(env, expected, answer, score):
    assert await grade(env, expected, answer) == score


def test_the_shipped_tasks_are_the_first_twenty_problems():
    tasks = [json.loads(line) for line in sample_task_lines()]
    assert [task["slug"] for task in tasks] == [f"gsm8k-{i:04}" for i in range(20)]
    for task, row in zip(tasks, ROWS, strict=False):
        assert (task["env"], task["id"]) == (NAME, "solve")
        assert task["args"] == {"question": row["question"], "answer": expected_of(row)}
        assert task["columns"][RECORDED_COLUMN] == row["175b_verification"]["solution"]


async def test_the_recorded_answers_of_the_sample_are_partly_right(env):
    tasks = [json.loads(line) for line in sample_task_lines()]
    scores = [await grade(env, task["args"]["answer"], task["columns"][RECORDED_COLUMN]) for task in tasks]
    assert sum(scores) == 9
