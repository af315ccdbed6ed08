"""How a set is to be analysed: its own choices and the product's constants."""

from __future__ import annotations

from proctor.wire.analysis import AnalysisSettings
from tasksets.analysis.prompts import ANSWER_FIELDS
from tasksets.models import Taskset

JACCARD, SHINGLE_WORDS, PERMUTATIONS = 0.8, 5, 128


def settings_of(taskset: Taskset) -> AnalysisSettings:
    return AnalysisSettings(
        schema_policy=taskset.schema_policy, answer_fields=taskset.answer_fields or list(ANSWER_FIELDS),
        jaccard=JACCARD, shingle_words=SHINGLE_WORDS, permutations=PERMUTATIONS,
    )  # fmt: skip
