"""What an agent's configuration may say. Pure, used at submit and again before a run.

Where a model is served, and with which key, is a team's setting and never a job's: such keys are refused wherever they
hide (but in the policy of a Task App, which is not ours). Keys that the HUD SDK always sends are accepted, with effect or without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

HUD_AGENTS = ("claude", "openai", "gemini", "claude_cli", "codex_cli")
"""HUD's own agents, run by its package in the hud host."""
MODEL_AGENTS = ("openai_compatible", *HUD_AGENTS)
"""Those that need one of the team's model endpoints."""
AGENT_TYPES = ("openai_compatible", *HUD_AGENTS, "replay", "noop", "task_app")
SCORES = ("mean_return", "outcome_score", "events_score")
STOP_CONDITIONS = ("length", "malformed_tool_call")
MAX_STEPS = 1_000

_FORBIDDEN = frozenset({"base_url", "api_key", "headers", "extra_headers", "default_headers", "authorization", "model_client"})
_COMMON = frozenset({"timeout_seconds", "model_name", "model", "checkpoint_name", "gateway"})
_OPENAI = _COMMON | {
    "auto_respond", "max_steps", "tool_timeout_seconds", "system_prompt", "citations_enabled", "stop_on",
    "screenshot_encoding", "checkpoint", "completion_kwargs",
}  # fmt: skip
_TASK_APP = _COMMON | {"mode", "policy", "policy_name", "ops", "turns", "on_done", "record", "safety", "score"}
_TOOL_AGENT = _COMMON | {
    "auto_respond", "max_steps", "tool_timeout_seconds", "system_prompt", "citations_enabled", "stop_on", "screenshot_encoding",
}  # fmt: skip
_HUD: dict[str, frozenset[str]] = {
    "claude": _TOOL_AGENT | {"max_tokens", "use_computer_beta", "thinking", "max_tool_result_images"},
    "openai": _TOOL_AGENT | {
        "max_output_tokens", "temperature", "reasoning", "tool_choice", "text", "truncation", "parallel_tool_calls", "prompt_cache_key",
    },
    "gemini": _TOOL_AGENT | {
        "temperature", "top_p", "top_k", "max_output_tokens", "excluded_predefined_functions", "thinking_level", "include_thoughts", "max_tool_result_chars",
    },
    "claude_cli": _COMMON | {"system_prompt", "permission_mode", "max_steps", "reasoning_effort", "screenshot_encoding", "allowed_tools"},
    "codex_cli": _COMMON | {"sandbox", "reasoning_effort"},
}  # fmt: skip
"""What `Agent.dump` of hud 0.6.21 writes for each type; the values are checked by the package itself."""
_RESERVED_KWARGS = frozenset({"messages", "stream", "tools", "n", "stream_options"})


def validate_agent(agent_type: str, config: Mapping[str, Any]) -> list[str]:
    """Everything wrong with it, as sentences; empty when it may run."""
    check = _CHECKS.get(agent_type)
    if check is None:
        return [f"unknown agent type {agent_type!r}; there are: {', '.join(AGENT_TYPES)}"]
    return [*_forbidden(config, "config"), *_timeouts(config), *check(config)]


def _forbidden(value: Any, path: str) -> list[str]:
    """Refused keys, in objects at any depth."""
    if not isinstance(value, Mapping):
        return []
    here = [f"{path}.{key} is not allowed: model endpoints and keys belong to the team" for key in value if _is_forbidden(key)]
    return here + [problem for key, inner in value.items() for problem in _forbidden(inner, f"{path}.{key}") if key not in ("answers", "policy")]


def _is_forbidden(key: Any) -> bool:
    return str(key).lower().replace("-", "_") in _FORBIDDEN


def _timeouts(config: Mapping[str, Any]) -> list[str]:
    return [
        f"config.{key} must be a number of seconds over 0"
        for key in ("timeout_seconds", "tool_timeout_seconds")
        if config.get(key) is not None and not _positive(config[key])
    ]


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def _openai_compatible(config: Mapping[str, Any]) -> list[str]:
    rules: list[tuple[bool, str]] = [
        (bool(config.get("auto_respond")), "config.auto_respond is not supported here: leave it false"),
        (bool(config.get("citations_enabled")), "config.citations_enabled is not supported by openai_compatible"),
        (not _is_steps(config.get("max_steps", 10)), f"config.max_steps must be a whole number from 1 to {MAX_STEPS}"),
        (not isinstance(config.get("system_prompt"), str | None), "config.system_prompt must be a text"),
        (not _is_stop_on(config.get("stop_on")), f"config.stop_on may list: {', '.join(STOP_CONDITIONS)}"),
        (not isinstance(config.get("model"), str | None), "config.model must be a text"),
    ]
    unknown = [f"config.{key} is unknown" for key in config if key not in _OPENAI and not _is_forbidden(key)]
    return unknown + [message for wrong, message in rules if wrong] + _completion_kwargs(config.get("completion_kwargs"))


def _hud(agent_type: str, config: Mapping[str, Any]) -> list[str]:
    steps = config.get("max_steps", 10)
    free = agent_type == "claude_cli" and isinstance(steps, int) and not isinstance(steps, bool) and steps <= 0
    rules: list[tuple[bool, str]] = [
        (bool(config.get("auto_respond")), "config.auto_respond is not supported here: leave it false"),
        (not free and not _is_steps(steps), f"config.max_steps must be a whole number from 1 to {MAX_STEPS}"),
        (not isinstance(config.get("system_prompt"), str | None), "config.system_prompt must be a text"),
        (not _is_stop_on(config.get("stop_on")), f"config.stop_on may list: {', '.join(STOP_CONDITIONS)}"),
        (not _is_model(config.get("model")), "config.model must be 1-255 printable characters"),
    ]
    unknown = [f"config.{key} is unknown" for key in config if key not in _HUD[agent_type] and not _is_forbidden(key)]
    return unknown + [message for wrong, message in rules if wrong]


def _is_steps(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_STEPS


def _is_stop_on(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and all(item in STOP_CONDITIONS for item in value))


def _completion_kwargs(kwargs: Any) -> list[str]:
    if kwargs is None:
        return []
    if not isinstance(kwargs, Mapping):
        return ["config.completion_kwargs must be an object"]
    taken = [f"config.completion_kwargs.{key} is set by the agent itself" for key in kwargs if key in _RESERVED_KWARGS]
    extra = kwargs.get("extra_body")
    return taken + ([] if extra is None or isinstance(extra, Mapping) else ["config.completion_kwargs.extra_body must be an object"])


def _replay(config: Mapping[str, Any]) -> list[str]:
    unknown = [f"config.{key} is unknown" for key in config if key not in _COMMON | {"column", "answers"} and not _is_forbidden(key)]
    if ("column" in config) == ("answers" in config):
        return [*unknown, 'replay needs either "column" or "answers"']
    if "column" in config and not (isinstance(config["column"], str) and config["column"]):
        return [*unknown, "config.column must name a column"]
    answers = config.get("answers", {})
    if not isinstance(answers, Mapping) or not all(isinstance(text, str) for text in answers.values()):
        return [*unknown, "config.answers must map slugs to texts"]
    return unknown


def _noop(config: Mapping[str, Any]) -> list[str]:
    return [f"config.{key} is unknown" for key in config if key not in _COMMON and not _is_forbidden(key)]


def _task_app(config: Mapping[str, Any]) -> list[str]:
    """`policy` is the app's own affair, keys in it included (they are kept apart and encrypted); the rest is the rollout contract's."""
    unknown = [f"config.{key} is unknown" for key in config if key not in _TASK_APP and not _is_forbidden(key)]
    rules: list[tuple[bool, str]] = [
        (not isinstance(config.get("policy", {}), Mapping), "config.policy must be an object"),
        (not _is_model(config.get("model")), "config.model must be 1-255 printable characters"),
        (config.get("score", "mean_return") not in SCORES, f"config.score must be one of: {', '.join(SCORES)}"),
        ("ops" in config and "turns" in config, "config.ops and config.turns exclude each other"),
        (not _is_steps(config.get("turns", 10)), f"config.turns must be a whole number from 1 to {MAX_STEPS}"),
    ]
    return [*unknown, *(message for wrong, message in rules if wrong), *_rollout_problems(config)]


def _is_model(value: Any) -> bool:
    return value is None or (isinstance(value, str) and 0 < len(value) <= 255 and value.isprintable())


def _rollout_problems(config: Mapping[str, Any]) -> list[str]:
    from pydantic import ValidationError

    from proctor.taskapp.rollouts import RolloutRequest

    request = {"run_id": "-", "env": {}, "policy": {}, "ops": [], "mode": "eval"} | {
        key: config[key] for key in ("mode", "ops", "on_done", "record", "safety") if key in config
    }
    try:
        RolloutRequest.model_validate(request)
    except ValidationError as error:
        return [f"config.{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_url=False, include_input=False)]
    return []


_CHECKS: dict[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "openai_compatible": _openai_compatible,
    **{agent_type: partial(_hud, agent_type) for agent_type in HUD_AGENTS},
    "replay": _replay,
    "noop": _noop,
    "task_app": _task_app,
}
