"""The agents a job may name, and the check that submit makes of their configuration.

`validate_agent` is pure and cheap; `make_agent` imports what the type needs, no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.rollout.agents.base import Agent
from proctor.rollout.agents.config import AGENT_TYPES, HUD_AGENTS, MODEL_AGENTS, validate_agent
from proctor.rollout.errors import RolloutFailed

__all__ = ["AGENT_TYPES", "HUD_AGENTS", "MODEL_AGENTS", "Agent", "make_agent", "validate_agent"]


def make_agent(agent_type: str, config: Mapping[str, Any]) -> Agent:
    """The agent, ready to run once. A configuration that submit would refuse is refused here too."""
    problems = validate_agent(agent_type, config)
    if problems:
        raise RolloutFailed("agent", "The agent cannot run: " + "; ".join(problems))
    if agent_type == "openai_compatible":
        from proctor.rollout.agents.openai_compatible import OpenAICompatibleAgent

        return OpenAICompatibleAgent(config)
    if agent_type == "task_app":
        raise RolloutFailed("agent", "The agent task_app is the policy inside a Task App: this task's environment is none.")
    if agent_type in HUD_AGENTS:
        raise RolloutFailed("agent", f"The agent {agent_type} is HUD's own: it runs in the hud host of a server's worker (`make hud-agents` there), in hosted jobs.")
    from proctor.rollout.agents.recorded import NoopAgent, ReplayAgent

    return ReplayAgent(config) if agent_type == "replay" else NoopAgent()
