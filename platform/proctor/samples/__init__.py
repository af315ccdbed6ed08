"""The sample that Proctor ships: a taskset of 20 GSM8K problems, the environment that asks and grades them, and recorded answers.

Everything is a file in this package; the recorded answers stand in the column `RECORDED_COLUMN`, so that the `replay` agent needs
no model. Imports nothing but the standard library.
"""

from __future__ import annotations

from pathlib import Path

NAME = "gsm8k"
"""The name of the taskset's environment."""
TASKSET_NAME = "gsm8k-sample"
TASKSET_TITLE = "GSM8K sample"
RECORDED_COLUMN = "recorded_answer"

_FOLDER = Path(__file__).parent / NAME


def sample_env_file() -> Path:
    """The environment's source, for `proctor serve` or `python -m proctor.environment`."""
    return _FOLDER / "env.py"


def sample_tasks_file() -> Path:
    return _FOLDER / "tasks.jsonl"


def sample_task_lines() -> list[str]:
    """The tasks, each a row as JSON text: `env`, `id`, `args`, `slug`, `columns`."""
    return [line for line in sample_tasks_file().read_text(encoding="utf-8").split("\n") if line]
