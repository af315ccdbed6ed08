"""What submit accepts as an agent: all problems at once, and never an endpoint or a key."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proctor.rollout.agents import validate_agent

SDK_DUMP = {
    "timeout_seconds": None, "model_name": "OpenAI Compatible", "model": "stub/chat-1", "gateway": True, "auto_respond": False,
    "max_steps": 10, "tool_timeout_seconds": None, "system_prompt": None, "citations_enabled": False, "stop_on": [],
    "screenshot_encoding": {"format": "png"}, "checkpoint": None, "completion_kwargs": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("agent_type", "config"),
    [
        ("openai_compatible", SDK_DUMP),
        ("openai_compatible", {}),
        (
            "openai_compatible",
            {"stop_on": ["length", "malformed_tool_call"], "completion_kwargs": {"temperature": 0, "extra_body": {"k": 1}}},
        ),
        ("claude", {"model": "c", "gateway": True, "max_tokens": 100, "thinking": {"type": "adaptive"}, "stop_on": []}),
        ("openai", {"model": "o", "reasoning": {"effort": "low"}, "prompt_cache_key": "k", "text": None}),
        ("gemini", {"model": "g", "thinking_level": "low", "screenshot_encoding": {"format": "png"}}),
        ("claude_cli", {"model": "c", "max_steps": -1, "allowed_tools": ["Bash"], "permission_mode": "bypassPermissions"}),
        ("codex_cli", {"model": "x", "sandbox": "workspace-write", "reasoning_effort": None}),
        ("replay", {"column": "answer"}),
        ("replay", {"answers": {"api_key": "a task may be called so", "headers": "1"}}),
        ("noop", {}),
        ("noop", {"timeout_seconds": 5}),
    ],
)
def test_what_the_sdk_and_our_page_send_is_accepted(agent_type, config):
    assert validate_agent(agent_type, config) == []


@pytest.mark.parametrize(
    ("agent_type", "config", "words"),
    [
        ("gpt", {}, "unknown agent type 'gpt'"),
        ("openai_compatible", {"base_url": "http://x"}, "config.base_url is not allowed"),
        ("openai_compatible", {"api_key": "k"}, "config.api_key is not allowed"),
        ("openai_compatible", {"headers": {}}, "config.headers is not allowed"),
        (
            "openai_compatible",
            {"completion_kwargs": {"extra_headers": {"a": "b"}}},
            "config.completion_kwargs.extra_headers is not allowed",
        ),
        ("openai_compatible", {"completion_kwargs": {"extra_body": {"Api-Key": "k"}}}, "extra_body.Api-Key is not allowed"),
        ("noop", {"api_key": "k"}, "config.api_key is not allowed"),
        ("openai_compatible", {"auto_respond": True}, "auto_respond is not supported"),
        ("openai_compatible", {"max_steps": 0}, "max_steps"),
        ("openai_compatible", {"max_steps": True}, "max_steps"),
        ("openai_compatible", {"max_steps": 1.5}, "max_steps"),
        ("openai_compatible", {"timeout_seconds": -1}, "timeout_seconds"),
        ("openai_compatible", {"tool_timeout_seconds": float("nan")}, "tool_timeout_seconds"),
        ("openai_compatible", {"stop_on": ["lunch"]}, "stop_on"),
        ("openai_compatible", {"stop_on": "length"}, "stop_on"),
        ("openai_compatible", {"completion_kwargs": [1]}, "completion_kwargs must be an object"),
        ("openai_compatible", {"completion_kwargs": {"stream": True}}, "completion_kwargs.stream"),
        ("openai_compatible", {"colour": "red"}, "config.colour is unknown"),
        ("replay", {}, "either"),
        ("replay", {"column": "a", "answers": {}}, "either"),
        ("replay", {"column": 5}, "config.column"),
        ("replay", {"answers": {"a": 5}}, "config.answers"),
        ("noop", {"max_steps": 3}, "config.max_steps is unknown"),
        ("claude", {"model_client": {}}, "config.model_client is not allowed"),
        ("openai", {"base_url": "http://x"}, "config.base_url is not allowed"),
        ("gemini", {"max_tokens": 5}, "config.max_tokens is unknown"),
        ("claude", {"auto_respond": True}, "auto_respond is not supported"),
        ("openai", {"max_steps": 0}, "max_steps"),
        ("codex_cli", {"env": {}}, "config.env is unknown"),
    ],
)
def test_what_cannot_run_is_refused_with_its_place(agent_type, config, words):
    (problem,) = validate_agent(agent_type, config)
    assert words in problem


def test_all_problems_are_told_at_once():
    assert len(validate_agent("openai_compatible", {"base_url": "x", "max_steps": 0, "stop_on": 3, "colour": 1})) == 4


def test_the_engine_is_cheap_to_import():
    program = (
        "import sys, proctor.rollout.engine; print(*[m for m in ('mcp', 'aiodocker', 'httpx', 'django', 'pydantic') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": "platform"})
    assert shown.stdout.strip() == ""
