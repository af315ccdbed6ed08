"""Which container an environment's sandbox is: the probed image by its digest, the variables, and the resources asked for.

The same for hosted runs and for runtime sessions. What nobody asked for comes from the environment's own `runtime_config`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from django.conf import settings

from environments.models import EnvironmentVersion
from environments.variables import values_of
from proctor.rollout.plan import SandboxSpec
from proctor.rollout.resources import Resources, read_resources


def speaks(kind: str) -> Literal["control", "hud02"]:
    """How an environment of this kind is driven."""
    return "hud02" if kind == "hud02" else "control"


def docker_spec(version: EnvironmentVersion | None, image: str, wanted: Resources) -> SandboxSpec:
    """Of the very image that was probed; a sample's tag is of its content already. Another image than the version's own gets none of
    the environment's variables: whoever may run a task may name any image."""
    spec = SandboxSpec(kind="docker", image=image, network=settings.PROCTOR_SANDBOX_NETWORK)
    if version is not None:
        wanted = wanted.or_else(read_resources(version.environment.runtime_config))
        spec = replace(spec, nested=version.manifest.get("nested") is True, speaks=speaks(version.environment.kind))
        if image == version.image:
            pinned = image if version.environment.is_sample else version.image_id or image
            spec = replace(spec, image=pinned, env=values_of(version.environment_id))
    return replace(spec, cpu=wanted.cpu or spec.cpu, memory_mb=wanted.memory_mb or spec.memory_mb)
