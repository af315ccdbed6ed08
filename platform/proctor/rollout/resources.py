"""What a `runtime_config` asks for (HUD's object, contracts: 4.6), bounded. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

LARGEST = 1e9


@dataclass(frozen=True)
class Resources:
    """None where it says nothing. Processors, MiB, seconds."""

    cpu: float | None = None
    memory_mb: int | None = None
    startup_timeout_s: float | None = None
    run_timeout_s: float | None = None

    def or_else(self, usual: Resources) -> Resources:
        """With processors and memory of `usual` where this says nothing."""
        return replace(self, cpu=self.cpu or usual.cpu, memory_mb=self.memory_mb or usual.memory_mb)


def read_resources(runtime_config: Mapping[str, Any]) -> Resources:
    """Of what is no number, not positive, or of another shape, nothing is taken."""
    resources, limits = _object(runtime_config.get("resources")), _object(runtime_config.get("limits"))
    memory = _positive(resources.get("memory_mb"))
    return Resources(
        _positive(resources.get("cpu")), None if memory is None else int(memory),
        _positive(limits.get("startup_timeout_s")), _positive(limits.get("run_timeout_s")),
    )  # fmt: skip


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _positive(value: object) -> float | None:
    """Bounded, so that what nobody has (1e308 processors, a number of 400 digits) is still a number, for the engine to refuse."""
    return float(min(value, LARGEST)) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
