"""The websocket `/ws`: JSON text frames, snapshot first (REST), then follow from a cursor.

Topics: `run:<uuid>` (events are `Step`s and, when the run's state changes, a `RunRow`), `job:<uuid>` (events are `RunRow`s),
`team` (events are job ids whose state changed), `build:<uuid>` (an environment version: log lines, and the version when its state
changes). Messages carry whole states, so repeats are harmless.
"""

from typing import Literal

from pydantic import Field

from .base import WireIn, WireOut
from .environments import EnvironmentVersionOut
from .errors import ErrorInfo
from .jobs import RunRow, Step


class ClientFrame(WireIn):
    op: Literal["sub", "unsub", "ping"]
    id: int = Field(description="The client's number for the subscription.")
    topic: str | None = None
    after: str | int | None = Field(default=None, description="Cursor from the snapshot or the last frame's `seq`.")


class StepEvent(WireOut):
    kind: Literal["step"] = "step"
    step: Step


class RunEvent(WireOut):
    kind: Literal["run"] = "run"
    run: RunRow


class JobEvent(WireOut):
    kind: Literal["job"] = "job"
    job_id: str


class BuildEvent(WireOut):
    kind: Literal["build"] = "build"
    version: EnvironmentVersionOut = Field(description="Without its log.")


class BuildLogEvent(WireOut):
    kind: Literal["build_log"] = "build_log"
    text: str = Field(description="Further lines, to be appended.")


class ServerFrame(WireOut):
    """Exactly one of events, live, resync, error, pong is present."""

    id: int
    seq: str | int | None = None
    events: list[StepEvent | RunEvent | JobEvent | BuildEvent | BuildLogEvent] | None = None
    live: bool | None = Field(default=None, description="Caught up; what follows is new.")
    resync: bool | None = Field(default=None, description="`after` is too old or this socket was too slow: load the snapshot again.")
    error: ErrorInfo | None = None
    pong: bool | None = None


class Ticket(WireOut):
    """`POST /api/ws-ticket`: for clients with a key; open `/ws?ticket=…` within 30 s, once."""

    ticket: str
    expires_in_s: int


