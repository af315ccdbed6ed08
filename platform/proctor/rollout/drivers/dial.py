"""One try at a session with a started sandbox, whatever way its environment is driven."""

from __future__ import annotations

from proctor.rollout.drivers.base import Session
from proctor.rollout.drivers.control import ControlDriver
from proctor.rollout.errors import RolloutFailed
from proctor.rollout.plan import Sandbox, SandboxSpec
from proctor.rollout.steps import Recorder


async def dial(sandbox: Sandbox, spec: SandboxSpec, recorder: Recorder | None = None) -> Session:
    """Raises `ControlLost` while nobody serves yet, RolloutFailed when nobody ever will. Calls inside a container are told to `recorder`."""
    if spec.speaks == "control":
        return await ControlDriver().connect(sandbox.host, sandbox.port)
    from proctor.rollout.drivers.hud02 import open_session
    from proctor.rollout.inside import Enterable

    if not isinstance(sandbox, Enterable):
        raise RolloutFailed("environment_start", "HUD 0.2.x environments run in containers only.", blame="platform")
    return await open_session(sandbox.inside(), recorder)
