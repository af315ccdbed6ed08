"""What Proctor finds out about a version by itself: checks against manifests, duplicates, answers in prompts."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from .base import WireOut

AnalysisStatus = Literal["none", "queued", "running", "done", "failed"]
SchemaPolicy = Literal["off", "warn", "refuse"]
DuplicateKind = Literal["exact", "near"]


class CheckedEnvironment(WireOut):
    """`version_number` is what was checked against, null for an environment that is unknown. `newest_number`: the one ready now."""

    name: str
    tasks: int
    version_number: int | None
    newest_number: int | None
    unusable: dict[str, str] = Field(default={}, description="Templates whose schema can't be used, and why; their args count as unchecked.")


class AnalysisCounts(WireOut):
    """How many there are; a list may hold fewer (`cut`)."""

    tasks: int = 0
    checks: int = Field(default=0, description="Findings of the checks.")
    tasks_with_checks: int = 0
    tasks_unknown: int = Field(default=0, description="Tasks whose environment has no manifest here.")
    exact: int = Field(default=0, description="Tasks with the same content as one before them.")
    near: int = Field(default=0, description="Pairs of prompts with a Jaccard of 0.8 or more.")
    prompts: int = Field(default=0, description="Tasks with a prompt, which alone are compared.")
    leaks: int = 0
    cut: list[Literal["check", "exact", "near", "leak"]] = Field(default=[], description="Lists that do not hold everything.")


class AnalysisSettings(WireOut):
    schema_policy: SchemaPolicy
    answer_fields: list[str]
    jaccard: float
    shingle_words: int
    permutations: int


class AnalysisOut(WireOut):
    """`none`: not asked for, and not begun by itself. `settings` are those it was made with; of one not begun, those it would be made with."""

    status: AnalysisStatus
    progress: float = Field(description="0 to 1.")
    version_number: int | None
    settings: AnalysisSettings
    counts: AnalysisCounts
    environments: list[CheckedEnvironment]
    error: str | None
    created_at: datetime | None
    ended_at: datetime | None


class CheckFinding(WireOut):
    slug: str
    path: str = Field(examples=["args.n", "id"])
    rule: str
    value: str | None


class ChecksPage(WireOut):
    """Findings in the order of the tasks, and what was checked against what."""

    items: list[CheckFinding]
    next_cursor: str | None = None
    status: AnalysisStatus
    version_number: int | None
    policy: SchemaPolicy
    counts: AnalysisCounts
    environments: list[CheckedEnvironment]


class DuplicatePair(WireOut):
    """`other` repeats `slug`, which stands before it."""

    kind: DuplicateKind
    slug: str
    other: str
    jaccard: float


class LeakPlace(WireOut):
    """An answer among the words of a prompt: where it comes from, and the prompt's own text around it."""

    slug: str
    answer_path: str = Field(examples=["args.answer"])
    answer: str
    prompt_path: str = Field(examples=["args.question"])
    before: str
    match: str
    after: str
