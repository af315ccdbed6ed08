"""What `POST /rollout` takes and gives: every model of a rollout's request and response.

Requests are checked strictly (positive finite limits, one kind of `ops`, known `on_done`); unknown fields are dropped on both sides,
as Task Apps do, so what is to be kept of a peer's reply is kept as its text. Field order is the wire's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MAX_OPS, MAX_TIME_S = 1_000_000, 86_400.0
Score = Annotated[float, Field(allow_inf_nan=False)]


class RolloutMode(StrEnum):
    """`rl`: for training, at exactly the inference URL given. `eval`: for a score."""

    RL = "rl"
    EVAL = "eval"


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", use_enum_values=False)


class RolloutEnvSpec(_Model):
    env_id: str | None = None
    env_name: str | None = None
    config: dict[str, Any] = Field(default_factory=dict)
    seed: int | None = None


class RolloutPolicySpec(_Model):
    """`config` holds `model`, `inference_url`, sampling, `trace_correlation_id`; perhaps secrets."""

    policy_id: str | None = None
    policy_name: str | None = None
    config: dict[str, Any] = Field(default_factory=dict)


class RolloutRecordConfig(_Model):
    trajectories: bool = True
    logprobs: bool = False
    value: bool = False
    return_trace: bool = False
    trace_format: Literal["compact", "full", "structured"] = "compact"


class RolloutSafetyConfig(_Model):
    """Checked before each op; a breach ends the rollout with `aborted`, what there is kept. `max_time_s` in seconds."""

    max_ops: int = Field(default=100_000, ge=1, le=MAX_OPS)
    max_time_s: float = Field(default=3600.0, gt=0, le=MAX_TIME_S, allow_inf_nan=False)


class RolloutRequest(_Model):
    """`ops` is the rollout's program: `agent` = one policy call, `env` = apply the pending tool calls; texts, or objects with `type`."""

    run_id: str
    env: RolloutEnvSpec
    policy: RolloutPolicySpec
    ops: list[str] | list[dict[str, Any]]
    record: RolloutRecordConfig = Field(default_factory=RolloutRecordConfig)
    on_done: Literal["reset", "terminate"] = "reset"
    safety: RolloutSafetyConfig = Field(default_factory=RolloutSafetyConfig)
    training_session_id: str | None = None
    synth_base_url: str | None = None
    mode: RolloutMode

    def op_kinds(self) -> list[str]:
        """The kind of each op, whichever form it has; empty text for an object without one."""
        return [op if isinstance(op, str) else str(op.get("type") or op.get("op") or "") for op in self.ops]


def alternating(turns: int) -> list[str]:
    """The program of so many turns: `agent`, `env` and again."""
    return ["agent", "env"] * turns


class RolloutStep(_Model):
    obs: dict[str, Any]
    tool_calls: list[dict[str, Any]]
    reward: float | None = None
    done: bool = False
    truncated: bool | None = None
    info: dict[str, Any] | None = None


class DecisionSample(_Model):
    """One decision of the policy, for training (version 1 of our definition: the wire has only the name). `tokens`, `token_ids` and
    `logprobs` run side by side, one entry per token; `logprobs` are natural logarithms."""

    version: Literal[1] = 1
    step: int = Field(ge=0)
    messages: list[dict[str, Any]]
    completion: dict[str, Any]
    tool_calls: list[dict[str, Any]] = Field(default_factory=list)
    tokens: list[str] = Field(default_factory=list)
    token_ids: list[int] | None = None
    logprobs: list[Score] = Field(default_factory=list)
    model: str | None = None
    reward: Score | None = None
    correlation_id: str | None = None

    @model_validator(mode="after")
    def _same_length(self) -> DecisionSample:
        lengths = {len(self.tokens), len(self.logprobs), len(self.token_ids if self.token_ids is not None else self.tokens)}
        if len(lengths) > 1:
            raise ValueError("tokens, token_ids and logprobs must have one entry per token each")
        return self


class RolloutTrajectory(_Model):
    """`trace_correlation_id` is ours to send: the package's model drops it."""

    env_id: str
    policy_id: str
    steps: list[RolloutStep]
    final: dict[str, Any] | None = None
    length: int
    inference_url: str
    decision_samples: list[dict[str, Any]] | None = None
    trace_correlation_id: str | None = None


class RolloutMetrics(_Model):
    episode_returns: list[Score]
    mean_return: Score
    num_steps: int
    num_episodes: int = 0
    outcome_score: Score | None = None
    events_score: Score | None = None
    details: dict[str, Any] = Field(default_factory=dict)


class RolloutResponse(_Model):
    """`branches` maps a trajectory's id to those of its children."""

    run_id: str
    trajectories: list[RolloutTrajectory]
    branches: dict[str, list[str]] = Field(default_factory=dict)
    metrics: RolloutMetrics
    aborted: bool = False
    ops_executed: int = 0
    trace_correlation_id: str | None = None
    trace: dict[str, Any] | None = None
    pipeline_metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("trajectories")
    @classmethod
    def _lengths_hold(cls, trajectories: list[RolloutTrajectory]) -> list[RolloutTrajectory]:
        for number, trajectory in enumerate(trajectories):
            if trajectory.length != len(trajectory.steps):
                raise ValueError(f"trajectory {number} says length {trajectory.length} and has {len(trajectory.steps)} steps")
        return trajectories
