"""What a Task App says of itself and its tasks: `/info` and `/task_info`. Unknown keys are kept, so a TaskInfo goes out as it came in.

`rubric` of a TaskInfo (named sections) and `rubrics` of `/info` (versioned rubrics, `proctor.taskapp.rubrics`) are different shapes.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class TaskDescriptor(_Open):
    id: str
    name: str
    description: str | None = None
    version: str | None = None


class DatasetInfo(_Open):
    id: str | None = None
    name: str | None = None
    version: str | None = None
    splits: list[str] | None = None
    default_split: str | None = None
    description: str | None = None


class RubricCriterion(_Open):
    id: str
    description: str
    weight: float | None = None


class RubricSection(_Open):
    name: str
    criteria: list[RubricCriterion] = Field(default_factory=list)


class RubricInfo(_Open):
    outcome: RubricSection | None = None
    events: RubricSection | None = None


class InferenceInfo(_Open):
    model: str | None = None
    inference_url: str | None = None


class LimitsInfo(_Open):
    max_turns: int | None = None
    max_response_tokens: int | None = None
    timeout_seconds: int | None = None


class TaskInfo(_Open):
    task: TaskDescriptor
    environment: str
    dataset: DatasetInfo = Field(default_factory=DatasetInfo)
    rubric: RubricInfo = Field(default_factory=RubricInfo)
    inference: InferenceInfo = Field(default_factory=InferenceInfo)
    limits: LimitsInfo = Field(default_factory=LimitsInfo)
    task_metadata: dict[str, Any] = Field(default_factory=dict)


class ServiceInfo(_Open):
    """`GET /info`; parts that the peer lost in writing are None (`proctor.taskapp.damage`)."""

    service: dict[str, Any] | None = None
    dataset: DatasetInfo | None = None
    rubrics: dict[str, Any] | None = None
    inference: InferenceInfo | None = None
    limits: LimitsInfo | None = None
